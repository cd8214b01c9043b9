package storekit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/internal/nearest"
)

// parseConfig is [ParseConfig].
func parseConfig(schema []Option, raw json.RawMessage) (Config, error) {
	given, err := parseObject(raw)
	if err != nil {
		return Config{}, err
	}
	var faults []error
	values := make(map[string]any, len(schema))
	for _, o := range schema {
		v, err := o.value(given[o.Name])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		values[o.Name] = v
	}
	known := optionNames(schema)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			faults = append(faults, unknownOption(name, known))
		}
	}
	if len(faults) > 0 {
		return Config{}, errors.Join(faults...)
	}
	return Config{values: values}, nil
}

// checkSchema finds faults of a plugin's author: names that are there twice,
// types that do not exist, defaults that break their own rules.
func checkSchema(schema []Option) error {
	var faults []error
	seen := map[string]bool{}
	for _, o := range schema {
		switch {
		case o.Name == "":
			faults = append(faults, errors.New("an option has no name"))
		case seen[o.Name]:
			faults = append(faults, fmt.Errorf("option %q is there twice", o.Name))
		case o.Required && o.Default != "":
			faults = append(faults, fmt.Errorf("option %q is required and has a default; it can be one of both", o.Name))
		}
		seen[o.Name] = true
		if !o.Required {
			if _, err := o.value(nil); err != nil {
				faults = append(faults, fmt.Errorf("default of %w", err))
			}
		}
	}
	return errors.Join(faults...)
}

func parseObject(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	var given map[string]json.RawMessage
	// The decoder's error is not passed on: it may quote a secret.
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, errors.New("the configuration is not a JSON object of option names and values")
	}
	return given, nil
}

func optionNames(schema []Option) []string {
	names := make([]string, len(schema))
	for i, o := range schema {
		names[i] = o.Name
	}
	return names
}

func unknownOption(name string, known []string) error {
	switch near := nearest.Word(name, known); {
	case near != "":
		return fmt.Errorf("unknown option %q; did you mean %q?", name, near)
	case len(known) == 0:
		return fmt.Errorf("unknown option %q; this plugin has no options", name)
	}
	return fmt.Errorf("unknown option %q; known are %q", name, slices.Sorted(slices.Values(known)))
}

// value reads one option's value; raw is nil if it was not given.
func (o Option) value(raw json.RawMessage) (any, error) {
	var v any
	var err error
	switch {
	case raw != nil:
		v, err = o.fromJSON(raw)
	case o.Required:
		return nil, fmt.Errorf("option %q is required: %s", o.Name, o.Help)
	case o.Default != "":
		v, err = o.fromText(o.Default)
	default:
		return o.zero()
	}
	if err == nil {
		err = o.check(v)
	}
	if err != nil {
		shown := string(raw)
		if raw == nil {
			shown = strconv.Quote(o.Default)
		}
		if o.Secret {
			shown = "a secret value"
		}
		return nil, fmt.Errorf("option %q is %s; it must be %w", o.Name, clip(shown), err)
	}
	return v, nil
}

func (o Option) zero() (any, error) {
	switch o.Type {
	case TypeString:
		return "", nil
	case TypeInt:
		return int64(0), nil
	case TypeBool:
		return false, nil
	case TypeDuration:
		return time.Duration(0), nil
	case TypeStrings:
		return []string(nil), nil
	}
	return nil, fmt.Errorf("option %q has the unknown type %q", o.Name, o.Type)
}

// fromJSON reads a value as JSON. A string is also read as a user would write it
// on a command line, whatever the type. Errors say what the value must be.
func (o Option) fromJSON(raw json.RawMessage) (any, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return o.fromText(s)
	}
	switch o.Type {
	case TypeInt:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n, nil
		}
	case TypeBool:
		if b := string(raw); b == "true" || b == "false" {
			return b == "true", nil
		}
	case TypeStrings:
		var list []*string // a pointer tells null from ""
		if json.Unmarshal(raw, &list) == nil && raw[0] == '[' && !slices.Contains(list, nil) {
			out := make([]string, len(list))
			for i, p := range list {
				out[i] = *p
			}
			return out, nil
		}
	}
	return nil, o.typeRule()
}

// fromText reads a value as a user would write it.
func (o Option) fromText(s string) (any, error) {
	switch o.Type {
	case TypeString:
		return s, nil
	case TypeInt:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
	case TypeBool:
		if s == "true" || s == "false" {
			return s == "true", nil
		}
	case TypeDuration:
		if d, err := time.ParseDuration(s); err == nil {
			return d, nil
		}
	case TypeStrings:
		return splitList(s), nil
	}
	return nil, o.typeRule()
}

func splitList(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func (o Option) typeRule() error {
	switch o.Type {
	case TypeString:
		return errors.New("a string")
	case TypeInt:
		return errors.New("a whole number")
	case TypeBool:
		return errors.New("true or false")
	case TypeDuration:
		return errors.New(`a duration with its unit, as "5m" or "1.5s"`)
	case TypeStrings:
		return errors.New("a list of strings, or one string with commas")
	}
	return fmt.Errorf("of the type %q, which this version does not know", o.Type)
}

// check holds a value against the option's rules. The error says what it must be.
func (o Option) check(v any) error {
	switch v := v.(type) {
	case string:
		if o.Required && v == "" {
			return errors.New("not empty")
		}
		return o.checkEnum(v)
	case []string:
		if o.Required && len(v) == 0 {
			return errors.New("not empty")
		}
		for _, s := range v {
			if err := o.checkEnum(s); err != nil {
				return err
			}
		}
	case int64:
		return o.checkRange(v, func(n int64) string { return strconv.FormatInt(n, 10) })
	case time.Duration:
		return o.checkRange(v.Milliseconds(), func(n int64) string { return (time.Duration(n) * time.Millisecond).String() })
	}
	return nil
}

func (o Option) checkEnum(s string) error {
	if len(o.Enum) > 0 && !slices.Contains(o.Enum, s) {
		if near := nearest.Word(s, o.Enum); near != "" && !o.Secret {
			return fmt.Errorf("one of %q (did you mean %q?)", o.Enum, near)
		}
		return fmt.Errorf("one of %q", o.Enum)
	}
	return nil
}

func (o Option) checkRange(n int64, show func(int64) string) error {
	low, high := o.Min != nil, o.Max != nil
	switch {
	case (!low || n >= *o.Min) && (!high || n <= *o.Max):
		return nil
	case low && high:
		return fmt.Errorf("%s to %s", show(*o.Min), show(*o.Max))
	case low:
		return fmt.Errorf("at least %s", show(*o.Min))
	}
	return fmt.Errorf("at most %s", show(*o.Max))
}
