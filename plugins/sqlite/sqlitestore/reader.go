//go:build cgo

package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// readers is how many recalls are read at once; more wait.
const readers = 4

// reader answers recalls on read-only connections of its own: in the
// write-ahead log's mode readers and the writer don't wait for each other. It
// is safe for concurrent use.
type reader struct {
	location            location
	busy                time.Duration
	now                 string
	db                  *sql.DB
	unfinished, history *sql.Stmt
}

func newReader(l location, busy time.Duration, now string) *reader {
	return &reader{location: l, busy: busy, now: now}
}

func (r *reader) open() error {
	db, err := sql.Open("sqlite3", r.location.uri("mode=ro&_busy_timeout=0&_query_only=1"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	unfinished, err1 := db.Prepare(sqlText("unfinished", r.now))
	history, err2 := db.Prepare(sqlText("history", r.now))
	if err := cmp.Or(err1, err2); err != nil {
		return errors.Join(fmt.Errorf("prepare the recalls: %w%s", err, changedTables(err)), db.Close())
	}
	r.db, r.unfinished, r.history = db, unfinished, history
	return nil
}

func (r *reader) close() error {
	if r.db == nil {
		return nil
	}
	return errors.Join(r.unfinished.Close(), r.history.Close(), r.db.Close())
}

// each calls row for every row of a query; reset, before it is asked again
// because the file was locked. All errors are surely not applied.
func (r *reader) each(ctx context.Context, stmt *sql.Stmt, args []any, reset func(), row func(*sql.Rows) error) error {
	if ctx.Err() != nil {
		return overdue(ctx)
	}
	err := whileBusy(ctx, r.busy, func() (err error) {
		reset()
		rows, err := stmt.QueryContext(ctx, args...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return notApplied("recall", fmt.Errorf("%w: %w", context.Cause(ctx), err))
	}
	return notApplied("recall", err)
}
