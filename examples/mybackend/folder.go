package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// folder is one namespace of the store: a directory with a file per job.
type folder struct {
	root string // absolute; holds the format's number and a directory per namespace
	dir  string // of the namespace
}

// openFolder finds the store, or makes it. Any number of processes may do so at
// once: each step is made so that it may be done twice.
func openFolder(ctx context.Context, root, namespace string) (folder, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return folder{}, fmt.Errorf("%w: folder %q: %w", store.ErrInvalid, root, err)
	}
	// Its parents are not made: a mistyped path must not become an empty store.
	if err := os.Mkdir(root, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, fmt.Errorf("%w: making the folder: %w; name one whose parent exists and can be written", store.ErrInvalid, err)
	}
	if err := prepareFormat(ctx, root); err != nil {
		return folder{}, err
	}
	f := folder{root: root, dir: filepath.Join(root, fileName(namespace))}
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, fmt.Errorf("%w: making the namespace's directory: %w", store.ErrNotApplied, err)
	}
	return f, syncDir(root)
}

// fileName is the name of what belongs to a job or a namespace. Names may hold
// anything and have 200 bytes; a digest is a good file name whatever they hold,
// also where the file system does not tell A from a. The name itself is in the file.
func fileName(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// lock makes what follows the one thing that happens in the directory, among all
// goroutines of all processes. The kernel gives the lock back if the process dies.
//
// The file is opened anew each time: the lock belongs to the opened file, and two
// goroutines that shared one would share its lock. flock can't be waited for with
// a deadline, so it is asked again after short random pauses.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: opening the lock: %w", store.ErrNotApplied, err)
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, fmt.Errorf("%w: locking %s: %w", store.ErrNotApplied, f.Name(), err)
		}
		select {
		case <-time.After(100*time.Microsecond + rand.N(2*time.Millisecond)):
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("%w: waiting for %s: %w; another process held it all the while", store.ErrNotApplied, f.Name(), context.Cause(ctx))
		}
	}
}

// write replaces a file, all or nothing, and returns when it is on the disk. The
// caller holds the lock, so the temporary file's name may be a fixed one: what a
// killed process left there is overwritten.
//
// The errors are the point: until the rename nothing has happened, from the rename
// on everything may have.
func write(path string, content []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: writing: %w", store.ErrNotApplied, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("%w: renaming: %w", store.ErrUnknown, err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory survive a power loss.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: syncing %s: %w", store.ErrUnknown, dir, err)
	}
	return nil
}
