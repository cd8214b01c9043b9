// Command postgres is the plugin that keeps a service's jobs in a PostgreSQL
// database. Run it by hand to learn its options.
package main

import (
	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() { storekit.Serve(postgresstore.New) }
