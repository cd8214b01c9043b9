//go:build cgo

package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"github.com/anarchon-go/anarchon/core/store"
)

// notApplied classes an error of something that surely left no trace.
func notApplied(doing string, err error) error {
	if isClassed(err) {
		return err
	}
	return fmt.Errorf("%w: sqlite: %s: %w%s", store.ErrNotApplied, doing, err, remedy(err))
}

// unknown classes an error of a COMMIT: the commit record may have reached the
// disk before the failure was told.
func unknown(err error) error {
	return fmt.Errorf("%w: sqlite: commit: %w%s", store.ErrUnknown, err, remedy(err))
}

func isClassed(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown)
}

// remedy says what a result code means for the operator, and what to do.
func remedy(err error) string {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return ""
	}
	code := fmt.Sprintf(" (SQLite code %d)", e.ExtendedCode)
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return code + ": another connection held the lock all the while; look for a stuck transaction, a backup or an sqlite3 shell on the file, or raise busyTimeout"
	case sqlite3.ErrFull:
		return code + ": the disk or a quota is full; free space"
	case sqlite3.ErrReadonly, sqlite3.ErrPerm:
		return code + ": the file or its file system is read-only for this user; instances must be able to write the file and to make files beside it"
	case sqlite3.ErrCantOpen:
		return code + ": the file, or the -wal or -shm beside it, could not be opened or made, maybe on a read-only file system; instances must be able to write the file and its directory"
	case sqlite3.ErrIoErr:
		return code + ": the disk failed a read or a write; see the kernel's log, and free space if it is full"
	case sqlite3.ErrCorrupt:
		return code + ": the file is damaged; stop all instances, keep a copy, and restore a backup"
	case sqlite3.ErrNotADB:
		return code + ": the file holds something that is no SQLite database, or an encrypted one; name another file"
	case sqlite3.ErrNomem:
		return code + ": out of memory"
	}
	return code
}

// isBusy reports whether somebody else holds the lock, so that asking again
// soon is right.
func isBusy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrBusy
}

// overdue classes a call that was given up before anything was written.
func overdue(ctx context.Context) error {
	return fmt.Errorf("%w: sqlite: given up before the commit: %w", store.ErrNotApplied, context.Cause(ctx))
}
