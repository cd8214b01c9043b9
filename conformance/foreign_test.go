package conformance

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/containers"
)

// A server that the suite did not start holds after a run what it held before.
func TestForeignServerIsLeftAsItWas(t *testing.T) {
	kitTest(t)
	if testing.Short() {
		t.Skip("starts servers")
	}
	for _, tc := range []struct {
		plugin  string
		spec    containers.Spec
		url     string     // what comes before the address and after it, apart by a *
		before  [][]string // what is there already
		list    []string   // all that the server holds
		holding string     // a part of that list
	}{
		{
			"redis", containers.Spec{Image: "redis-8.6", Port: 6379, Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes"}, Ready: "Ready to accept connections"},
			"redis://*", [][]string{{"redis-cli", "set", "anarchon:{default}:mine", "x"}},
			[]string{"redis-cli", "keys", "*"}, "anarchon:{default}:mine",
		}, {
			"postgres", containers.Spec{Image: "postgres-18", Port: 5432, Command: []string{"postgres", "-c", "max_connections=300"}, Env: map[string]string{"POSTGRES_PASSWORD": "x"}, Ready: "database system is ready to accept connections"},
			"postgres://postgres:x@*/postgres", [][]string{{"psql", "-U", "postgres", "-c", "CREATE TABLE mine (x int)"}},
			[]string{"psql", "-AtU", "postgres", "-c", "SELECT nspname, relname FROM pg_namespace n LEFT JOIN pg_class ON relnamespace = n.oid WHERE nspname !~ '^pg_|^information' ORDER BY 1, 2"}, "mine",
		}, {
			"nats", containers.Spec{Image: "nats-2.15", Port: 4222, Command: []string{"-js", "-sd", "/data"}, Ready: "Server is ready"},
			"nats://*", nil,
			[]string{"sh", "-c", "ls /data/jetstream/*/streams 2>/dev/null || true"}, "",
		}, {
			"rabbitmq", containers.Spec{Image: "rabbitmq-4.3", Port: 5672, Ready: "completed with"},
			"amqp://guest:guest@*/", nil,
			[]string{"rabbitmqctl", "-q", "list_queues", "name"}, "",
		},
	} {
		t.Run(tc.plugin, func(t *testing.T) {
			c, err := containers.Start(t.Context(), tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Remove()
			exec := func(command ...string) string {
				t.Helper()
				out, err := c.Exec(context.Background(), command...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			for _, command := range tc.before {
				exec(command...)
			}
			before := exec(tc.list...)
			if !strings.Contains(before, tc.holding) {
				t.Fatalf("the list of what there is lacks %q: %s", tc.holding, before)
			}
			url := strings.Replace(tc.url, "*", c.Addr(), 1)
			onForeign(t, tc.plugin, "url="+url)
			if after := exec(tc.list...); after != before {
				t.Errorf("the server held\n%s\nand after the suite holds\n%s", before, after)
			}
		})
	}
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		onForeign(t, "sqlite", "path="+filepath.Join(dir, "mine.db"))
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("after the suite there are %v, error %v", left, err)
		}
	})
}

// A store that was there before is not removed whole, although the plugin had nothing
// in it: somebody else has, or has made it for the plugin.
func TestForeignStoreIsNotDropped(t *testing.T) {
	kitTest(t)
	if testing.Short() {
		t.Skip("starts a server")
	}
	const checks = "(names|format)/(namespaces|newer)"
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "theirs.db")
		// An empty file is a database without tables.
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		runOnForeign(t, "plugins/sqlite", checks, "path="+path)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a file that was there before: %v", err)
		}
	})
	plugin, err := filepath.Abs("../plugins/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite, a relative path", func(t *testing.T) {
		t.Chdir(t.TempDir())
		runOnForeign(t, plugin, checks, "path=mine.db")
		if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
			t.Errorf("after the suite there are %v, error %v", left, err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		c, err := containers.Start(t.Context(), containers.Spec{Image: "postgres-18", Port: 5432, Env: map[string]string{"POSTGRES_PASSWORD": "x"}, Ready: "database system is ready to accept connections"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Remove()
		psql := func(command string) string {
			t.Helper()
			out, err := c.Exec(context.Background(), "psql", "-AtU", "postgres", "-c", command)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		psql("CREATE SCHEMA theirs CREATE TABLE nothing_yet (x int)")
		runOnForeign(t, "plugins/postgres", checks, "url=postgres://postgres:x@"+c.Addr()+"/postgres", "schema=theirs")
		if left := psql("SELECT to_regclass('theirs.nothing_yet')"); left != "theirs.nothing_yet\n" {
			t.Errorf("a table in the schema that the user named is gone: %q", left)
		}
	})
}

// onForeign runs what leaves most behind: names, namespaces, stores set up anew.
func onForeign(t *testing.T, plugin, option string) {
	t.Helper()
	out := runOnForeign(t, "plugins/"+plugin, "(names|format|claim)/", option)
	lacks(t, out, "pass     format/set-up-at-once")
}

func runOnForeign(t *testing.T, plugin, checks string, options ...string) string {
	t.Helper()
	args := []string{"-plugin", plugin, "-test.run", "TestConformance/" + checks}
	for _, o := range options {
		args = append(args, "-config", o)
	}
	out, exit := typed(t, args...)
	if exit != 0 {
		t.Errorf("exit status %d\n%s", exit, out)
	}
	lacks(t, out, "pass     names/namespaces")
	return out
}
