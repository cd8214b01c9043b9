// Package upgradetest proves that two versions of the project's own plugins share a
// store: while a service is deployed anew, instances with the old plugin and with the
// new one claim, renew, take over and finish the same runs.
package upgradetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/conformance/history/traffic"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// oldFile names the commit whose plugins are the old ones: that of the last release,
// or of the last change of a store's layout before the first release.
const oldFile = "OLD"

// oldSource checks the old commit out into a directory that ends with the test.
func oldSource(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(oldFile)
	if err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(string(b))
	if out, err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("the commit %s, which the file %s names, is not in this clone: fetch the whole history: %s", commit, oldFile, out)
	}
	dir := filepath.Join(t.TempDir(), "old")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	archive := exec.Command("sh", "-c", `git -C "$(git rev-parse --show-toplevel)" archive "$1" | tar -x -C "$2"`, "sh", commit, dir)
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("git archive: %v\n%s", err, out)
	}
	return dir
}

func build(t *testing.T, module, plugin, to string) string {
	t.Helper()
	binary := filepath.Join(to, "anarchon-plugin-"+plugin)
	cmd := exec.Command("go", "build", "-o", binary, "./plugins/"+plugin)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in %s: %v\n%s", module, err, out)
	}
	return binary
}

// stores are what both versions are opened on; the backends that can be shared by
// instances on one machine without a cluster.
var stores = map[string]func(t *testing.T) map[string]any{
	"sqlite": func(t *testing.T) map[string]any {
		return map[string]any{"path": filepath.Join(t.TempDir(), "jobs.db")}
	},
	"redis": func(t *testing.T) map[string]any {
		c := start(t, containers.Spec{
			Image: "redis-8.6", Port: 6379, Ready: "Ready to accept connections",
			Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes"},
		})
		return map[string]any{"url": "redis://" + c.Addr()}
	},
	"postgres": func(t *testing.T) map[string]any {
		c := start(t, containers.Spec{
			Image: "postgres-18", Port: 5432, Ready: "database system is ready to accept connections",
			Env: map[string]string{"POSTGRES_PASSWORD": "upgrade"},
		})
		return map[string]any{"url": "postgres://postgres:upgrade@" + c.Addr() + "/postgres"}
	},
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

// TestMixedVersions: two instances with the old plugin and two with the new one work on
// one store at the same time, the store having been made once by the old and once by
// the new one; what they saw follows the rules.
func TestMixedVersions(t *testing.T) {
	old, current := oldSource(t), "../.."
	for plugin, config := range stores {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			oldBinary, newBinary := build(t, old, plugin, t.TempDir()), build(t, current, plugin, t.TempDir())
			for first, order := range map[string][]string{
				"made by the old": {oldBinary, newBinary, oldBinary, newBinary},
				"made by the new": {newBinary, oldBinary, newBinary, oldBinary},
			} {
				t.Run(first, func(t *testing.T) { mixed(t, order, config(t)) })
			}
		})
	}
}

func mixed(t *testing.T, binaries []string, config map[string]any) {
	rec := history.NewRecorder("old and new plugins", store.KindLease)
	traffic := &traffic.Traffic{
		Recorder: rec, Kind: store.KindLease, Seed: 1, Lease: 500 * time.Millisecond, History: true,
		Slot: func(i int) int64 { return base + int64(i)*1000 },
		Job:  func(part, i int) string { return fmt.Sprintf("j%d-%d", part, i) },
	}
	for _, path := range binaries {
		c, err := storekit.Open(t.Context(), storekit.Plugin{Path: path, Config: config})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		traffic.Stores = append(traffic.Stores, c)
	}
	workers := traffic.Workers()
	lacks := []string{"anything"}
	for deadline := time.Now().Add(time.Minute); len(lacks) > 0 && time.Now().Before(deadline); lacks = rec.History().Stats().Lacks(store.KindLease) {
		work, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		var wg sync.WaitGroup
		for _, w := range workers {
			wg.Go(func() {
				if err := w.Run(t.Context(), work); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		cancel()
	}
	if len(lacks) > 0 {
		t.Fatalf("too little happened to prove anything: %s", strings.Join(lacks, ", "))
	}
	if err := traffic.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := rec.History()
	if j := history.Judge(h, 0); j.Verdict != history.Legal {
		t.Errorf("%v: %s", j.Verdict, j.Reason)
		if j.Culprit != nil {
			t.Logf("\n%s", history.Ladder(j.Culprit))
		}
	}
	t.Logf("%v", h.Stats())
}

// base is a slot that is due now.
var base = time.Now().UnixMilli() / 1000 * 1000
