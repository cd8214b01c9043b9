package storekit

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestNothingIsLeftBehind opens and closes plugins a hundred times, in every way,
// and looks for goroutines, descriptors, sockets, directories and processes.
func TestNothingIsLeftBehind(t *testing.T) {
	base := shortDir(t)
	before := goleak.IgnoreCurrent()

	quiet := new(logBuffer).logger()
	var pids []int
	cycle := func(slow ...string) {
		for _, end := range []func(*Client){
			func(*Client) {},
			func(c *Client) { syscall.Kill(c.PID(), syscall.SIGKILL) },
			func(c *Client) {
				gen := c.current()
				syscall.Kill(c.PID(), syscall.SIGKILL)
				<-gen.proc.done
				c.Describe(t.Context())
			},
			func(c *Client) { c.Claim(t.Context(), claim("exit")) },
			func(c *Client) { c.Claim(t.Context(), claim("a")) },
			func(c *Client) { go c.Claim(context.Background(), claim("hang")) },
		} {
			p := testPlugin(t, "plugin", nil)
			p.Logger, p.OnEvent = quiet, func(Event) {}
			p.CloseTimeout = 2 * time.Second
			c, err := Open(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, c.PID())
			end(c)
			pids = append(pids, c.PID())
			c.Close()
		}
		for _, as := range append([]string{"exit", "noise first", "version 2"}, slow...) {
			p := testPlugin(t, as, nil)
			p.Logger = quiet
			p.StartTimeout = 5 * time.Second
			if as == "hang" {
				p.StartTimeout = 300 * time.Millisecond
			}
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
	cycle("hang", "no socket") // what is made once is made now
	fds := countFDs(t)
	for range 9 { // of ten each
		cycle()
	}
	cycle("hang", "no socket")
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("os/signal.signal_recv")); err != nil {
		t.Error(err)
	}
	for deadline := time.Now().Add(patience); countFDs(t) > fds; time.Sleep(10 * time.Millisecond) {
		runtime.GC() // pidfds are closed by finalizers
		if time.Now().After(deadline) {
			t.Errorf("%d descriptors after %d", countFDs(t), fds)
			break
		}
	}
	for _, pid := range pids {
		if pid != 0 {
			awaitGone(t, pid)
		}
	}
	wantEmpty(t, base)
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
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
