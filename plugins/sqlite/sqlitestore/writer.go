//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// writer owns the one connection that writes, and runs one transaction at a
// time on it. It is safe for concurrent use.
type writer struct {
	location location
	busy     time.Duration
	now      string // SQL of the store's clock
	turn     chan struct{}

	// Used by the holder of the turn only. conn is nil after a failure that
	// leaves the connection's state in doubt; the next transaction reconnects.
	db   *sql.DB
	conn *sql.Conn
	sql  *writing
	file os.FileInfo // as it was when the connection was made
}

func newWriter(l location, busy time.Duration, now string) *writer {
	return &writer{location: l, busy: busy, now: now, turn: make(chan struct{}, 1)}
}

// transact runs judge inside one transaction that holds the write lock from its
// first read on. An error of judge, or a ctx that is over by then, rolls all
// back: surely not applied. A failed COMMIT is unknown.
func (w *writer) transact(ctx context.Context, judge func(*writing) error) (err error) {
	if ctx.Err() != nil {
		return overdue(ctx)
	}
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return overdue(ctx)
	}
	if err := w.begin(ctx); err != nil {
		return notApplied("begin", err)
	}
	committed := false
	defer func() {
		if !committed { // also when judge panics
			w.rollback()
		}
	}()
	if err := w.checkFile(); err != nil {
		return err
	}
	if err := judge(w.sql); err != nil {
		return notApplied("transaction", err)
	}
	if ctx.Err() != nil {
		return overdue(ctx)
	}
	// From here on nothing may interrupt: a COMMIT is not told what became of it.
	if _, err := w.sql.commit.Exec(); err != nil {
		return unknown(err)
	}
	committed = true
	return nil
}

func (w *writer) begin(ctx context.Context) error {
	return whileBusy(ctx, w.busy, func() error {
		if w.conn == nil {
			if err := w.connect(); err != nil {
				return err
			}
		}
		_, err := w.sql.begin.Exec()
		return err
	})
}

// rollback ends the transaction, or the connection if that fails, which ends
// the transaction too.
func (w *writer) rollback() {
	if _, err := w.sql.rollback.Exec(); err != nil {
		_ = w.disconnect() // it is in doubt already, and the caller has an error to tell
	}
}

// checkFile refuses to write a file that has lost its name: other processes
// would be using another one, and both would grant the same slots.
func (w *writer) checkFile() error {
	info, err := os.Stat(w.location.path)
	if err == nil && os.SameFile(info, w.file) {
		return nil
	}
	what := "was replaced by another file"
	if err != nil {
		what = "is gone: " + err.Error()
	}
	return fmt.Errorf("%w: sqlite: %s %s, while in use; stop all instances, put the right file in its place, and start them again", store.ErrNotApplied, w.location.path, what)
}

// connect makes the connection, and at the start the file.
func (w *writer) connect() error {
	mode := "rwc"
	if w.file != nil {
		if err := w.checkFile(); err != nil {
			return err
		}
		mode = "rw"
	}
	db, conn, err := connectWriter(w.location, mode)
	if err != nil {
		return err
	}
	w.db, w.conn = db, conn
	w.sql, err = prepareWriting(conn, w.now)
	if err == nil && w.file == nil {
		w.file, err = os.Stat(w.location.path)
	}
	if err != nil {
		return errors.Join(err, w.disconnect())
	}
	return nil
}

func (w *writer) disconnect() error {
	if w.conn == nil {
		return nil
	}
	var errs []error
	if w.sql != nil {
		errs = append(errs, w.sql.close())
	}
	errs = append(errs, w.conn.Close(), w.db.Close())
	w.db, w.conn, w.sql = nil, nil, nil
	return errors.Join(errs...)
}

// close waits for the transaction under way, at most as long as ctx.
func (w *writer) close(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return w.disconnect() // the turn is kept: nobody begins again
	default:
	}
	select {
	case w.turn <- struct{}{}:
		return w.disconnect()
	case <-ctx.Done():
		return fmt.Errorf("sqlite: close: a transaction is still under way: %w", context.Cause(ctx))
	}
}
