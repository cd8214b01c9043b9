package storekit

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestNothingIsLeftBehind opens and closes plugins in every way and looks for
// goroutines, descriptors, sockets and processes.
func TestNothingIsLeftBehind(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "sk") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	t.Setenv("RUNTIME_DIRECTORY", "")
	t.Setenv("XDG_RUNTIME_DIR", base)
	before := goleak.IgnoreCurrent()

	quiet := new(logBuffer).logger()
	cycle := func() {
		for _, end := range []func(*Client){
			func(*Client) {},
			func(c *Client) { syscall.Kill(c.PID(), syscall.SIGKILL) },
			func(c *Client) {
				syscall.Kill(c.PID(), syscall.SIGKILL)
				<-c.current().proc.done
				c.Describe(t.Context())
			},
			func(c *Client) { c.Claim(t.Context(), claim("exit")) },
			func(c *Client) { c.Claim(t.Context(), claim("a")) },
		} {
			p := testPlugin(t, "plugin", nil)
			p.Logger = quiet
			c, err := Open(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			end(c)
			c.Close()
		}
		for _, as := range []string{"exit", "noise first", "version 2", "hang", "no socket"} {
			p := testPlugin(t, as, nil)
			p.Logger = quiet
			p.StartTimeout = 300 * time.Millisecond
			if c, err := Open(t.Context(), p); err == nil {
				c.Close()
				t.Errorf("%s came up", as)
			}
		}
		p := testPlugin(t, "plugin", map[string]any{"unknown": 1})
		p.Logger = quiet
		if _, err := Open(t.Context(), p); err == nil {
			t.Error("an unknown option was taken")
		}
	}
	cycle() // what is made once is made now
	fds := countFDs(t)
	for range 3 {
		cycle()
	}
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("os/signal.signal_recv")); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(2 * time.Second); countFDs(t) > fds; time.Sleep(10 * time.Millisecond) {
		runtime.GC() // pidfds are closed by finalizers
		if time.Now().After(deadline) {
			t.Errorf("%d descriptors after %d", countFDs(t), fds)
			break
		}
	}
	if left, _ := filepath.Glob(base + "/*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}
