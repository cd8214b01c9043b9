//go:build cgo

package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestConfigure goes the way that the SDK goes, with every option at its
// default but the path.
func TestConfigure(t *testing.T) {
	b := New(testEnv(t))
	path := filepath.Join(t.TempDir(), "a b?c#d%20é.db")
	if err := b.Configure(t.Context(), config(t, map[string]any{"path": path})); err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is not where it was asked for: %v", err)
	}
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != store.KindLease || !d.Memory.Forever || d.Clock != store.ClockStore || !d.Fenced || !d.History || d.Format != Format {
		t.Errorf("described as %+v", d)
	}
	if !strings.HasPrefix(d.Product, "SQLite 3.") {
		t.Errorf("product %q", d.Product)
	}
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "FULL", "fullfsync": "1", "locking_mode": "normal",
		"namespace": "default", "busyTimeout": "5s", "journal_size_limit": "8388608",
	} {
		i := slices.IndexFunc(d.Settings, func(s store.Setting) bool { return s.Name == name })
		if i < 0 || d.Settings[i].Value != want {
			t.Errorf("setting %s: %v; want %q", name, d.Settings, want)
		}
	}
}

func TestNamespaceIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	for _, ns := range []string{"", strings.Repeat("n", 201)} {
		err := New(testEnv(t)).Configure(t.Context(), config(t, map[string]any{"path": path, "namespace": ns}))
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "namespace") {
			t.Errorf("namespace %.10q: got %v; want it refused", ns, err)
		}
	}
}

// TestBadPath: what can't do is refused with its reason and a remedy, and
// nothing is made.
func TestBadPath(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	fifo := filepath.Join(dir, "fifo")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), syscall.Mkfifo(fifo, 0o600), os.Symlink("nowhere/x.db", filepath.Join(dir, "dangling"))); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ path, want string }{
		"directory missing":   {filepath.Join(dir, "missing", "jobs.db"), "does not exist; make it"},
		"directory is a file": {filepath.Join(file, "jobs.db"), "not a directory"},
		"is a directory":      {dir, "not a regular file"},
		"is a pipe":           {fifo, "not a regular file"},
		"is a device":         {"/dev/null", "not a regular file"},
		"NUL":                 {"a\x00b", "NUL"},
		"in memory":           {":memory:", "not the name of a file"},
		"URI":                 {"file:x?mode=memory", "not the name of a file"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := tryOpen(t, settings{path: test.path, namespace: "n", busy: time.Second})
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want an invalid path and %q", err, test.want)
			}
		})
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("the directory now holds %v, %v", entries, err)
	}
}

// TestLinks: a link to a file or a directory names the same database; a second
// name of the file itself is warned of.
func TestLinks(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	now := time.Now().UnixMilli()
	mustClaim(t, b, claimOf("j", now), store.VerdictWon)
	dir := t.TempDir()
	if err := errors.Join(os.Symlink(set.path, filepath.Join(dir, "link.db")), os.Symlink(filepath.Dir(set.path), filepath.Join(dir, "d"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "link.db"), filepath.Join(dir, "d", filepath.Base(set.path))} {
		other := open(t, settings{path: path, namespace: set.namespace, busy: set.busy})
		mustClaim(t, other, claimOf("j", now), store.VerdictRunning)
		if len(other.about.Warnings) > 0 && strings.Contains(other.about.Warnings[0], "hard links") {
			t.Errorf("warned: %q", other.about.Warnings)
		}
	}
	if err := os.Link(set.path, filepath.Join(filepath.Dir(set.path), "second.db")); err != nil {
		t.Fatal(err)
	}
	d := open(t, set).about
	if !slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "2 names") }) {
		t.Errorf("warnings %q don't name the second name", d.Warnings)
	}
}

// TestFileSystems: network file systems are refused, others warned of, and what
// can't be told too.
func TestFileSystems(t *testing.T) {
	pretend := func(kind filesystem, err error) func(*Backend) {
		return func(b *Backend) { b.fsType = func(string) (filesystem, error) { return kind, err } }
	}
	set := testSettings(t)
	err := tryOpen(t, set, pretend(filesystem{"NFS", fitNetwork}, nil))
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "NFS") || !strings.Contains(err.Error(), "local disk") {
		t.Errorf("NFS: got %v; want it refused", err)
	}
	if _, err := os.Stat(set.path); err == nil {
		t.Error("a file was made on NFS")
	}
	for want, kind := range map[string]filesystem{
		"restart of the machine empties": {"tmpfs", fitVolatile},
		"gone with the container":        {"overlayfs", fitLayer},
	} {
		d := open(t, testSettings(t), pretend(kind, nil)).about
		if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], want) {
			t.Errorf("%s: warnings %q", kind.name, d.Warnings)
		}
	}
	d := open(t, testSettings(t), pretend(filesystem{}, errors.New("no such call"))).about
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "no such call") {
		t.Errorf("unknown: warnings %q", d.Warnings)
	}
	if d := open(t, testSettings(t), pretend(filesystem{"ext", fitGood}, nil)).about; len(d.Warnings) != 0 {
		t.Errorf("ext: warnings %q", d.Warnings)
	}
}

// TestWarningsAreLogged: an operator who reads no Describe sees them too.
func TestWarningsAreLogged(t *testing.T) {
	var log bytes.Buffer
	b := newBackend(storekit.Env{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	b.fsType = func(string) (filesystem, error) { return filesystem{"tmpfs", fitVolatile}, nil }
	if err := b.open(t.Context(), testSettings(t)); err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "tmpfs") {
		t.Errorf("logged %q", log.String())
	}
}

// TestDamagedFile: files that are no database, or a broken one.
func TestDamagedFile(t *testing.T) {
	whole := func(t *testing.T, path string) []byte {
		if err := tryOpen(t, settings{path: path, namespace: "n", busy: time.Second}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	tests := map[string]struct {
		make func(t *testing.T, path string) []byte
		want string
	}{
		"text":    {func(*testing.T, string) []byte { return bytes.Repeat([]byte("this is a diary\n"), 500) }, "no SQLite database"},
		"encoded": {func(*testing.T, string) []byte { return bytes.Repeat([]byte{0xa5, 0x17, 0x99, 0x02}, 2048) }, "no SQLite database"},
		"pages":   {func(t *testing.T, path string) []byte { b := whole(t, path); copyOver(b[4096:]); return b }, "damaged"},
		"cut off": {func(t *testing.T, path string) []byte { return whole(t, path)[:5000] }, "damaged"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := testSettings(t)
			content := test.make(t, set.path)
			if err := os.WriteFile(set.path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			err := tryOpen(t, set)
			if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), set.path) {
				t.Errorf("got %v; want it refused as %q", err, test.want)
			}
			if after, err := os.ReadFile(set.path); err != nil || !bytes.Equal(after, content) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func copyOver(b []byte) {
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
}

// TestEmptyFile: a file without a byte is an empty database.
func TestEmptyFile(t *testing.T) {
	set := testSettings(t)
	if err := os.WriteFile(set.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tryOpen(t, set); err != nil {
		t.Error(err)
	}
}

// TestLockedAtStart: somebody who keeps the file locked delays the start by the
// busy timeout, and no longer.
func TestLockedAtStart(t *testing.T) {
	for _, journal := range []string{"DELETE", "WAL"} {
		t.Run(journal, func(t *testing.T) {
			set := testSettings(t)
			set.busy = 300 * time.Millisecond
			if err := tryOpen(t, set); err != nil {
				t.Fatal(err)
			}
			db := raw(t, set.path)
			mustExec(t, db, "PRAGMA journal_mode = "+journal)
			mustExec(t, db, "PRAGMA locking_mode = EXCLUSIVE")
			mustExec(t, db, "BEGIN EXCLUSIVE")
			begin := time.Now()
			err := tryOpen(t, set)
			if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "busyTimeout") {
				t.Errorf("got %v; want a locked file that names busyTimeout", err)
			}
			if took := time.Since(begin); took < set.busy || took > set.busy+10*time.Second {
				t.Errorf("took %v; want about %v", took, set.busy)
			}
			mustExec(t, db, "ROLLBACK")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if err := tryOpen(t, set); err != nil {
				t.Errorf("after it was unlocked: %v", err)
			}
		})
	}
}
