package doctest

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommandsExist reads the shell blocks of the documents that a newcomer
// follows and looks for what each command names.
func TestCommandsExist(t *testing.T) {
	docs := documents(t)
	targets := makeTargets(t)
	commands := 0
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		d, ok := docs[name]
		if !ok {
			t.Errorf("%s is missing", name)
		}
		for _, b := range d.blocks {
			if b.info != "sh" {
				continue
			}
			for line := range strings.Lines(b.text) {
				commands++
				if err := checkCommand(line, targets); err != nil {
					t.Errorf("%s:%d: %s: %v", name, b.line, strings.TrimSpace(line), err)
				}
			}
		}
	}
	if commands == 0 {
		t.Error("no command found: are the shell blocks marked sh?")
	}
}

// checkCommand looks at the targets of make and at every argument that is a path
// of the repository (it begins with ./ or .ci/). Paths that begin with ./my are
// the reader's own, those in ./bin are built.
func checkCommand(line string, targets []string) error {
	line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
	words := strings.Fields(line)
	for i, w := range words {
		if words[0] == "make" && i > 0 && !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") && !slices.Contains(targets, w) {
			return fmt.Errorf("the Makefile has no target %q", w)
		}
		if _, value, ok := strings.Cut(w, "="); ok {
			w = value
		}
		w = strings.TrimSuffix(w, "/...")
		if w == "." || !strings.HasPrefix(w, "./") && !strings.HasPrefix(w, ".ci/") ||
			strings.HasPrefix(w, "./my") || strings.HasPrefix(w, "./bin/") {
			continue
		}
		if _, err := os.Stat(at(path.Clean(w))); err != nil {
			return fmt.Errorf("there is no %s", w)
		}
	}
	return nil
}

func makeTargets(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(at("Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):(?:[^=]|$)`).FindAllStringSubmatch(string(text), -1) {
		targets = append(targets, m[1])
	}
	if !slices.Contains(targets, "test") {
		t.Fatalf("the Makefile has the targets %q; test is missing", targets)
	}
	return targets
}

func TestCheckCommand(t *testing.T) {
	targets := []string{"test", "bench"}
	tests := []struct {
		line string
		want bool
	}{
		{"make test", true},
		{"make -j2 test CGO_ENABLED=1", true},
		{"make tset", false},
		{"go test ./core/...", true},
		{"go test ./kore/...", false},
		{"go test ./internal -plugin=./internal", true},
		{"go test ./internal -plugin=./plugins/none", false},
		{"go test ./internal -plugin=./mybackend", true},
		{"./bin/anarchon demo # built by make", true},
		{".ci/none", false},
		{"# a remark", true},
		{"", true},
	}
	for _, tt := range tests {
		if err := checkCommand(tt.line, targets); (err == nil) != tt.want {
			t.Errorf("checkCommand(%q) = %v, want fine: %v", tt.line, err, tt.want)
		}
	}
}
