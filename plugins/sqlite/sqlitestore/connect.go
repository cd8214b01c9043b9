//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// walLimit bounds the -wal file that lies around after a checkpoint, in bytes.
// A checkpoint is made every 1000 pages (4 MiB), SQLite's default.
const walLimit = 8 << 20

// SQLite versions that matter here, as sqlite3_libversion_number tells them.
const (
	withSubsec   = 3_042_000 // unixepoch('subsec')
	withWALReset = 3_051_003 // the fix of a bug that damages files which two connections write
)

// connectWriter opens the connection that writes, asserts what the promises
// rest on, and makes our tables if they are not there. SQLITE_BUSY is the
// caller's to wait for.
func connectWriter(l location, mode string) (*sql.DB, *sql.Conn, error) {
	// Without its mutex: the writer's turn is one.
	db, conn, err := connect(l, "mode="+mode+"&_busy_timeout=0&_synchronous=FULL&_mutex=no")
	if err != nil {
		return nil, nil, err
	}
	if err := prepareFile(conn); err != nil {
		return nil, nil, errors.Join(err, conn.Close(), db.Close())
	}
	return db, conn, nil
}

func prepareFile(conn *sql.Conn) error {
	// First of all: a newer format must not be touched, and the journal mode is
	// in the file.
	format, err := readFormat(conn)
	if err != nil {
		return err
	}
	if err := useWAL(conn); err != nil {
		return err
	}
	if format == noFormat {
		return setUp(conn)
	}
	return tryWrite(conn)
}

// tryWrite finds out if the file can be written: SQLite opens one that can't be
// for reading, without a word, and even BEGIN IMMEDIATE does then. No row has
// that key, so nothing is written.
func tryWrite(conn *sql.Conn) error {
	_, err := conn.ExecContext(context.Background(), "UPDATE anarchon_meta SET value = value WHERE key = ''")
	return wrap("write", err)
}

func connect(l location, params string) (*sql.DB, *sql.Conn, error) {
	db, err := sql.Open("sqlite3", l.uri(params))
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(context.Background())
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, conn, nil
}

// useWAL switches the file to a write-ahead log, in which readers and the
// writer don't wait for each other, and asserts that a commit is on the disk
// before it is told.
func useWAL(conn *sql.Conn) error {
	if err := expect(conn, "journal_mode = WAL", "wal"); err != nil {
		return err
	}
	for _, p := range []string{
		"fullfsync = 1", // macOS: fsync alone leaves data in the drive's cache
		"checkpoint_fullfsync = 1",
		fmt.Sprintf("journal_size_limit = %d", walLimit),
	} {
		if _, err := pragma(conn, p); err != nil {
			return err
		}
	}
	// go-sqlite3's own default is NORMAL: after a power loss the last commits
	// may be undone, and their slots granted again.
	return expect(conn, "synchronous", "2")
}

func expect(conn *sql.Conn, name, want string) error {
	got, err := pragma(conn, name)
	if err == nil && got != want {
		err = fmt.Errorf("PRAGMA %s answered %q; it must be %q: is the file on a disk where SQLite can share memory?", name, got, want)
	}
	return err
}

// pragma runs a PRAGMA and returns its answer, empty if it gives none.
func pragma(conn *sql.Conn, text string) (string, error) {
	var value string
	err := conn.QueryRowContext(context.Background(), "PRAGMA "+text).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("PRAGMA %s: %w", text, err)
	}
	return value, nil
}

// checkLibrary looks at the SQLite that this program carries: its own one,
// unless it was built with the tag libsqlite3.
func checkLibrary() (warning string, err error) {
	version, number, _ := sqlite3.Version()
	switch {
	case number < withSubsec:
		return "", fmt.Errorf("SQLite %s has no clock in milliseconds; it must be 3.42.0 or newer: build without the tag libsqlite3", version)
	case number < withWALReset:
		return fmt.Sprintf("SQLite %s has a bug that can damage a file which several processes write, fixed in 3.51.3: build without the tag libsqlite3", version), nil
	}
	return "", nil
}
