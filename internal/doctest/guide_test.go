package doctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuideCanBeFollowed does what the guide for authors of backends says, in an
// empty folder: its blocks marked "sh walk", one after the other. The runs of the
// conformance suite between them are left out; examples/mybackend has the whole one.
func TestGuideCanBeFollowed(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: building a module from nothing takes a while")
	}
	guide, err := os.ReadFile(at("docs/writing-a-backend.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -euo pipefail\n"
	steps := 0
	for _, b := range parse("docs/writing-a-backend.md", string(guide)).blocks {
		if b.info == "sh walk" {
			script += b.text
			steps++
		}
	}
	if steps < 6 {
		t.Fatalf("the guide has %d steps; are its blocks marked \"sh walk\"?", steps)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "ANARCHON="+here, "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "ok  \texample.org/mybackend") {
		t.Errorf("the backend's own tests did not pass:\n%s", out)
	}
	made, err := filepath.Glob(filepath.Join(cmd.Dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	template, err := filepath.Glob(at("examples/mybackend/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != len(template) {
		t.Errorf("the guide makes the files %q; the template has %q", names(made), names(template))
	}
}

func names(paths []string) []string {
	var list []string
	for _, p := range paths {
		list = append(list, filepath.Base(p))
	}
	return list
}
