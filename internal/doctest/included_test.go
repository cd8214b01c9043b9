package doctest

import (
	"os"
	"testing"
)

// TestShownCodeIsTheFile: a code block below <!-- file: PATH --> is that file,
// which is compiled and tested as such.
func TestShownCodeIsTheFile(t *testing.T) {
	shown := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.file == "" {
				continue
			}
			shown++
			text, err := os.ReadFile(at(b.file))
			if err != nil {
				t.Errorf("%s:%d: %v", d.path, b.line, err)
				continue
			}
			if b.text != string(text) {
				t.Errorf("%s:%d: the block differs from %s; copy the file into it", d.path, b.line, b.file)
			}
		}
	}
	if shown == 0 {
		t.Error("no document shows a file")
	}
}
