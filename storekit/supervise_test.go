package storekit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"

	"github.com/anarchon-go/anarchon/internal/sigstop"
)

func TestManyCallersStartOneProcess(t *testing.T) {
	log := new(logBuffer)
	p := testPlugin(t, "plugin", nil)
	p.Logger = log.logger()
	c := open(t, p)
	gen := c.current()
	syscall.Kill(c.PID(), syscall.SIGKILL)
	<-gen.proc.done
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Claim(t.Context(), claim("a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c.Close() // so that the log is complete
	if n := strings.Count(log.String(), "the plugin runs"); n != 2 {
		t.Errorf("%d starts; want the first and one more\n%s", n, log)
	}
}

func TestPluginThatHangsIsReplaced(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.CallTimeout = 200 * time.Millisecond
	c := open(t, p)
	c.healthTimeout = time.Second
	pid, gen := c.PID(), c.current()
	if err := sigstop.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Claim(t.Context(), claim("a")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("claim: %v; want unknown", err)
	}
	select {
	case <-gen.proc.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the plugin hangs and is left alone")
	}
	c.spec.CallTimeout = 20 * time.Second
	if _, err := c.Claim(t.Context(), claim("a")); err != nil {
		t.Errorf("claim on the next process: %v", err)
	}
	if c.PID() == pid {
		t.Error("no other process runs")
	}
}

// A store that does not answer in time is no reason to replace the plugin.
func TestPluginWithASlowStoreIsLeftAlone(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.CallTimeout = 100 * time.Millisecond
	c := open(t, p)
	pid := c.PID()
	for range 3 {
		_, err := c.Claim(t.Context(), claim("hang"))
		if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("claim: %v; want unknown", err)
		}
	}
	if _, err := c.Describe(t.Context()); err != nil || c.PID() != pid {
		t.Errorf("pid %d after %d, %v", c.PID(), pid, err)
	}
}

// A process that lives and serves nothing any more is of no use either.
func TestPluginThatCanNotBeReachedIsReplaced(t *testing.T) {
	c := open(t, testPlugin(t, "goes deaf", nil))
	pid := c.PID()
	if _, err := c.Claim(t.Context(), claim("go deaf")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the call that was cut off: %v; want unknown", err)
	}
	if a, err := c.Claim(t.Context(), claim("a")); err != nil || a.Verdict != store.VerdictWon {
		t.Errorf("the next call: %+v, %v", a, err)
	}
	if c.PID() == pid {
		t.Error("no other process runs")
	}
}

func TestCallerCancels(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", nil))
	reason := errors.New("no longer needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
	if _, err := c.Claim(ctx, claim("hang")); !errors.Is(err, store.ErrUnknown) || !errors.Is(err, reason) {
		t.Errorf("cancelled on the way: %v; want unknown, and the reason", err)
	}
	if _, err := c.Claim(ctx, claim("a")); !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, reason) {
		t.Errorf("cancelled before: %v; want not applied, and the reason", err)
	}
}

func TestClose(t *testing.T) {
	for _, test := range []struct {
		do, job string
		want    string // in Close's error
	}{
		{do: "right"},
		{do: "fail in close", want: "could not flush"},
		{do: "hang in close", want: "did not close in time|did not stop"}, // who is faster: the plugin, or its host
		{do: "right", job: "slow"},                                        // the call in flight is waited for
		{do: "right", job: "hang", want: "calls in flight did not end"},
		{do: "right", job: "exit"},
	} {
		t.Run(test.do+" "+test.job, func(t *testing.T) {
			p := testPlugin(t, "plugin", map[string]any{"do": test.do})
			p.CloseTimeout = 20 * time.Second
			if test.want != "" {
				p.CloseTimeout = 1500 * time.Millisecond
			}
			c := open(t, p)
			pid, dir := c.PID(), c.current().dir.path
			answered := make(chan error, 1)
			if test.job != "" {
				go func() {
					_, err := c.Claim(context.Background(), claim(test.job))
					answered <- err
				}()
				for { // until the call is on its way
					c.claims.mu.Lock()
					flying := c.claims.flying
					c.claims.mu.Unlock()
					if flying > 0 {
						break
					}
					time.Sleep(time.Millisecond)
				}
			}
			begin := time.Now()
			err := c.Close()
			// The bound, and as much again for a machine that is busy otherwise.
			if took := time.Since(begin); took > p.CloseTimeout+5*time.Second {
				t.Errorf("Close took %v; its bound is %v", took, p.CloseTimeout)
			}
			if (err == nil) != (test.want == "") || err != nil && !regexp.MustCompile(test.want).MatchString(err.Error()) {
				t.Errorf("Close: %v; want %q", err, test.want)
			}
			if test.job != "" {
				err := <-answered
				if slow := test.job == "slow"; slow && err != nil || !slow && !store.IsUnknown(err) {
					t.Errorf("the call in flight: %v", err)
				}
			}
			if again := c.Close(); again != err {
				t.Errorf("Close again: %v; want the same", again)
			}
			awaitGone(t, pid)
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left behind", dir)
			}
		})
	}
}

func TestCloseWhileThePluginIsBeingStarted(t *testing.T) {
	fire := filepath.Join(t.TempDir(), "fire")
	c := open(t, testPlugin(t, "plugin", map[string]any{"do": "exit if there is " + fire}))
	os.WriteFile(fire, nil, 0o600)
	syscall.Kill(c.PID(), syscall.SIGKILL)
	answered := make(chan error, 1)
	go func() {
		for {
			_, err := c.Claim(context.Background(), claim("a"))
			if !errors.Is(err, store.ErrUnknown) { // it may have been sent before the death
				answered <- err
				return
			}
		}
	}()
	for { // until it has failed to start
		c.mu.Lock()
		failures := c.breaker.failures
		c.mu.Unlock()
		if failures > 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	if err := c.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("Close took %v; nothing is there to be waited for", took)
	}
	if err := <-answered; !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, errClosed) {
		t.Errorf("the call that waited: %v; want not applied", err)
	}
}
