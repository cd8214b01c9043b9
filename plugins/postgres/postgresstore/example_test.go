package postgresstore_test

import (
	"fmt"
	"strings"

	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
)

// A database whose owner runs all DDL himself: print the script, have it run by
// psql, and give the service a role without any right to change the schema.
func ExampleSetupSQL() {
	script, err := postgresstore.SetupSQL("anarchon", "billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "CREATE SCHEMA") || strings.HasPrefix(line, "GRANT") {
			fmt.Print(line)
		}
	}
	// Output:
	// CREATE SCHEMA IF NOT EXISTS "anarchon";
	// GRANT USAGE ON SCHEMA "anarchon" TO "billing";
	// GRANT SELECT ON "anarchon".meta TO "billing";
	// GRANT SELECT, INSERT, UPDATE ON "anarchon".job TO "billing";
	// GRANT SELECT, INSERT, UPDATE, DELETE ON "anarchon".attempt TO "billing";
	// GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA "anarchon" TO "billing";
}
