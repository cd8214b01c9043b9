package yamlkeys

import (
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestEach(t *testing.T) {
	known := []string{"name", "port"}
	for _, c := range []struct{ text, want, fault string }{
		{"name: x\nport: 1", "name=x port=1", ""},
		{"", "", ""},
		{"? {a: 1}\n: x", "", "line 1: a key must be a word"},
		{"'': x", "", "line 1: a key must be a word"},
		{"a: ~", "", ""},                     // walked one level down
		{"[&x {name: y}, *x]", "name=y", ""}, // the alias is walked
		{"nmae: x", "", `line 1: unknown key "nmae"; did you mean "name"?`},
		{"name: x\nquite-another: y", "name=x", `line 2: unknown key "quite-another"; known are ["name" "port"]`},
		{"name: x\nname: y", "name=x", `line 2: key "name" is there twice`},
		{"- name", "", "line 1: there must be keys with values here"},
		{"name: fault", "", "seen"},
	} {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(c.text), &doc); err != nil {
			t.Fatal(err)
		}
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
		if len(doc.Content) > 0 {
			node = doc.Content[0]
		}
		if c.text == "a: ~" {
			node = node.Content[1]
		}
		if node.Kind == yaml.SequenceNode && len(node.Content) == 2 {
			node = node.Content[1]
		}
		var got []string
		err := Each(node, known, func(key string, value *yaml.Node) error {
			if value.Value == "fault" {
				return errors.New("seen")
			}
			got = append(got, key+"="+value.Value)
			return nil
		})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if strings.Join(got, " ") != c.want || text != c.fault {
			t.Errorf("%q: got %q and %q; want %q and %q", c.text, got, text, c.want, c.fault)
		}
	}
}
