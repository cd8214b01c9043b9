// Package load plays the busy and the idle hours of a service: several instances,
// each a process with a plugin of its own, against a real store.
//
//   - The minute boundary: thousands of jobs due at one slot on every instance.
//   - Idle: an instance that only watches; one with 100 000 jobs that wait.
//   - Soak: a constant load for a long time, after which nothing may have grown.
//
// Measurements are asked for by flags; docs/benchmarks.md has the commands and what
// they gave.
package load

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
	"github.com/anarchon-go/anarchon/plugins/redis/redisstore"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

var (
	backend   = flag.String("backend", "", "the store: redis, postgres or sqlite")
	instances = flag.Int("instances", 3, "how many instances, each a process with its plugin")
	jobs      = flag.Int("jobs", 10_000, "how many jobs are due at once")
	profiles  = flag.String("profiles", "", "a directory for CPU profiles of hosts and plugins during the load")
)

const (
	envHost  = "ANARCHON_LOAD_HOST"  // makes this binary an instance
	envWatch = "ANARCHON_LOAD_WATCH" // a directory where hosts and plugins leave their vital signs
)

func TestMain(m *testing.M) {
	role := "plugin"
	if os.Getenv(envHost) != "" {
		role = "host"
	}
	if dir := os.Getenv(envWatch); dir != "" {
		go watch(dir, role)
	}
	// The plugins are this binary too: nothing needs to be built.
	storekit.Embed(sqlitestore.New)
	storekit.Embed(redisstore.New)
	storekit.Embed(postgresstore.New)
	if role == "host" {
		if err := hostMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
