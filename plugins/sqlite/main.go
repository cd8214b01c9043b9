//go:build cgo

// Command sqlite is the plugin that keeps a service's jobs in a SQLite file.
// Run it by hand to learn its options.
package main

import (
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() { storekit.Serve(sqlitestore.New) }
