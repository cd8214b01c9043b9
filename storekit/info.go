package storekit

import (
	"encoding/json"
	"time"
)

// Info says what a plugin is, before it is configured.
type Info struct {
	Name       string   `json:"name"`       // e.g. "sqlite"
	Version    string   `json:"version"`    // semantic version of the plugin
	Strategies []string `json:"strategies"` // variants a host can choose by option; empty if one only
	Options    []Option `json:"options"`
	// Protocols are the protocol versions that the plugin serves; the SDK fills
	// it in.
	Protocols []int `json:"protocols"`
}

// OptionType is the type of an option's value.
type OptionType string

const (
	TypeString   OptionType = "string"
	TypeInt      OptionType = "int"
	TypeBool     OptionType = "bool"
	TypeDuration OptionType = "duration" // JSON: a string as time.ParseDuration reads it, e.g. "5m"
	TypeStrings  OptionType = "strings"  // JSON: a list of strings, or one string with commas
)

// Option is one line of a plugin's option schema. Unknown options and values of
// another type are refused, naming the nearest known.
type Option struct {
	Name     string     `json:"name"` // lowerCamelCase
	Type     OptionType `json:"type"`
	Required bool       `json:"required,omitempty"`
	Default  string     `json:"default,omitempty"` // as a user would write it; empty: the type's zero value
	Secret   bool       `json:"secret,omitempty"`  // never shown in logs or errors
	Enum     []string   `json:"enum,omitempty"`    // the values allowed; empty: any
	Min      *int64     `json:"min,omitempty"`     // of an int, or of a duration in milliseconds
	Max      *int64     `json:"max,omitempty"`
	Help     string     `json:"help"` // one sentence; says what the default is good for
}

// Config holds the values of all options of a plugin, checked and with defaults.
// The getters panic on a name that is not in the schema or has another type:
// that is a fault of the plugin, found by its first start.
type Config struct {
	values map[string]any
}

// String returns the value of a string option.
func (c Config) String(name string) string { return get[string](c, name) }

// Int returns the value of an int option.
func (c Config) Int(name string) int { return int(get[int64](c, name)) }

// Bool returns the value of a bool option.
func (c Config) Bool(name string) bool { return get[bool](c, name) }

// Duration returns the value of a duration option.
func (c Config) Duration(name string) time.Duration { return get[time.Duration](c, name) }

// Strings returns the value of a strings option.
func (c Config) Strings(name string) []string { return get[[]string](c, name) }

func get[T any](c Config, name string) T {
	v, ok := c.values[name].(T)
	if !ok {
		panic("storekit: the option schema has no option " + name + " of that type")
	}
	return v
}

// ReadConfig checks options as a user wrote them, [Plugin].Config, as a plugin with
// this schema would: values "@FILE" are read from their files. It is for programs
// that work on a plugin's store without the plugin.
func ReadConfig(schema []Option, config map[string]any) (Config, error) {
	raw, err := encodeConfig(config)
	if err != nil {
		return Config{}, err
	}
	return ParseConfig(schema, raw)
}

// ParseConfig checks a JSON object against a schema and fills in the defaults.
// The error lists every fault, each with the option, the value (unless secret)
// and the rule. Use it in a backend's own tests; [Serve] calls it for a plugin.
func ParseConfig(schema []Option, raw json.RawMessage) (Config, error) {
	return parseConfig(schema, raw)
}
