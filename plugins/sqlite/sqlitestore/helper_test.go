//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// testSettings are those of a fresh file.
func testSettings(t testing.TB) settings {
	return settings{path: filepath.Join(t.TempDir(), "jobs.db"), namespace: defaultNamespace, busy: defaultBusy}
}

// fastSettings are those of a fresh file in memory, where there is such a place:
// for tests of what is decided, not of what is kept.
func fastSettings(t testing.TB) settings {
	set := testSettings(t)
	if dir, err := os.MkdirTemp("/dev/shm", "sqlitestore"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		set.path = filepath.Join(dir, "jobs.db")
	}
	return set
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
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func testEnv(t testing.TB) storekit.Env {
	return storekit.Env{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// config checks options as the SDK does.
func config(t testing.TB, options map[string]any) storekit.Config {
	t.Helper()
	raw, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := storekit.ParseConfig(Info().Options, raw)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// raw opens the file beside the backend, as another program would.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", (&location{path: path}).uri("_busy_timeout=5000"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func query[T any](t testing.TB, db *sql.DB, text string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(text, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// clock is a store's clock that a test sets. It lies in a table of the file.
type clock struct {
	t   testing.TB
	db  *sql.DB
	now int64
}

func newClock(t testing.TB, path string, now int64) *clock {
	c := &clock{t: t, db: raw(t, path)}
	mustExec(t, c.db, "PRAGMA synchronous = OFF")
	mustExec(t, c.db, "CREATE TABLE IF NOT EXISTS test_clock (ms INTEGER NOT NULL)")
	mustExec(t, c.db, "INSERT INTO test_clock VALUES (?)", now)
	c.now = now
	return c
}

func (c *clock) set(now int64) {
	c.t.Helper()
	mustExec(c.t, c.db, "UPDATE test_clock SET ms = ?", now)
	c.now = now
}

func (c *clock) add(d time.Duration) { c.t.Helper(); c.set(c.now + ms(d)) }

func (c *clock) use(b *Backend) { b.now = "(SELECT ms FROM test_clock)" }

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

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
