package subject

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// placeholder is ${name} in a value of the settings file.
var placeholder = regexp.MustCompile(`\$\{([^}]*)\}?`)

const tmpName = "tmp"

// checkPlaceholders refuses what looks like a placeholder and is none.
func (s Settings) checkPlaceholders(x any, line int, more ...string) error {
	for _, name := range placeholders(x) {
		if _, ok := s.Containers[name]; !ok && name != tmpName && !slices.Contains(more, name) {
			known := append(append(slices.Sorted(maps.Keys(s.Containers)), tmpName), more...)
			return fmt.Errorf("line %d: unknown placeholder %q; known are %q", line, "${"+name+"}", known)
		}
	}
	return nil
}

// placeholders returns the names of the placeholders in a value, in order.
func placeholders(x any) []string {
	var names []string
	switch x := x.(type) {
	case string:
		for _, m := range placeholder.FindAllStringSubmatch(x, -1) {
			names = append(names, m[1])
		}
	case []any:
		for _, e := range x {
			names = append(names, placeholders(e)...)
		}
	}
	return names
}

// expand replaces the placeholders in a value by what they stand for.
func expand(x any, values map[string]string) any {
	switch x := x.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(x, func(m string) string {
			if v, ok := values[placeholder.FindStringSubmatch(m)[1]]; ok {
				return v
			}
			return m
		})
	case []any:
		list := make([]any, len(x))
		for i, e := range x {
			list[i] = expand(e, values)
		}
		return list
	}
	return x
}

// expandAll is expand for the values of a configuration.
func expandAll(config map[string]any, values map[string]string) map[string]any {
	out := make(map[string]any, len(config))
	for name, x := range config {
		out[name] = expand(x, values)
	}
	return out
}
