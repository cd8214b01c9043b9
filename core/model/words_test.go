package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// args are the name=value words of a call. Those that are read are removed.
type args map[string]string

// splitWords splits a line at spaces that are not within quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		case r == ' ' && !quoted:
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
			continue
		}
		word.WriteRune(r)
	}
	if quoted {
		return nil, fmt.Errorf("a quote is left open in %s", line)
	}
	return append(words, word.String()), nil
}

func parseArgs(words []string) (plain []string, a args, err error) {
	a = args{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			plain = append(plain, w)
			continue
		}
		if a[name], err = unquote(value); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", w, err)
		}
	}
	return plain, a, nil
}

// unquote reads a plain word, or quoted strings, repeated and joined as in
// "é"*1999+"x".
func unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	var b strings.Builder
	for {
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return "", err
		}
		part, _ := strconv.Unquote(quoted)
		s = s[len(quoted):]
		times := 1
		if rest, ok := strings.CutPrefix(s, "*"); ok {
			digits, _, _ := strings.Cut(rest, "+")
			if times, err = strconv.Atoi(digits); err != nil {
				return "", err
			}
			s = rest[len(digits):]
		}
		b.WriteString(strings.Repeat(part, times))
		if s == "" {
			return b.String(), nil
		}
		if s[0] != '+' {
			return "", fmt.Errorf("%q after a quoted string", s)
		}
		s = s[1:]
	}
}

func (a args) text(name, or string) string {
	s, ok := a[name]
	if !ok {
		return or
	}
	delete(a, name)
	return s
}

// number and duration leave what they can't read, for unused to report.
func (a args) number(name string, or int) int {
	n, err := strconv.Atoi(a[name])
	if err != nil {
		return or
	}
	delete(a, name)
	return n
}

func (a args) duration(name string, or time.Duration) time.Duration {
	d, err := time.ParseDuration(a[name])
	if err != nil {
		return or
	}
	delete(a, name)
	return d
}

func (a args) unused() error {
	if len(a) > 0 {
		return fmt.Errorf("can't use %q", slices.Sorted(maps.Keys(a)))
	}
	return nil
}
