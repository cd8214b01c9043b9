package hosttest

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/storekit"
)

// Every plugin but SQLite's builds without cgo, into a file that needs no other:
// it runs in an empty container and on every libc. SQLite's says what it needs.
//
// What can break that is a dependency that is written in C: it has no Go files left
// without cgo. The builds themselves take minutes of CPU time when nothing is
// cached, so they are made with -full only.
func TestStaticBuilds(t *testing.T) {
	mains, err := filepath.Glob("../../plugins/*/main.go")
	if err != nil || len(mains) < 2 {
		t.Fatalf("plugins: %q, %v", mains, err)
	}
	var packages, names []string
	for _, m := range mains {
		name := filepath.Base(filepath.Dir(m))
		packages, names = append(packages, "./plugins/"+name), append(names, name)
	}
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{.ImportPath}}"}, packages...)...)
	list.Dir = "../.."
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr strings.Builder
	list.Stderr = &stderr
	if out, err := list.Output(); err != nil || !strings.Contains(string(out), "plugins/redis") {
		t.Fatalf("without cgo: %v\n%s%s", err, &stderr, out)
	}
	if *full {
		buildStatic(t, packages, names)
	}
}

func buildStatic(t *testing.T, packages, names []string) {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", dir + "/"}, packages...)...)
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if runtime.GOOS == "linux" {
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, p := range f.Progs {
				if p.Type == elf.PT_INTERP {
					t.Errorf("%s needs a dynamic loader", name)
				}
			}
		}
		out, err := exec.CommandContext(t.Context(), path, "--version").CombinedOutput()
		if name == "sqlite" {
			if err == nil || !strings.Contains(string(out), "CGO_ENABLED=1") {
				t.Errorf("sqlite: %q, %v; want it to say that it needs cgo", out, err)
			}
			_, err := storekit.Open(t.Context(), storekit.Plugin{Path: path, Config: map[string]any{"path": newFile(t)}})
			if err == nil || !strings.Contains(err.Error(), "built without cgo") || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
				t.Errorf("sqlite, opened: %v; want it to say that it needs cgo", err)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(string(out), storekit.BinaryPrefix+name) {
			t.Errorf("%s --version: %q, %v", name, out, err)
		}
	}
}
