// Command tamper changes a store of plugin postgres past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/internal/tamper"
)

func main() { tamper.Main(open) }

type options struct{ URL, Schema, Namespace string }

type schema struct {
	conn      *pgx.Conn
	name      string
	namespace string
}

func open(ctx context.Context, o options) (tamper.Store, error) {
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // as PgBouncer wants it
	config.RuntimeParams["client_encoding"] = "UTF8"
	conn, err := pgx.ConnectConfig(ctx, config)
	return schema{conn, cmp.Or(o.Schema, "anarchon"), cmp.Or(o.Namespace, "default")}, err
}

func (s schema) Close() error { return s.conn.Close(context.Background()) }

func (s schema) Drop(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{s.name}.Sanitize()+" CASCADE")
	return err
}

func (s schema) Clear(ctx context.Context) error {
	tables, err := s.tables(ctx)
	if err != nil || len(tables) == 0 {
		return err
	}
	ours := " (SELECT id FROM " + s.table("job") + " WHERE namespace = $1)"
	for _, statement := range []string{
		"DELETE FROM " + s.table("attempt") + " WHERE job IN" + ours,
		"DELETE FROM " + s.table("job") + " WHERE id IN" + ours,
	} {
		if _, err := s.conn.Exec(ctx, statement, []byte(s.namespace)); err != nil {
			return err
		}
	}
	return nil
}

func (s schema) Newer(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, "UPDATE "+s.table("meta")+" SET value = (value::int + 1)::text WHERE key = 'format'")
	return err
}

// Unknown puts another value into each row: none may be lost.
func (s schema) Unknown(ctx context.Context) (lines []string, err error) {
	tables, err := s.tables(ctx)
	for _, table := range tables {
		name := s.table(table)
		if _, err := s.conn.Exec(ctx, "ALTER TABLE "+name+" ADD COLUMN later uuid; UPDATE "+name+" SET later = gen_random_uuid()"); err != nil {
			return nil, err
		}
		rows, err := s.column(ctx, "SELECT later::text FROM "+name)
		if err != nil {
			return nil, err
		}
		lines = append(lines, rows...)
	}
	return lines, err
}

// Dump writes a line for the schema, whoever made it, and one for each row of each
// table.
func (s schema) Dump(ctx context.Context) (lines []string, err error) {
	lines, err = s.column(ctx, "SELECT 'schema ' || nspname FROM pg_namespace WHERE nspname = $1", s.name)
	if err != nil {
		return nil, err
	}
	tables, err := s.tables(ctx)
	for _, table := range tables {
		rows, err := s.column(ctx, "SELECT t::text FROM "+s.table(table)+" t ORDER BY 1")
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			lines = append(lines, table+" "+row)
		}
	}
	return lines, err
}

func (s schema) table(name string) string { return pgx.Identifier{s.name, name}.Sanitize() }

func (s schema) tables(ctx context.Context) ([]string, error) {
	return s.column(ctx, "SELECT tablename::text FROM pg_tables WHERE schemaname = $1 ORDER BY 1", s.name)
}

// column returns the only column of a query.
func (s schema) column(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
