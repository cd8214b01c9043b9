package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestByHand builds the plugin, runs it as an operator would, and takes the
// answer of a build without cgo too.
func TestByHand(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	binary := filepath.Join(t.TempDir(), "anarchon-plugin-sqlite")
	run := func(cgo string, args ...string) (string, error) {
		t.Helper()
		build := exec.Command("go", "build", "-o", binary, ".")
		build.Env = append(build.Environ(), "CGO_ENABLED="+cgo)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build with CGO_ENABLED=%s: %v\n%s", cgo, err, out)
		}
		out, err := exec.Command(binary, args...).CombinedOutput()
		return string(out), err
	}
	out, err := run("1", "describe")
	if err != nil || !strings.Contains(out, `"busyTimeout"`) {
		t.Errorf("describe: %v\n%s", err, out)
	}
	out, err = run("0", "describe")
	if err == nil || !strings.Contains(out, "built without cgo") {
		t.Errorf("without cgo: %v\n%s", err, out)
	}
}
