package storekit

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shortDir is a directory for sockets, whose paths must be short, alone in the
// list of where they may be.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "sk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("RUNTIME_DIRECTORY", "")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	return dir
}

func TestSocketDirectory(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNTIME_DIRECTORY", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("TMPDIR", long)
	dir, err := makeSocketDir()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.remove()
	if !strings.HasPrefix(dir.path, "/tmp/") {
		t.Errorf("%s; want a shorter one than TMPDIR", dir.path)
	}
	if entries, _ := os.ReadDir(long); len(entries) > 0 {
		t.Errorf("left %v in TMPDIR", entries)
	}
	if st, err := os.Stat(dir.path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v; want 0700", st.Mode(), err)
	}

	short := shortDir(t)
	if dir, err := makeSocketDir(); err != nil || filepath.Dir(dir.path) != short {
		t.Errorf("%+v, %v; want it in XDG_RUNTIME_DIR", dir, err)
	}
}

// Directories of dead hosts are removed; those of live ones, young ones and
// strangers' stay.
func TestSweep(t *testing.T) {
	base := shortDir(t)
	mkdir := func(name, socket string) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if socket != "" {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socket)})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			l.Close()
		}
		return dir
	}
	stale, empty, stranger, file := mkdir("anarchon-s1", "plugin.sock"), mkdir("anarchon-s22", ""), mkdir("anarchon-runs-3", ""), mkdir("anarchon-s4", "")
	if err := os.Mkdir(filepath.Join(stale, "plugin-dir1"), 0o700); err != nil { // go-plugin makes one
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(file, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	live, err := makeSocketDir()
	if err != nil {
		t.Fatal(err)
	}
	defer live.remove()
	if live.lock == nil {
		t.Skip("directories can't be locked here, so nothing is swept")
	}

	exists := func(dir string) bool {
		_, err := os.Stat(dir)
		return !errors.Is(err, os.ErrNotExist)
	}
	sweep(base, time.Now())
	for _, dir := range []string{stale, empty, stranger, file, live.path} {
		if !exists(dir) {
			t.Errorf("%s was removed when it was just made", dir)
		}
	}
	sweep(base, time.Now().Add(2*sweepAge))
	for _, dir := range []string{stale, empty} {
		if exists(dir) {
			t.Errorf("%s is left", dir)
		}
	}
	for _, dir := range []string{stranger, filepath.Join(file, "precious"), live.path} {
		if !exists(dir) {
			t.Errorf("%s was removed", dir)
		}
	}
	live.remove()
	if exists(live.path) {
		t.Errorf("%s is left after its end", live.path)
	}
}
