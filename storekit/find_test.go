package storekit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes an executable file.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFindByName(t *testing.T) {
	root := t.TempDir()
	inDir := script(t, filepath.Join(root, "dir", "anarchon-plugin-one"), "x")
	bare := script(t, filepath.Join(root, "dir", "two"), "x")
	inEnv := script(t, filepath.Join(root, "env", "anarchon-plugin-three"), "x")
	onPath := script(t, filepath.Join(root, "path", "anarchon-plugin-four"), "x")
	script(t, filepath.Join(root, "env", "anarchon-plugin-one"), "shadowed by dir")
	if err := os.MkdirAll(filepath.Join(root, "dir", "five"), 0o755); err != nil {
		t.Fatal(err)
	}
	five := script(t, filepath.Join(root, "env", "five"), "x")
	t.Setenv(envDirs, filepath.Join(root, "env"))
	t.Setenv("PATH", filepath.Join(root, "path")+string(filepath.ListSeparator)+".")
	t.Chdir(filepath.Join(root, "path"))

	dirs := []string{filepath.Join(root, "missing"), filepath.Join(root, "dir")}
	for _, c := range []struct {
		plugin Plugin
		want   string
	}{
		{Plugin{Name: "one", Dirs: dirs}, inDir},
		{Plugin{Name: "two", Dirs: dirs}, bare},
		{Plugin{Path: "two", Dirs: dirs}, bare},
		{Plugin{Name: "three", Dirs: dirs}, inEnv},
		{Plugin{Name: "four", SearchPATH: true}, onPath},
		{Plugin{Name: "five", Dirs: dirs}, five}, // a directory of that name is passed over
		{Plugin{Path: "./anarchon-plugin-four"}, onPath},
		{Plugin{Name: "x", Path: inDir}, inDir},
	} {
		got, err := find(c.plugin)
		if err != nil || got != c.want {
			t.Errorf("find(%+v) = %q, %v; want %q", c.plugin, got, err, c.want)
		}
	}

	_, err := find(Plugin{Name: "four", Dirs: dirs})
	if err == nil {
		t.Fatal("found in PATH without SearchPATH")
	}
	for _, want := range []string{
		filepath.Join(root, "missing", "anarchon-plugin-four"),
		filepath.Join(root, "dir", "four"),
		filepath.Join(root, "env", "anarchon-plugin-four"),
		"SearchPATH is off", "$ANARCHON_PLUGIN_DIR",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		plugin Plugin
		want   string
	}{
		{Plugin{}, "neither Name nor Path"},
		{Plugin{Path: filepath.Join(dir, "nowhere")}, "nowhere: file does not exist"},
		{Plugin{Path: dir}, "is a directory"},
		{Plugin{Path: plain}, "is not executable (chmod +x)"},
		{Plugin{Path: plain + "/below"}, "not a directory"},
		{Plugin{Path: os.DevNull}, "is not a regular file"},
	} {
		_, err := Open(t.Context(), c.plugin)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%+v): %v; want an error with %q", c.plugin, err, c.want)
		}
	}
}

func TestConfigFromFiles(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	os.WriteFile(secret, []byte("hunter2\n"), 0o600)
	for in, want := range map[string]string{
		"plain": "plain", "@@at": "@at", "@" + secret: "hunter2", "": "",
	} {
		if got, err := resolveFile(in); err != nil || got != want {
			t.Errorf("resolveFile(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := resolveFile("@" + filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := resolveFile("@"); err == nil {
		t.Error("\"@\" was taken")
	}
	big := filepath.Join(dir, "big")
	os.WriteFile(big, make([]byte, maxFileValue+1), 0o600)
	if _, err := resolveFile("@" + big); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := Open(t.Context(), Plugin{Path: script(t, filepath.Join(dir, "p"), "x"), Config: map[string]any{"password": "@" + dir + "/missing"}}); err == nil || !strings.Contains(err.Error(), `option "password"`) {
		t.Errorf("Open with a missing file: %v", err)
	}
}
