//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/mattn/go-sqlite3"

	"github.com/anarchon-go/anarchon/core/store"
)

// noFormat is the format of a file without our tables.
const noFormat = 0

// The format lies in a table of our own, not in PRAGMA user_version or
// application_id: those are the service's, if the file is.
const (
	haveMeta  = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'anarchon_meta'"
	getFormat = "SELECT value FROM anarchon_meta WHERE key = 'format'"
)

// readFormat returns the format that is recorded, noFormat if there are no
// tables of ours, and an error if it is none that this version knows.
func readFormat(conn *sql.Conn) (int, error) {
	ctx := context.Background()
	var tables int
	if err := conn.QueryRowContext(ctx, haveMeta).Scan(&tables); err != nil {
		return 0, wrap("look for the format", err)
	}
	if tables == 0 {
		return noFormat, nil
	}
	var text string
	switch err := conn.QueryRowContext(ctx, getFormat).Scan(&text); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, errors.New("table anarchon_meta records no format: it was changed by hand or by another program; restore the file from a backup")
	case err != nil:
		return 0, wrap("read the format", err)
	}
	switch format, err := strconv.Atoi(text); {
	case err != nil || format < 1:
		return 0, fmt.Errorf("table anarchon_meta records format %.40q; it must be a number from 1: restore the file from a backup", text)
	case format > Format:
		return 0, fmt.Errorf("%w: the file has format %d, plugin sqlite %s knows 1 to %d; upgrade this instance", store.ErrStoreFormat, format, Version, Format)
	default:
		return format, nil
	}
}

// peek looks at a file without touching anything. It fails if the format is newer, or
// if there is nothing and it must not be made: all else is found by who opens it for
// good. On a cleanly closed file it reads as from a read-only disk, because SQLite
// would leave new side files behind; nobody else has such a file open.
func peek(l location, create bool) error {
	if !l.exists {
		if !create {
			return errors.New("there is no such file, and create=false forbids to make one; look for a slip in path, or start the service that makes it")
		}
		return nil
	}
	params := "mode=ro&_busy_timeout=0"
	if !l.hasWAL() {
		params += "&immutable=1"
	}
	db, conn, err := connect(l, params)
	if err == nil {
		var format int
		format, err = readFormat(conn)
		err = errors.Join(err, conn.Close(), db.Close())
		if err == nil && format == noFormat && !create {
			return errors.New("no anarchon service has used this file, and create=false forbids to make its tables; look for a slip in path")
		}
	}
	if errors.Is(err, store.ErrStoreFormat) || isBusy(err) {
		return err
	}
	return nil
}

// setUp makes the tables, unless another process was faster.
func setUp(conn *sql.Conn) error {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := makeTables(conn)
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // else closing does it: the caller drops the connection
	}
	return wrap("make the tables", err)
}

func makeTables(conn *sql.Conn) error {
	format, err := readFormat(conn)
	if err != nil || format != noFormat {
		return err
	}
	_, err = conn.ExecContext(context.Background(), sqlText("schema", ""))
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrError {
		return fmt.Errorf("the file records no format, but %w: tables or indexes named anarchon_… of another program, or the remains of a damaged set-up, are in the way; restore the file from a backup or name another one", err)
	}
	return err
}
