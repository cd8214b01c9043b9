package storekit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestPluginThatDoesNotComeUpAgain(t *testing.T) {
	fire := filepath.Join(t.TempDir(), "fire")
	c := open(t, testPlugin(t, "plugin", map[string]any{"do": "exit if there is " + fire}))
	if err := os.WriteFile(fire, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gen := c.gen
	syscall.Kill(c.PID(), syscall.SIGKILL)
	<-gen.proc.done

	// Calls wait within their deadline, and then say why.
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := c.Claim(ctx, claim("a"))
	if !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.DeadlineExceeded) || store.IsUnknown(err) {
		t.Errorf("claim: %v; want not applied", err)
	}
	for _, want := range []string{"the plugin is down", "exit status 5", "the disk is on fire"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if took := time.Since(begin); took < 500*time.Millisecond || took > 3*time.Second {
		t.Errorf("the call took %v; its deadline was 500ms", took)
	}

	// A call that waits gets through when the plugin comes up.
	answered := make(chan error, 1)
	go func() {
		_, err := c.Claim(context.Background(), claim("a"))
		answered <- err
	}()
	if err := os.Remove(fire); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("claim after the repair: %v", err)
	}
}

func TestManyCallersStartOneProcess(t *testing.T) {
	log := new(logBuffer)
	p := testPlugin(t, "plugin", nil)
	p.Logger = log.logger()
	c := open(t, p)
	gen := c.gen
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
	if n := strings.Count(log.String(), "the plugin runs again"); n != 1 {
		t.Errorf("%d starts; want 1\n%s", n, log)
	}
}

func TestPluginThatHangsIsReplaced(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.CallTimeout = 200 * time.Millisecond
	c := open(t, p)
	c.healthTimeout = 200 * time.Millisecond
	pid, gen := c.PID(), c.gen
	syscall.Kill(pid, syscall.SIGSTOP)
	if _, err := c.Claim(t.Context(), claim("a")); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("claim: %v; want unknown", err)
	}
	select {
	case <-gen.proc.done:
	case <-time.After(5 * time.Second):
		t.Fatal("the plugin hangs and is left alone")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c.spec.CallTimeout = 5 * time.Second
	if _, err := c.Claim(ctx, claim("a")); err != nil {
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
		{do: "hang in close", want: "did not close in time"},
		{do: "right", job: "slow"}, // the call in flight is waited for
		{do: "right", job: "hang", want: "calls in flight did not end"},
		{do: "right", job: "exit"},
	} {
		t.Run(test.do+" "+test.job, func(t *testing.T) {
			p := testPlugin(t, "plugin", map[string]any{"do": test.do})
			p.CloseTimeout = 1500 * time.Millisecond
			c := open(t, p)
			pid, dir := c.PID(), c.gen.dir
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
			if took := time.Since(begin); took > p.CloseTimeout+time.Second {
				t.Errorf("Close took %v; its bound is %v", took, p.CloseTimeout)
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
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
			awaitGone(t, pid, time.Second)
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
		failures := c.failures
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
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-answered; !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, errClosed) {
		t.Errorf("the call that waited: %v; want not applied", err)
	}
}
