package subject

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "module m\n")
	plugin := write(t, root, "plugins/p/main.go", "package main\n")
	dir := filepath.Dir(plugin)
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	for _, path := range []string{"plugins/p", "./plugins/p", "../../plugins/p", dir, dir + "/"} {
		if got, err := Find(path); err != nil || got != dir {
			t.Errorf("%s: %s, %v; want %s", path, got, err, dir)
		}
	}

	_, err := Find("plugins/q")
	if err == nil {
		t.Fatal("found what is not there")
	}
	for _, tried := range []string{"plugins/q", "a/plugins/q", "a/b/plugins/q"} {
		if !strings.Contains(err.Error(), filepath.Join(root, tried)+":") {
			t.Errorf("the error does not say that %s was tried:\n%v", tried, err)
		}
	}
	if strings.Contains(err.Error(), filepath.Join(filepath.Dir(root), "plugins/q")) {
		t.Errorf("looked above the module's root:\n%v", err)
	}
	if _, err := Find(""); err == nil {
		t.Error("an empty path was found")
	}
	if _, err := Find("/no/such/plugin"); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("an absolute path is tried once: %v", err)
	}
}

func TestOut(t *testing.T) {
	root := t.TempDir()
	write(t, root, "go.mod", "module m\n")
	t.Chdir(root)
	got, err := Out("report")
	typed, ok := whereTyped()
	want := filepath.Join(root, "report")
	if ok {
		want = filepath.Join(typed, "report")
	}
	if err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	if got, err := Out("/abs"); err != nil || got != "/abs" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestBuildErrors(t *testing.T) {
	for name, tc := range map[string]struct{ source, want string }{
		"does not compile": {"package main\n\nfunc main() { undefinedThing() }\n", "undefined: undefinedThing"},
		"no main package":  {"package lib\n", "must hold a package main"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "go.mod", "module m\n\ngo 1.26\n")
			write(t, dir, "x.go", tc.source)
			_, err := Build(t.Context(), dir, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v; want one with %q and the directory", err, tc.want)
			}
		})
	}
}

func TestBuildIsCutOff(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	dir := t.TempDir()
	write(t, dir, "go.mod", "module m\n")
	write(t, dir, "x.go", "package main\n\nfunc main() {}\n")
	if _, err := Build(ctx, dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("error %v", err)
	}
}

// What is no plugin is refused with its own words, and leaves nothing behind.
func TestLoadWhatIsNoPlugin(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := t.TempDir()
	write(t, dir, "go.mod", "module m\n\ngo 1.26\n")
	write(t, dir, "x.go", "package main\n\nfunc main() { println(\"i am no plugin\") }\n")
	_, err := Load(t.Context(), Options{Path: dir})
	if err == nil || !strings.Contains(err.Error(), "no plugin") {
		t.Errorf("error %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(tmp, "conformance*"))
	if len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A plugin that is not in Go is run as it is.
func TestLoadRunsTheProgram(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, SettingsFile, "program: run.sh\nvariants: {default: {}}")
	write(t, dir, "run.sh", "#!/bin/sh\necho i am a script >&2\n")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), Options{Path: dir}); err == nil || !strings.Contains(err.Error(), "i am a script") {
		t.Errorf("error %v", err)
	}
}

func TestLoadRefusesUnknownVariant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, SettingsFile, "variants: {a: {}, b: {}}")
	for _, name := range []string{"", "c"} {
		if _, err := Load(t.Context(), Options{Path: dir, Variant: name}); err == nil || !strings.Contains(err.Error(), `known are ["a" "b"]`) {
			t.Errorf("variant %q: error %v", name, err)
		}
	}
}
