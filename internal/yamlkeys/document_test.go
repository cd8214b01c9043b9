package yamlkeys

import (
	"strings"
	"testing"
)

func TestDocument(t *testing.T) {
	for _, c := range []struct{ text, fault string }{
		{"name: x", ""},
		{"---\nname: x\n...\n", ""},
		{"", ""},
		{"# nothing\n", ""},
		{"name: x\n---\nname: y\n", "line 2: a second document begins"},
		{"name: x\n---\n", "a second document begins"},
		{"name: x\n---\n\t!", "yaml: line "},
		{"name: [", "yaml: line 1"},
	} {
		node, err := Document([]byte(c.text))
		if c.fault == "" {
			if err != nil || (node != nil) != strings.Contains(c.text, "name") {
				t.Errorf("%q: %v, %v", c.text, node, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: %v; want %q", c.text, err, c.fault)
		}
	}
}
