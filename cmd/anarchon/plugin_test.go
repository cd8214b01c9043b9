package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPluginNotFound: who has no checkout and no built plugin is told what the command
// looked for, and what to do in its own words, not in those of storekit's fields.
func TestPluginNotFound(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("ANARCHON_PLUGIN_DIR", empty)
	t.Chdir(t.TempDir())
	for _, args := range []string{
		"runs -config path=jobs.db", "doctor -config path=jobs.db", "certify -config path=jobs.db", "plugin info sqlite", "plugin bench sqlite",
		"demo", "demo instance -config path=jobs.db", "conform sqlite", "scenarios -plugin sqlite",
	} {
		code, _, errs := said(t, strings.Fields(args)...)
		if code != exitFailed {
			t.Errorf("%s: exit code %d", args, code)
		}
		for _, want := range []string{
			`plugin "sqlite" is not found`, filepath.Join(empty, "anarchon-plugin-sqlite") + ": there is no such file",
			"give -plugin PATH", "put anarchon-plugin-sqlite beside anarchon", "$ANARCHON_PLUGIN_DIR", "a checkout of anarchon",
		} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: the error lacks %q:\n%s", args, want, errs)
			}
		}
		for _, field := range []string{"Dirs", "SearchPATH", "storekit"} {
			if strings.Contains(errs, field) {
				t.Errorf("%s: the error names %s:\n%s", args, field, errs)
			}
		}
	}
}

// TestBuiltPluginFile: the first fit file wins, with the prefix or without; one that is
// unfit is told as such.
func TestBuiltPluginFile(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	t.Setenv("ANARCHON_PLUGIN_DIR", first+string(filepath.ListSeparator)+second)
	put := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(first, "anarchon-plugin-mine"), 0o600)
	if err := os.Mkdir(filepath.Join(first, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := builtPluginFile("mine")
	if err == nil || !strings.Contains(err.Error(), "anarchon-plugin-mine: it is not executable") || !strings.Contains(err.Error(), "mine: it is not a file") {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"mine", "anarchon-plugin-mine"} {
		want := filepath.Join(second, name)
		put(want, 0o700)
		if got, err := builtPluginFile("mine"); err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
}
