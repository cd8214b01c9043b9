//go:build cgo

package sqlitestore

import (
	"database/sql"
	"slices"

	"github.com/mattn/go-sqlite3"

	"github.com/anarchon-go/anarchon/core/store"
)

// describe reads the settings that safety rests on from the connection that
// writes.
func describe(conn *sql.Conn, l location, set settings) (store.Description, error) {
	version, _, _ := sqlite3.Version()
	d := store.Description{
		Kind: store.KindLease, Memory: store.Memory{Forever: true}, Clock: store.ClockStore,
		Fenced: true, History: true,
		Product: "SQLite " + version, Format: Format,
		Warnings: slices.Clone(l.warnings),
		Settings: []store.Setting{
			{Name: "path", Value: l.path},
			{Name: "namespace", Value: set.namespace},
			{Name: "busyTimeout", Value: set.busy.String()},
			{Name: "file system", Value: l.kind.name},
		},
	}
	for _, name := range []string{
		"journal_mode", "synchronous", "fullfsync", "locking_mode", "page_size", "wal_autocheckpoint", "journal_size_limit", "encoding",
	} {
		value, err := pragma(conn, name)
		if err != nil {
			return store.Description{}, err
		}
		if name == "synchronous" && value == "2" {
			value = "FULL"
		}
		d.Settings = append(d.Settings, store.Setting{Name: name, Value: value})
	}
	return d, nil
}
