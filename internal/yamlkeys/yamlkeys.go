// Package yamlkeys walks the keys of a YAML mapping and refuses, by line, what a file
// should not hold: unknown keys, keys that are there twice.
package yamlkeys

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/anarchon-go/anarchon/internal/nearest"
)

// Each calls f for the keys of a mapping, in their order; an empty value has none. If
// known is not nil, other keys are refused; none may be there twice. It ends with the
// first error.
func Each(node *yaml.Node, known []string, f func(key string, value *yaml.Node) error) error {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: there must be keys with values here", node.Line)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
			return fmt.Errorf("line %d: a key must be a word", key.Line)
		case known != nil && !slices.Contains(known, key.Value):
			if near := nearest.Word(key.Value, known); near != "" {
				return fmt.Errorf("line %d: unknown key %q; did you mean %q?", key.Line, key.Value, near)
			}
			return fmt.Errorf("line %d: unknown key %q; known are %q", key.Line, key.Value, known)
		case seen[key.Value]:
			return fmt.Errorf("line %d: key %q is there twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if err := f(key.Value, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}
