package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/conformance/containers"
)

const password = "peers"

func postgresURL(addr string) string {
	return "postgres://postgres:" + password + "@" + addr + "/postgres"
}

// specs are the servers. Both acknowledge nothing that they could lose: a lost claim is a run done twice.
var specs = map[string]containers.Spec{
	"redis": {
		Image: "redis-8.6", Port: 6379, Ready: "Ready to accept connections",
		Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes", "--appendfsync", "always"},
	},
	"postgres": {
		Image: "postgres-18", Port: 5432, Ready: "database system is ready to accept connections",
		Command: []string{"postgres", "-c", "max_connections=300", "-c", "shared_preload_libraries=pg_stat_statements"},
		Env:     map[string]string{"POSTGRES_PASSWORD": password},
	},
}

// server is a store under measurement.
type server struct {
	*containers.Container
	kind  string
	redis *redis.Client
}

// serve starts a fresh server.
func serve(ctx context.Context, kind string) (*server, error) {
	c, err := containers.Start(ctx, specs[kind])
	if err != nil {
		return nil, err
	}
	s := &server{Container: c, kind: kind}
	switch kind {
	case "redis":
		s.redis = redis.NewClient(&redis.Options{Addr: c.Addr()})
	case "postgres":
		if err = s.sql(ctx, func(db *pgx.Conn) error {
			_, err := db.Exec(ctx, "CREATE EXTENSION pg_stat_statements")
			return err
		}); err == nil {
			err = migrateRiver(ctx, c.Addr())
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) close() error {
	if s.redis != nil {
		s.redis.Close()
	}
	return s.Remove()
}

func (s *server) sql(ctx context.Context, f func(*pgx.Conn) error) error {
	db, err := pgx.Connect(ctx, postgresURL(s.Addr()))
	if err != nil {
		return err
	}
	defer db.Close(ctx)
	return f(db)
}

// load is what a server has done since it started.
type load struct {
	calls int64 // commands, those inside of scripts too; statements
	trips int64 // reads of requests from sockets; statements
	cpu   time.Duration
}

func (l load) minus(m load) load { return load{l.calls - m.calls, l.trips - m.trips, l.cpu - m.cpu} }

// load asks the server. What the asking itself adds is the same each time, and small.
func (s *server) load(ctx context.Context) (l load, err error) {
	switch s.kind {
	case "redis":
		var info string
		if info, err = s.redis.Info(ctx, "stats", "commandstats").Result(); err == nil {
			l.calls, l.trips, err = parseCommands(info)
		}
	case "postgres":
		err = s.sql(ctx, func(db *pgx.Conn) error {
			return db.QueryRow(ctx, "SELECT sum(calls)::bigint FROM pg_stat_statements WHERE toplevel").Scan(&l.calls)
		})
		l.trips = l.calls // the drivers prepare each once
	}
	if err != nil {
		return load{}, err
	}
	// The control group of the container, of either version.
	used, err := s.Exec(ctx, "sh", "-c", "cat /sys/fs/cgroup/cpuacct/cpuacct.usage 2>/dev/null || sed -n 's/usage_usec //p' /sys/fs/cgroup/cpu.stat | sed 's/$/000/'")
	if err != nil {
		return load{}, err
	}
	l.cpu, err = parseCPU(used)
	return l, err
}

// parseCPU reads nanoseconds.
func parseCPU(used string) (time.Duration, error) {
	ns, err := strconv.ParseInt(strings.TrimSpace(used), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("processor time of the container: %w", err)
	}
	return time.Duration(ns), nil
}

// parseCommands counts the commands that were executed, those inside of scripts too, and the reads from sockets.
func parseCommands(info string) (calls, reads int64, err error) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		var into *int64
		switch name {
		case "total_commands_processed":
			into = &calls
		case "total_reads_processed":
			into = &reads
		default:
			continue
		}
		if *into, err = strconv.ParseInt(value, 10, 64); err != nil {
			return 0, 0, err
		}
	}
	if calls == 0 || reads == 0 {
		return 0, 0, fmt.Errorf("INFO lacks total_commands_processed or total_reads_processed: %q", info)
	}
	return calls, reads, nil
}
