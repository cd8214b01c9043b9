package storekit

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scrubber replaces secrets in text by a mark. The zero value and nil replace
// nothing. It is safe for concurrent use.
type scrubber struct {
	replacer *strings.Replacer
	forms    []string // of the secrets, as they may be written
}

// minSecret is the length under which a value is no secret worth the name:
// replacing every "a" would only spoil the text.
const minSecret = 4

// urlPassword finds the password in a URL.
var urlPassword = regexp.MustCompile(`://[^/:@\s]*:([^@\s]+)@`)

// dsnPassword finds the password in a connection string of key=value pairs.
var dsnPassword = regexp.MustCompile(`(?i)\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|[^\s;&]+)`)

// newScrubber knows the values of the secret options in a configuration, and the
// passwords inside those that are a URL or a connection string: a driver's error
// may quote them alone.
func newScrubber(schema []Option, config json.RawMessage) *scrubber {
	var given map[string]json.RawMessage
	if json.Unmarshal(config, &given) != nil {
		return nil
	}
	var secrets []string
	for _, o := range schema {
		if !o.Secret || given[o.Name] == nil {
			continue
		}
		v, err := o.value(given[o.Name])
		if err != nil {
			v = strings.Trim(string(given[o.Name]), `"`)
		}
		switch v := v.(type) {
		case string:
			secrets = append(secrets, partsOf(v)...)
		case []string:
			for _, s := range v {
				secrets = append(secrets, partsOf(s)...)
			}
		}
	}
	return scrubberOf(secrets)
}

func scrubberOf(secrets []string) *scrubber {
	// Longest first: the replacer takes the first that fits.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs, forms []string
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		inJSON, _ := json.Marshal(s) // as in a log line; a string never fails
		for _, form := range []string{s, inner(string(inJSON)), inner(strconv.Quote(s)), url.QueryEscape(s)} {
			pairs, forms = append(pairs, form, "[secret]"), append(forms, form)
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return &scrubber{strings.NewReplacer(pairs...), forms}
}

// inner is a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// partsOf returns a secret and the secrets inside it.
func partsOf(s string) []string {
	parts := []string{s}
	for _, m := range urlPassword.FindAllStringSubmatch(s, -1) {
		parts = append(parts, m[1])
		if plain, err := url.PathUnescape(m[1]); err == nil {
			parts = append(parts, plain)
		}
	}
	for _, m := range dsnPassword.FindAllStringSubmatch(s, -1) {
		parts = append(parts, m[1], strings.Trim(m[1], "'"))
	}
	return parts
}

func (s *scrubber) scrub(text string) string {
	if s == nil || s.replacer == nil {
		return text
	}
	return s.replacer.Replace(text)
}

// scrubCut scrubs a text whose end was cut off, perhaps in the middle of a secret.
func (s *scrubber) scrubCut(text string) string {
	text = s.scrub(text)
	if s == nil {
		return text
	}
	for _, form := range s.forms {
		for n := min(len(form)-1, len(text)); n >= minSecret; n-- {
			if strings.HasSuffix(text, form[:n]) {
				return text[:len(text)-n] + "[secret]"
			}
		}
	}
	return text
}
