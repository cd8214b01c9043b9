package conformance

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/subject"
)

// built builds, once, a plugin of testdata with its settings beside it.
func built(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		dir, err := os.MkdirTemp("", name)
		if err != nil {
			return "", err
		}
		afterTests = append(afterTests, func() { os.RemoveAll(dir) })
		source := filepath.Join("testdata", name)
		binary, err := subject.Build(context.Background(), source, dir)
		if err != nil {
			return "", err
		}
		settings, err := os.ReadFile(filepath.Join(source, subject.SettingsFile))
		if err != nil {
			return "", err
		}
		return binary, os.WriteFile(filepath.Join(dir, subject.SettingsFile), settings, 0o600)
	})
}

var (
	islands = built("islands") // its processes know nothing of each other
	liars   = built("liar")    // breaks one rule at a time
	orphan  = built("orphan")  // outlives its host
)

// Real plugins that lie, or talk nonsense, over real processes: each is caught by
// the check that its lie is about, and its last line says so.
func TestLiars(t *testing.T) {
	kitTest(t)
	if testing.Short() {
		t.Skip("builds and starts some dozens of plugins")
	}
	t.Parallel()
	plugin, err := liars()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		mood, check string
		exit        int
		says        []string
	}{
		{"honest", "claim/running", 0, []string{"pass     claim/running"}},
		{"flood", "claim/superseded-closes", 1, []string{"lines of the plugin's log were dropped"}},
		{"nonsense", "claim/running", 1, []string{"claim/running: "}},
		{"negative", "claim/running", 1, []string{"claim/running: fail: "}},
		{"tokenless", "describe/tokens", 1, []string{"describe/tokens: fail: "}},
		{"huge-error", "claim/running", 1, []string{"claim/running: fail: ", "no! no! "}},
		{"forgets", "memory/age", 1, []string{"memory/age: fail: "}},
		{"no-heartbeat", "describe/verbs", 1, []string{"describe/verbs: fail: ", "heartbeat fails"}},
		{"no-history", "describe/verbs", 1, []string{"describe/verbs: fail: ", "history fails"}},
		{"renews", "lease/idle-host", 1, []string{"lease/idle-host: fail: "}},
		{"own-clock", "late/bound", 1, []string{"late/bound: fail: "}},
	} {
		t.Run(tc.mood, func(t *testing.T) {
			t.Parallel()
			out, exit := typed(t, "-plugin", plugin, "-variant", tc.mood, "-test.run", "TestConformance/"+tc.check+"$")
			if exit != tc.exit {
				t.Errorf("exit status %d; want %d", exit, tc.exit)
			}
			if len(out) > 1<<20 {
				t.Fatalf("the output has %d bytes; nobody reads that", len(out))
			}
			if exit != 0 {
				tc.says = append(tc.says, "conformance: FAILED "+filepath.Base(plugin)+"/"+tc.mood+": ")
			}
			lacks(t, out, tc.says...)
		})
	}
}

// A real plugin that outlives its host is caught, and the suite leaves none behind.
func TestOrphan(t *testing.T) {
	kitTest(t)
	if testing.Short() {
		t.Skip("builds and starts plugins")
	}
	t.Parallel()
	plugin, err := orphan()
	if err != nil {
		t.Fatal(err)
	}
	for check, exit := range map[string]int{"claim/running": 0, "kill/holder": 0, "kill/host": 1} {
		t.Run(check, func(t *testing.T) {
			out, got := typed(t, "-plugin", plugin, "-test.run", "TestConformance/"+check+"$")
			if got != exit {
				t.Errorf("exit status %d; want %d\n%s", got, exit, out)
			}
			if exit != 0 {
				lacks(t, out, "the host was killed, and its plugin still runs 5 s later", "conformance: FAILED "+filepath.Base(plugin)+"/default: kill/host: fail: ")
			}
		})
	}
	// They were told to end, or killed; on a busy machine that takes its time.
	left := processesOf(t, plugin)
	for end := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(end); left = processesOf(t, plugin) {
		time.Sleep(50 * time.Millisecond)
	}
	if len(left) > 0 {
		t.Errorf("the suite is over, and processes %v of the plugin still run", left)
	}
}

// processesOf are those that run a binary, where the system tells.
func processesOf(t *testing.T, binary string) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == binary {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}
