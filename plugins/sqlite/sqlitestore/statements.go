//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// In these files each parameter that a row is compared with stands in a CAST.
// SQLite compiles a statement again when the value of a bare one changes, to see
// if another plan is better, and go-sqlite3 clears all values before each use:
// every call would pay for it, several times what the call costs.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

// storeNow is SQLite's clock in Unix milliseconds. A half is added because the
// seconds are a float: cutting could lose a millisecond.
const storeNow = "CAST(unixepoch('subsec') * 1000 + 0.5 AS INTEGER)"

// sqlText reads an embedded file; now takes the place of $NOW.
func sqlText(name, now string) string {
	b, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return strings.ReplaceAll(string(b), "$NOW", now)
}

// statements are the prepared statements of one connection, run without a
// deadline: interrupting one could interrupt a commit.
type statements struct {
	all []*sql.Stmt
	err error
}

func (s *statements) prepare(conn *sql.Conn, what, text string) *sql.Stmt {
	stmt, err := conn.PrepareContext(context.Background(), text)
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("prepare %s: %w%s", what, err, changedTables(err))
		}
		return nil
	}
	s.all = append(s.all, stmt)
	return stmt
}

// changedTables says what it means that SQLite does not understand our SQL.
func changedTables(err error) string {
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrError {
		return fmt.Sprintf("; the tables are not those of format %d, someone changed them: restore the file from a backup", Format)
	}
	return ""
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// writing are the statements of the writer.
type writing struct {
	statements
	begin, commit, rollback            *sql.Stmt
	savepoint, release, back           *sql.Stmt
	job, unfinished, last, byToken     *sql.Stmt
	insertJob, updateJob               *sql.Stmt
	insertAttempt, updateAttempt, trim *sql.Stmt
}

func prepareWriting(conn *sql.Conn, now string) (*writing, error) {
	w := &writing{}
	file := func(name string) *sql.Stmt { return w.prepare(conn, name+".sql", sqlText(name, now)) }
	plain := func(text string) *sql.Stmt { return w.prepare(conn, text, text) }
	w.begin = plain("BEGIN IMMEDIATE")
	w.commit = plain("COMMIT")
	w.rollback = plain("ROLLBACK")
	w.savepoint = plain("SAVEPOINT item")
	w.release = plain("RELEASE item")
	w.back = plain("ROLLBACK TO item")
	w.job = file("job")
	w.unfinished = file("unfinished_of_job")
	w.last = file("last_attempt")
	w.byToken = file("by_token")
	w.insertJob = file("insert_job")
	w.updateJob = file("update_job")
	w.insertAttempt = file("insert_attempt")
	w.updateAttempt = file("update_attempt")
	w.trim = file("trim")
	if w.err != nil {
		return nil, errors.Join(w.err, w.close())
	}
	return w, nil
}
