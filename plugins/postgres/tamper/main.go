// Command tamper changes a store of plugin postgres past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "tamper:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, what string) error {
	var options struct{ URL, Schema string }
	if err := json.NewDecoder(os.Stdin).Decode(&options); err != nil {
		return err
	}
	config, err := pgx.ParseConfig(options.URL)
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // as PgBouncer wants it
	config.RuntimeParams["client_encoding"] = "UTF8"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.Background())
	schema := pgx.Identifier{options.Schema}.Sanitize()
	if what == "newer" {
		_, err := conn.Exec(ctx, "UPDATE "+schema+".meta SET value = (value::int + 1)::text WHERE key = 'format'")
		return err
	}
	tables, err := column(ctx, conn, "SELECT tablename::text FROM pg_tables WHERE schemaname = $1 ORDER BY 1", options.Schema)
	if err != nil {
		return err
	}
	for _, table := range tables {
		name := schema + "." + pgx.Identifier{table}.Sanitize()
		query := "SELECT t::text FROM " + name + " t ORDER BY 1"
		switch what {
		case "dump":
		case "unknown":
			// Another value in each row: none may be lost.
			if _, err := conn.Exec(ctx, "ALTER TABLE "+name+" ADD COLUMN later uuid; UPDATE "+name+" SET later = gen_random_uuid()"); err != nil {
				return err
			}
			query = "SELECT later::text FROM " + name
		default:
			return fmt.Errorf("%q is none of dump, unknown and newer", what)
		}
		rows, err := column(ctx, conn, query)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if what == "dump" {
				row = table + " " + row
			}
			fmt.Println(row)
		}
	}
	return nil
}

// column returns the only column of a query.
func column(ctx context.Context, conn *pgx.Conn, query string, args ...any) ([]string, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
