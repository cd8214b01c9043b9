package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/conformance/containers"
)

// server is a store under load, looked at from its own side.
type server struct {
	plugin pluginConfig
	cpu    func() time.Duration        // of the server so far; nil if it has no process of its own
	ops    func() map[string]operation // what it did so far, by its own count
	size   func() map[string]int64     // what its data take
	tidy   func()                      // what the server does by itself once a minute; nil for nothing
	read   func(from, to int)          // the least read that tells of these jobs' newest slots; nil if none is known
}

// operation is one kind of what a server does.
type operation struct {
	n    int64
	took time.Duration // altogether, if the server counts it
}

// newServer starts the server of a backend; it is removed with the test.
func newServer(t *testing.T, backend string) server {
	t.Helper()
	switch backend {
	case "redis":
		return newRedis(t)
	case "postgres":
		return newPostgres(t)
	case "sqlite":
		return newSQLite(t)
	}
	t.Fatalf("-backend=%q; it must be redis, postgres or sqlite", backend)
	return server{}
}

func start(t *testing.T, spec containers.Spec) *containers.Container {
	t.Helper()
	c, err := containers.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// containerCPU reads the processor time of a container from its control group, of
// either version.
func containerCPU(t *testing.T, c *containers.Container) time.Duration {
	t.Helper()
	out, err := c.Exec(t.Context(), "sh", "-c", "cat /sys/fs/cgroup/cpuacct/cpuacct.usage 2>/dev/null || sed -n 's/usage_usec //p' /sys/fs/cgroup/cpu.stat | sed 's/$/000/'")
	if err != nil {
		t.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		t.Fatalf("processor time of the container: %v", err)
	}
	return time.Duration(ns)
}

// newRedis has the settings that docs/redis.md asks for: nothing acknowledged is lost.
func newRedis(t *testing.T) server {
	c := start(t, containers.Spec{
		Image:   "redis-8.6",
		Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes", "--appendfsync", "always"},
		Port:    6379, Ready: "Ready to accept connections",
	})
	client := goredis.NewClient(&goredis.Options{Addr: c.Addr()})
	t.Cleanup(func() { client.Close() })
	info := func(section string) string {
		text, err := client.Info(context.Background(), section).Result()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return server{
		plugin: pluginConfig{Name: "redis", Config: map[string]any{"url": "redis://" + c.Addr(), "strategy": "lease"}},
		cpu:    func() time.Duration { return containerCPU(t, c) },
		ops: func() map[string]operation {
			ops := map[string]operation{}
			for line := range strings.Lines(info("commandstats")) { // cmdstat_evalsha:calls=1,usec=2,…
				name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
				if !ok {
					continue
				}
				var n, usec int64
				if _, err := fmt.Sscanf(rest, "%d,usec=%d,", &n, &usec); err != nil {
					t.Fatalf("commandstats: %q: %v", line, err)
				}
				ops[name] = operation{n, time.Duration(usec) * time.Microsecond}
			}
			return ops
		},
		read: func(from, to int) {
			_, err := client.Pipelined(context.Background(), func(p goredis.Pipeliner) error {
				for i := from; i < to; i++ {
					p.HGet(context.Background(), "anarchon:{default}:job:"+burstJob(i), "state")
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		size: func() map[string]int64 {
			keys, err := client.DBSize(context.Background()).Result()
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(info("memory"), "used_memory_dataset:")
			digits, _, _ := strings.Cut(rest, "\r")
			data, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return map[string]int64{"keys": keys, "bytes of data": data}
		},
	}
}

// newPostgres has PostgreSQL's own settings, and counts statements.
func newPostgres(t *testing.T) server {
	c := start(t, containers.Spec{
		Image:   "postgres-18",
		Command: []string{"postgres", "-c", "shared_preload_libraries=pg_stat_statements", "-c", "max_connections=300"},
		Env:     map[string]string{"POSTGRES_PASSWORD": "load"},
		Port:    5432, Ready: "database system is ready to accept connections",
	})
	url := "postgres://postgres:load@" + c.Addr() + "/postgres"
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), "CREATE EXTENSION pg_stat_statements"); err != nil {
		t.Fatal(err)
	}
	return server{
		plugin: pluginConfig{Name: "postgres", Config: map[string]any{"url": url}},
		cpu:    func() time.Duration { return containerCPU(t, c) },
		ops: func() map[string]operation {
			rows, err := conn.Query(context.Background(), `
				SELECT query, sum(calls)::bigint, (1e6 * sum(total_exec_time))::bigint FROM pg_stat_statements GROUP BY query
				UNION ALL SELECT 'transactions', xact_commit + xact_rollback, 0 FROM pg_stat_database WHERE datname = current_database()
				UNION ALL SELECT 'bytes of WAL', wal_bytes::bigint, 0 FROM pg_stat_wal`)
			if err != nil {
				t.Fatal(err)
			}
			ops := map[string]operation{}
			var query string
			var n, ns int64
			_, err = pgx.ForEachRow(rows, []any{&query, &n, &ns}, func() error {
				name := shortQuery(query)
				o := ops[name]
				ops[name] = operation{o.n + n, o.took + time.Duration(ns)}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return ops
		},
		tidy: func() { // as autovacuum does, which also makes the server plan its queries anew
			if _, err := conn.Exec(context.Background(), "VACUUM ANALYZE anarchon.job, anarchon.attempt"); err != nil {
				t.Fatal(err)
			}
		},
		read: func(from, to int) {
			names := make([][]byte, 0, to-from)
			for i := from; i < to; i++ {
				names = append(names, []byte(burstJob(i)))
			}
			var n int
			err := conn.QueryRow(context.Background(), `
				SELECT count((SELECT j.newest FROM anarchon.job AS j WHERE j.namespace = 'default' AND j.name = q.name)) FROM unnest($1::bytea[]) AS q (name)`, names).Scan(&n)
			if err != nil || n != to-from {
				t.Fatalf("%d jobs of %d: %v", n, to-from, err)
			}
		},
		size: func() map[string]int64 {
			var bytes, attempts int64
			err := conn.QueryRow(context.Background(), `SELECT pg_database_size(current_database()), (SELECT count(*) FROM anarchon.attempt)`).Scan(&bytes, &attempts)
			if err != nil {
				t.Fatal(err)
			}
			return map[string]int64{"bytes of the database": bytes, "attempts": attempts}
		},
	}
}

// shortQuery names a statement by the function that it calls, or by its first words.
func shortQuery(q string) string {
	words := strings.Fields(q)
	for _, w := range words {
		if name, _, ok := strings.Cut(w, "_v1("); ok {
			return name
		}
	}
	return strings.Join(words[:min(4, len(words))], " ")
}

func newSQLite(t *testing.T) server {
	file := filepath.Join(t.TempDir(), "jobs.db")
	return server{
		plugin: pluginConfig{Name: "sqlite", Config: map[string]any{"path": file}},
		ops:    func() map[string]operation { return nil },
		size: func() map[string]int64 {
			size := map[string]int64{}
			for _, suffix := range []string{"", "-wal"} {
				if info, err := os.Stat(file + suffix); err == nil {
					size["bytes of jobs.db"+suffix] = info.Size()
				}
			}
			return size
		},
	}
}
