package postgresstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// testSettings are those of a fresh schema on the shared server.
func testSettings(t testing.TB) settings {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return settingsOn(t, server)
}

// settingsOn are those of a fresh schema on a server, dropped with the test.
func settingsOn(t testing.TB, server string) settings {
	set := settings{
		url: server, schema: "t-" + strings.ToLower(rand.Text()[:12]), namespace: defaultNamespace, poolSize: 4, heartbeatPoolSize: 2,
		connectTimeout: 10 * time.Second, callTimeout: 20 * time.Second, maxConnLifetime: time.Hour,
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			return // the test took the server away
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+quoteName(set.schema)+" CASCADE"); err != nil && sqlState(err) != readOnly {
			t.Errorf("drop the schema: %v", err)
		}
	})
	return set
}

// withURL changes parts of the settings' url.
func (s settings) withURL(t testing.TB, change func(*url.URL)) settings {
	t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	s.url = u.String()
	return s
}

// open opens a backend that is closed with the test; change bends it before.
func open(t testing.TB, set settings, change ...func(*Backend)) *Backend {
	t.Helper()
	b := newBackend(testEnv(t))
	for _, f := range change {
		f(b)
	}
	if err := b.open(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// tryOpen opens and, if that works, closes.
func tryOpen(t testing.TB, set settings) error {
	t.Helper()
	b := newBackend(testEnv(t))
	err := b.open(t.Context(), set)
	if err == nil {
		err = b.Close(context.Background())
	}
	return err
}

func testEnv(t testing.TB) storekit.Env {
	return storekit.Env{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// config checks options as the SDK does.
func config(t testing.TB, options map[string]any) storekit.Config {
	t.Helper()
	cfg, err := storekit.ParseConfig(Info().Options, jsonOf(t, options))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// admin is another program on the server, with all rights, that finds the
// settings' schema first.
type admin struct {
	t    testing.TB
	pool *pgxpool.Pool
}

func newAdmin(t testing.TB, set settings) *admin {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(set.url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.ConnConfig.RuntimeParams["search_path"] = quoteName(set.schema) + ", public"
	cfg.ConnConfig.RuntimeParams["application_name"] = "admin"
	cfg.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &admin{t, pool}
}

func (a *admin) exec(query string, args ...any) {
	a.t.Helper()
	if _, err := a.pool.Exec(a.t.Context(), query, args...); err != nil {
		a.t.Fatalf("%s: %v", query, err)
	}
}

func get[T any](a *admin, query string, args ...any) T {
	a.t.Helper()
	var v T
	if err := a.pool.QueryRow(a.t.Context(), query, args...).Scan(&v); err != nil {
		a.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// await waits for a condition, generously for a busy machine.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute in vain for: %s", what)
		}
	}
}

// clock is a store's clock that a test sets. It lies in a table of the schema,
// and is used by functions that were made with it: in no other schema.
type clock struct {
	*admin
	schema string
	now    int64
}

func newClock(t testing.TB, set settings, now int64) *clock {
	t.Helper()
	c := &clock{admin: newAdmin(t, set), schema: set.schema, now: now}
	c.exec("CREATE SCHEMA " + quoteName(set.schema))
	c.exec("CREATE TABLE test_clock (ms bigint NOT NULL)")
	c.exec("INSERT INTO test_clock VALUES ($1)", now)
	return c
}

func (c *clock) set(now int64) {
	c.t.Helper()
	c.exec("UPDATE test_clock SET ms = $1", now)
	c.now = now
}

func (c *clock) add(d time.Duration) { c.t.Helper(); c.set(c.now + ms(d)) }

func (c *clock) use(b *Backend) {
	b.now = fmt.Sprintf("(SELECT ms FROM %s.test_clock)", quoteName(c.schema))
}

const noon = 1_790_000_000_000 // some noon, Unix milliseconds

// claimOf is a claim that wins on a fresh store whose clock shows the slot.
func claimOf(job string, slot int64) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: slot, ID: store.NewClaimID(), Instance: "a", Reason: store.ReasonScheduled,
		Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
}

func mustClaim(t testing.TB, b *Backend, q store.ClaimRequest, want store.Verdict) store.ClaimAnswer {
	t.Helper()
	a, err := b.Claim(t.Context(), q)
	if err != nil {
		t.Fatalf("claim %q %d: %v", q.Job, q.Slot, err)
	}
	if a.Verdict != want {
		t.Fatalf("claim %q %d = %+v; want %v", q.Job, q.Slot, a, want)
	}
	return a
}

func mustRenew(t testing.TB, b *Backend, q store.HeartbeatRequest) store.HeartbeatAnswer {
	t.Helper()
	a, err := b.Heartbeat(t.Context(), q)
	if err != nil || !a.Renewed {
		t.Fatalf("heartbeat %q %d = %+v, %v", q.Job, q.Slot, a, err)
	}
	return a
}

func mustFinish(t testing.TB, b *Backend, q store.FinishRequest, want bool) {
	t.Helper()
	a, err := b.Finish(t.Context(), q)
	if err != nil || a.Recorded != want {
		t.Fatalf("finish %q %d = %+v, %v; want recorded %v", q.Job, q.Slot, a, err, want)
	}
}

func history(t testing.TB, b *Backend, job string) []store.Attempt {
	t.Helper()
	a, err := b.History(t.Context(), store.HistoryRequest{Job: job, Limit: store.MaxHistory})
	if err != nil {
		t.Fatal(err)
	}
	return a.Attempts
}

// checkTables compares what is stored twice.
func checkTables(a *admin) {
	a.t.Helper()
	const runIsUnfinished = "EXISTS (SELECT FROM attempt u WHERE u.job = a.job AND u.slot = a.slot AND u.unfinished)"
	for what, query := range map[string]string{
		"jobs that miscount their ended runs": `
			SELECT count(*) FROM job j WHERE ended <> (
				SELECT count(DISTINCT slot) FROM attempt a WHERE a.job = j.id AND NOT ` + runIsUnfinished + `)`,
		"jobs with an ended run older than the oldest": `
			SELECT count(*) FROM job j WHERE EXISTS (
				SELECT FROM attempt a WHERE a.job = j.id AND a.slot < coalesce(j.oldest, a.slot + 1) AND NOT ` + runIsUnfinished + `)`,
		"jobs that don't know their first unfinished run": `
			SELECT count(*) FROM job j WHERE unfinished_from IS DISTINCT FROM (
				SELECT min(slot) FROM attempt a WHERE a.job = j.id AND a.unfinished)`,
		"jobs with an attempt newer than the newest": `
			SELECT count(*) FROM job j WHERE coalesce(newest, 0) < (SELECT max(slot) FROM attempt a WHERE a.job = j.id)`,
		"jobs with a greater token than the last": `
			SELECT count(*) FROM job j WHERE last_token < (SELECT max(token) FROM attempt a WHERE a.job = j.id)`,
		"unfinished attempts that are not their run's last": `
			SELECT count(*) FROM attempt a WHERE unfinished AND EXISTS (
				SELECT FROM attempt l WHERE l.job = a.job AND l.slot = a.slot AND l.attempt > a.attempt)`,
		"attempts that end in no way": `
			SELECT count(*) FROM attempt WHERE (status = 'running') <> (ended_at = 0)`,
		"open attempts of runs that ended": `
			SELECT count(*) FROM attempt WHERE status = 'running' AND NOT unfinished`,
		"attempts without a job": `
			SELECT count(*) FROM attempt WHERE job NOT IN (SELECT id FROM job)`,
	} {
		if n := get[int](a, query); n != 0 {
			a.t.Errorf("%d %s", n, what)
		}
	}
}
