package storekit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// socketDir is a directory for one plugin's socket, which only this user can
// enter. It is locked while the host lives: what is not locked is left over from a
// host that is dead, and systemd-tmpfiles spares what is.
type socketDir struct {
	path string
	lock *os.File // nil where directories can't be locked
}

// maxSocketPath is what every Unix can hold as a socket's path: 104 bytes with
// the NUL on macOS and the BSDs, 108 on Linux.
const maxSocketPath = 103

// makeSocketDir makes a directory. The system's runtime directory comes first:
// what lies in the temporary one may be cleaned away under a plugin that runs for
// weeks.
func makeSocketDir() (*socketDir, error) {
	var faults []error
	for _, base := range socketBases() {
		sweepOnce(base)
		dir, err := os.MkdirTemp(base, socketDirPrefix) // mode 0700
		if err != nil {
			faults = append(faults, err)
			continue
		}
		// The plugin makes "plugin" and up to ten digits in it.
		if n := len(filepath.Join(dir, "plugin0123456789")); n > maxSocketPath {
			os.Remove(dir)
			faults = append(faults, fmt.Errorf("%s: a socket in there would have a path of %d bytes; %d is the most", base, n, maxSocketPath))
			continue
		}
		return &socketDir{dir, lockDir(dir)}, nil
	}
	return nil, fmt.Errorf("no directory for the plugin's socket; set TMPDIR to a short one that can be written:\n%w", errors.Join(faults...))
}

func (d *socketDir) remove() {
	os.RemoveAll(d.path)
	if d.lock != nil {
		d.lock.Close()
	}
}

func socketBases() []string {
	var bases []string
	if dirs := filepath.SplitList(os.Getenv("RUNTIME_DIRECTORY")); len(dirs) > 0 { // systemd's
		bases = append(bases, dirs[0])
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		bases = append(bases, dir)
	}
	bases = append(bases, os.TempDir())
	if !slices.Contains(bases, "/tmp") {
		bases = append(bases, "/tmp")
	}
	return bases
}

var swept struct {
	sync.Mutex
	bases map[string]bool
}

// sweepOnce sweeps a directory at its first use by this process.
func sweepOnce(base string) {
	swept.Lock()
	defer swept.Unlock()
	if swept.bases[base] {
		return
	}
	if swept.bases == nil {
		swept.bases = map[string]bool{}
	}
	swept.bases[base] = true
	sweep(base, time.Now())
}

var socketDirName = regexp.MustCompile(`^` + socketDirPrefix + `[0-9]+$`)

// sweepAge is how old a directory must be at least: a younger one may not be
// locked yet.
const sweepAge = time.Minute

// sweep removes directories for sockets whose hosts are dead. A host that ends in
// order removes its own, and a plugin that lost its host does it; these are of
// hosts that were killed together with their plugins.
func sweep(base string, now time.Time) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !socketDirName.MatchString(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil || now.Sub(info.ModTime()) < sweepAge || !ownedByUs(info) {
			continue
		}
		path := filepath.Join(base, e.Name())
		if lock := lockDir(path); lock != nil {
			clearSocketDir(path)
			lock.Close()
		}
	}
}

// clearSocketDir removes a directory for a socket. It takes sockets and empty
// directories only.
func clearSocketDir(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() || e.Type()&os.ModeSocket != 0 {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	os.Remove(dir)
}
