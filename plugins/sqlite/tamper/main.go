//go:build cgo

// Command tamper changes a store of plugin sqlite past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	_ "github.com/mattn/go-sqlite3"

	"github.com/anarchon-go/anarchon/internal/tamper"
)

func main() {
	tamper.Main(func(_ context.Context, options struct{ Path, Namespace string }) (tamper.Store, error) {
		db, err := sql.Open("sqlite3", "file:"+options.Path+"?mode=rw&_busy_timeout=5000")
		return file{db, options.Path, cmp.Or(options.Namespace, "default")}, err
	})
}

type file struct {
	*sql.DB
	path, namespace string
}

// Drop removes the file and what lies beside it.
func (f file) Drop(context.Context) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(f.path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f file) Clear(ctx context.Context) error {
	tables, err := f.tables(ctx)
	if err != nil || len(tables) == 0 {
		return err
	}
	const ours = " IN (SELECT id FROM anarchon_job WHERE namespace = ?)"
	for _, statement := range []string{"DELETE FROM anarchon_attempt WHERE job" + ours, "DELETE FROM anarchon_job WHERE id" + ours} {
		if _, err := f.ExecContext(ctx, statement, []byte(f.namespace)); err != nil {
			return err
		}
	}
	return nil
}

func (f file) Newer(ctx context.Context) error {
	_, err := f.ExecContext(ctx, "UPDATE anarchon_meta SET value = value + 1 WHERE key = 'format'")
	return err
}

// Damage makes of one attempt after the other what no version writes. That it is
// unfinished is left, so that the plugin can't help reading it.
func (f file) Damage(ctx context.Context) (lines []string, err error) {
	const of = " FROM anarchon_attempt WHERE job IN (SELECT id FROM anarchon_job WHERE namespace = ?)"
	var n int
	if err := f.QueryRowContext(ctx, "SELECT count(*)"+of, []byte(f.namespace)).Scan(&n); err != nil {
		return nil, err
	}
	damages := []string{"status = 'nonsense'", "claim = x'00'", "lease = 0", "overlap = ''", "reason = 'because'", "handed_over = 7", "attempt = -attempt"}
	for i := range n {
		damage := damages[i%len(damages)]
		_, err := f.ExecContext(ctx, "UPDATE anarchon_attempt SET "+damage+
			" WHERE (job, slot, abs(attempt)) IN (SELECT job, slot, abs(attempt)"+of+" ORDER BY job, slot, abs(attempt) LIMIT 1 OFFSET ?)", []byte(f.namespace), i)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("attempt %d: %s", i, damage))
	}
	return lines, nil
}

// Unknown puts another value into each row: none may be lost.
func (f file) Unknown(ctx context.Context) (lines []string, err error) {
	tables, err := f.tables(ctx)
	for _, table := range tables {
		if _, err := f.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s ADD COLUMN later TEXT; UPDATE %s SET later = hex(randomblob(8))", table, table)); err != nil {
			return nil, err
		}
		values, err := f.column(ctx, "SELECT later FROM "+table)
		if err != nil {
			return nil, err
		}
		lines = append(lines, values...)
	}
	return lines, err
}

// Dump writes a line for the file, whoever made it, and one for each row of each table.
func (f file) Dump(ctx context.Context) (lines []string, err error) {
	if _, err := os.Lstat(f.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	lines = []string{"file " + f.path}
	tables, err := f.tables(ctx)
	for _, table := range tables {
		columns, err := f.column(ctx, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+table+"') ORDER BY cid")
		if err != nil {
			return nil, err
		}
		rows, err := f.column(ctx, "SELECT "+strings.Join(columns, " || ' ' || ")+" FROM "+table+" ORDER BY 1")
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			lines = append(lines, table+" "+row)
		}
	}
	return lines, err
}

func (f file) tables(ctx context.Context) ([]string, error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f.column(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'anarchon%' ORDER BY name")
}

// column returns the only column of a query.
func (f file) column(ctx context.Context, query string) (values []string, err error) {
	rows, err := f.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		values = append(values, s)
	}
	return values, rows.Err()
}
