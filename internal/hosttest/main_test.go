// Package hosttest tests the plugin host as services use it: with real plugins,
// under core, in processes that are signalled and killed.
package hosttest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/plugins/redis/redisstore"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

var full = flag.Bool("full", false, "static builds of all plugins; a thousand kills instead of fifty")

// envRole makes this test binary something else.
const envRole = "HOSTTEST_ROLE"

// roles are what this test binary can be besides; each returns its exit code.
var roles = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	// The plugins are this binary too: nothing needs to be built, and everything is
	// built alike, with the race detector or without.
	storekit.Embed(sqlitestore.New)
	storekit.Embed(redisstore.New)
	if role := os.Getenv(envRole); role != "" {
		os.Exit(roles[role](os.Args[1:]))
	}
	os.Exit(m.Run())
}

// patience is how long tests wait for what happens within a second on a quiet
// machine.
const patience = 30 * time.Second

// sqlite is the SQLite plugin with a file.
func sqlite(file string) storekit.Plugin {
	return storekit.Plugin{
		Name:   "sqlite",
		Config: map[string]any{"path": file},
		Env:    []string{"GORACE=atexit_sleep_ms=0"},
	}
}

// newFile is a file for a database of the test's own.
func newFile(t testing.TB) string { return filepath.Join(t.TempDir(), "jobs.db") }

func open(t testing.TB, p storekit.Plugin) *storekit.Client {
	t.Helper()
	if p.Logger == nil {
		p.Logger = testLogger(t)
	}
	c, err := storekit.Open(context.Background(), p)
	if err != nil && strings.Contains(err.Error(), "CGO_ENABLED=1") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// quietLogger is for plugins whose deaths are no news.
func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testLogger shows a test's log if the test fails.
func testLogger(t testing.TB) *slog.Logger {
	var b syncBuffer
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", &b)
		}
	})
	return slog.New(slog.NewTextHandler(&b, nil))
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// instance is the role of a service: an instance with one long job on a SQLite
// plugin. It stops gracefully on the three signals that ask for it.
func init() {
	roles["instance"] = func(args []string) int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		err := hostprog.Run(ctx, os.Stdout, hostprog.Config{
			Name:   "A",
			Plugin: sqlite(args[0]),
			Jobs:   []hostprog.Job{{Name: "long", Every: time.Second, Takes: time.Hour, Overlap: "skip"}},
			Lease:  10 * time.Second,
			Stop:   10 * time.Second,
			Log:    os.Stderr,
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
}

// awaitGone waits until no process with the pid runs.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Kill(pid, 0)
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, syscall.ESRCH) || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there after %v", pid, patience)
		}
	}
}
