package storekit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"

	"github.com/anarchon-go/anarchon/internal/sigstop"
)

func TestCrashInACallIsUnknown(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", nil))
	_, err := c.Claim(t.Context(), claim("exit:had enough"))
	if !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotApplied) {
		t.Fatalf("claim during the crash: %v; want unknown", err)
	}
	for _, want := range []string{"plugin fake", "claim", "exit status 3", "I am leaving: had enough"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if a, err := c.Claim(t.Context(), claim("a")); err != nil || a.Verdict != store.VerdictWon {
		t.Fatalf("claim after the crash: %+v, %v; want the next process to answer", a, err)
	}
}

func TestKilledBeforeACallIsStartedAgain(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", map[string]any{"poolSize": 3}))
	for range 3 {
		before := c.PID()
		syscall.Kill(before, syscall.SIGKILL)
		// At once: the connection may look alive still, but nothing that was sent is
		// ever made again, so unknown is the only other answer.
		_, err := c.Claim(t.Context(), claim("a"))
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("claim: %v", err)
		}
		if _, err := c.Describe(t.Context()); err != nil {
			t.Fatalf("describe: %v", err)
		}
		if after := c.PID(); after == before || after == 0 {
			t.Fatalf("pid %d after %d", after, before)
		}
	}
}

func TestStoppedProcess(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.CallTimeout = 300 * time.Millisecond
	p.CloseTimeout = time.Second
	c := open(t, p)
	pid := c.PID()
	if err := sigstop.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err := c.Claim(t.Context(), claim("a"))
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "300ms") {
		t.Errorf("claim: %v; want unknown after 300ms", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the call took %v; its deadline was 300ms", took)
	}
	begin = time.Now()
	err = c.Close()
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("Close took %v; its bound is 1s", took)
	}
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Close: %v; want it to say that the plugin was killed", err)
	}
	awaitGone(t, pid)
	if _, err := c.Claim(t.Context(), claim("a")); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("claim after Close: %v; want not applied", err)
	}
}

// patience is how long tests wait for what happens within milliseconds on a quiet
// machine.
const patience = 15 * time.Second

// awaitGone waits until no process with the pid runs. One that has ended and was
// not collected yet (an orphan's new parent may take its time) does not run.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || processState(pid) == "Z" {
			return
		}
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL) // it would be there after the test, too
			t.Fatalf("process %d is still there after %v", pid, patience)
		}
	}
}

// processState is the letter that Linux has for the state of a process.
func processState(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, state, ok := strings.Cut(string(stat), ") "); ok {
		return state[:1]
	}
	return ""
}
