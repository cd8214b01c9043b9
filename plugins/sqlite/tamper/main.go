//go:build cgo

// Command tamper changes a store of plugin sqlite past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	_ "github.com/mattn/go-sqlite3"
)

func main() {
	if err := run(os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, "tamper:", err)
		os.Exit(1)
	}
}

func run(what string) error {
	var options struct{ Path string }
	if err := json.NewDecoder(os.Stdin).Decode(&options); err != nil {
		return err
	}
	db, err := sql.Open("sqlite3", "file:"+options.Path+"?mode=rw")
	if err != nil {
		return err
	}
	defer db.Close()
	tables, err := column(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'anarchon%' ORDER BY name")
	if err != nil {
		return err
	}
	switch what {
	case "newer":
		_, err = db.Exec("UPDATE anarchon_meta SET value = value + 1 WHERE key = 'format'")
		return err
	case "unknown":
		for _, table := range tables {
			// Another value in each row: none may be lost.
			if _, err := db.Exec(fmt.Sprintf("ALTER TABLE %s ADD COLUMN later TEXT; UPDATE %s SET later = hex(randomblob(8))", table, table)); err != nil {
				return err
			}
			values, err := column(db, "SELECT later FROM "+table)
			if err != nil {
				return err
			}
			for _, later := range values {
				fmt.Println(later)
			}
		}
		return nil
	case "dump":
		for _, table := range tables {
			if err := dump(db, table); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%q is none of dump, unknown and newer", what)
}

// dump writes a line for each row of a table.
func dump(db *sql.DB, table string) error {
	columns, err := column(db, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+table+"') ORDER BY cid")
	if err != nil {
		return err
	}
	rows, err := column(db, "SELECT "+strings.Join(columns, " || ' ' || ")+" FROM "+table+" ORDER BY 1")
	for _, row := range rows {
		fmt.Println(table, row)
	}
	return err
}

// column returns the only column of a query.
func column(db *sql.DB, query string) (values []string, err error) {
	rows, err := db.Query(query)
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
