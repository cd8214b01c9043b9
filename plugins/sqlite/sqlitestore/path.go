//go:build cgo

package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// location is where the database is, as found at the start.
type location struct {
	path     string // absolute, links resolved: what SQLite names its side files after
	exists   bool
	kind     filesystem
	warnings []string
}

// locate checks the path before SQLite sees it, because SQLite says no more
// than "unable to open database file". It never opens the file: on POSIX
// systems closing it would drop the locks of every other handle of this process.
func locate(path string, fsType func(dir string) (filesystem, error)) (location, error) {
	switch {
	case strings.ContainsRune(path, 0):
		return location{}, badPath(path, "holds a NUL byte", "name a file")
	case path == ":memory:" || strings.HasPrefix(path, "file:"):
		return location{}, badPath(path, "is not the name of a file", "name a plain file: instances share it, and its settings are this plugin's to choose")
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return location{}, badPath(path, err.Error(), "use an absolute path")
	}
	dir, err := checkDir(filepath.Dir(abs))
	if err != nil {
		return location{}, err
	}
	l := location{path: filepath.Join(dir, filepath.Base(abs))}
	if err := l.checkFile(); err != nil {
		return location{}, err
	}
	l.kind, err = fsType(filepath.Dir(l.path))
	if err != nil {
		l.warnings = append(l.warnings, fmt.Sprintf("the file system under %s could not be told: %v; make sure that it is no network file system", l.path, err))
		return l, nil
	}
	warning, err := l.kind.judge(l.path)
	if warning != "" {
		l.warnings = append(l.warnings, warning)
	}
	return l, err
}

func checkDir(dir string) (string, error) {
	bad := func(what, remedy string) (string, error) {
		return "", fmt.Errorf("%w: sqlite: the directory %q of path %s; %s", store.ErrInvalid, dir, what, remedy)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return bad("does not exist", "make it: a mistyped path must not become an empty database")
	}
	if err != nil {
		return bad("can't be entered: "+err.Error(), "name a file in a directory that this user can enter")
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return bad("can't be entered: "+err.Error(), "name a file in a directory that this user can enter")
	}
	if !info.IsDir() {
		return bad("is not a directory", "name a file in a directory")
	}
	return resolved, nil
}

func (l *location) checkFile() error {
	if target, err := filepath.EvalSymlinks(l.path); err == nil {
		l.path = target
	}
	info, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return badPath(l.path, err.Error(), "name a file that this user can read and write")
	case !info.Mode().IsRegular():
		return badPath(l.path, "is not a regular file ("+info.Mode().Type().String()+")", "name a file")
	}
	l.exists = true
	if n := hardLinks(info); n > 1 {
		l.warnings = append(l.warnings, fmt.Sprintf("%s has %d names (hard links); a process that opens it by another one damages it: remove the other names", l.path, n))
	}
	return nil
}

// uri is the name that SQLite opens. Query parameters follow it.
func (l *location) uri(params string) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(l.path)}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // file:///C:/…
	}
	return u.String() + "?" + params
}

// hasWAL reports whether a write-ahead log lies beside the file: somebody has
// it open, or crashed.
func (l *location) hasWAL() bool {
	_, err := os.Stat(l.path + "-wal")
	return err == nil
}

func badPath(path, what, remedy string) error {
	return fmt.Errorf("%w: sqlite: path %q %s; %s", store.ErrInvalid, path, what, remedy)
}
