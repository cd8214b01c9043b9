package storekit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"

	"github.com/anarchon-go/anarchon/internal/sigstop"
)

// eventLog collects a plugin's events.
type eventLog struct {
	mu     sync.Mutex
	events []Event
	news   chan struct{} // closed, and replaced, at each event
}

func newEventLog() *eventLog { return &eventLog{news: make(chan struct{})} }

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	close(l.news)
	l.news = make(chan struct{})
}

// await returns the events once the last of them satisfies the condition.
func (l *eventLog) await(t *testing.T, what string, is func(Event) bool) []Event {
	t.Helper()
	late := time.After(patience)
	for {
		l.mu.Lock()
		events, news := slices.Clone(l.events), l.news
		l.mu.Unlock()
		if slices.ContainsFunc(events, is) {
			return events
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("no %s within %v; events: %+v", what, patience, events)
		}
	}
}

func names(events []Event) string {
	var out []string
	for _, e := range events {
		out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", e), "storekit."))
	}
	return strings.Join(out, " ")
}

func isReady(pid int) func(Event) bool {
	return func(e Event) bool { r, ok := e.(Ready); return ok && r.PID != pid }
}

// A plugin that died is started again although nobody calls.
func TestRestartWithoutACall(t *testing.T) {
	log := newEventLog()
	p := testPlugin(t, "plugin", nil)
	p.OnEvent = log.add
	c := open(t, p)
	if c.State() != StateReady {
		t.Errorf("state %v; want ready", c.State())
	}
	first := c.PID()
	syscall.Kill(first, syscall.SIGKILL)
	log.await(t, "second start", isReady(first))
	if pid := c.PID(); pid == first || pid == 0 {
		t.Errorf("pid %d after %d", pid, first)
	}
	c.Close()
	events := log.await(t, "end", func(e Event) bool { _, ok := e.(Closed); return ok })
	if got, want := names(events), "Starting Ready Down Starting Ready Closed"; got != want {
		t.Fatalf("events %s; want %s", got, want)
	}
	down := events[2].(Down)
	if down.PID != first || down.Failures != 1 || down.Broken || down.Pause != 0 || !strings.Contains(down.Err.Error(), "signal: killed") {
		t.Errorf("%+v", down)
	}
	if r := events[1].(Ready); r.PID != first || r.Version != "1.2.3" || r.Took <= 0 {
		t.Errorf("%+v", r)
	}
	if s := events[3].(Starting); s.Failures != 1 {
		t.Errorf("%+v", s)
	}
	if e := events[5].(Closed); e.Err != nil || c.State() != StateClosed {
		t.Errorf("%+v, state %v", e, c.State())
	}
}

// Calls wait for a plugin within their deadline, and then say why there is none.
func TestCallsWaitForARestart(t *testing.T) {
	fire := filepath.Join(t.TempDir(), "fire")
	c := open(t, testPlugin(t, "plugin", map[string]any{"do": "exit if there is " + fire}))
	c.mu.Lock()
	c.breaker.policy = policy{healthyAfter: time.Hour, firstPause: 50 * time.Millisecond, longestPause: 50 * time.Millisecond, breakAfter: 1 << 30}
	c.mu.Unlock()
	if err := os.WriteFile(fire, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gen := c.current()
	syscall.Kill(c.PID(), syscall.SIGKILL)
	<-gen.proc.done
	awaitFailures(t, c, 2) // so that the last words are known

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
	if took := time.Since(begin); took < 500*time.Millisecond {
		t.Errorf("the call gave up after %v; its deadline was 500ms", took)
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

// awaitFailures waits until so many failures in a row were counted.
func awaitFailures(t *testing.T, c *Client, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		failures := c.breaker.failures
		c.mu.Unlock()
		if failures >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d failures after %v; want %d", failures, patience, n)
		}
	}
}

// A plugin that panics at each start: the row breaks, calls are refused at once and
// say why; once it can be started again a trial brings it back.
func TestCrashLoop(t *testing.T) {
	fire := filepath.Join(t.TempDir(), "fire")
	log := newEventLog()
	p := testPlugin(t, "plugin", map[string]any{"do": "panic if there is " + fire})
	p.OnEvent = log.add
	c := open(t, p)
	c.mu.Lock()
	c.breaker.firstPause, c.breaker.longestPause = 10*time.Millisecond, 2*time.Second
	c.mu.Unlock()
	if err := os.WriteFile(fire, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waits := make(chan error, 1) // a call that waits when the row breaks
	syscall.Kill(c.PID(), syscall.SIGKILL)
	awaitFailures(t, c, 1)
	go func() {
		_, err := c.Describe(context.Background())
		waits <- err
	}()
	events := log.await(t, "broken row", func(e Event) bool { d, ok := e.(Down); return ok && d.Broken })
	begin := time.Now()
	_, err := c.Claim(t.Context(), claim("a"))
	if took := time.Since(begin); took > c.spec.callTimeout()/2 {
		t.Errorf("the call was refused after %v; want at once", took)
	}
	for who, err := range map[string]error{"claim": err, "the call that waited": <-waits} {
		if !errors.Is(err, ErrCrashLoop) || !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("%s: %v; want a crash loop, not applied", who, err)
			continue
		}
		for _, want := range []string{"plugin fake: ", "again and again", "exit status 2", "panic: the disk is on fire", "goroutine "} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", who, err, want)
			}
		}
	}
	for i, e := range events {
		if d, ok := e.(Down); ok && d.Broken != (d.Failures >= defaultPolicy.breakAfter) {
			t.Errorf("event %d: %+v", i, d)
		}
	}

	// Half-open: the next start is a trial.
	if err := os.Remove(fire); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := c.Claim(t.Context(), claim("a"))
		if err == nil {
			break
		}
		if !errors.Is(err, ErrCrashLoop) {
			t.Fatalf("claim until the trial: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// It dies soon: the row goes on, and calls are refused again.
	if err := os.WriteFile(fire, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	before := c.breaker.failures
	c.mu.Unlock()
	syscall.Kill(c.PID(), syscall.SIGKILL)
	awaitFailures(t, c, before+1)
	if s := c.State(); s != StateBroken && s != StateStarting {
		t.Errorf("state %v after a trial that failed", s)
	}
}

// A plugin that hangs is noticed long before the deadline of the call.
func TestHangIsNoticedBeforeTheDeadline(t *testing.T) {
	log := newEventLog()
	p := testPlugin(t, "plugin", nil)
	p.OnEvent = log.add
	p.CallTimeout = 10 * time.Minute
	c := open(t, p)
	c.slowAfter, c.healthTimeout = 50*time.Millisecond, time.Second
	pid := c.PID()
	if err := sigstop.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	_, err := c.Claim(t.Context(), claim("a"))
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "it hung, with no answer to a health check within 1s, and was killed") {
		t.Errorf("claim: %v; want unknown, because the plugin hung", err)
	}
	events := log.await(t, "second start", isReady(pid))
	if got, want := names(events), "Starting Ready Hung Down Starting Ready"; got != want {
		t.Errorf("events %s; want %s", got, want)
	}
}

// A plugin under a debugger stands still for long.
func TestDebuggedPluginIsNotKilled(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.Debug = true
	c := open(t, p)
	c.slowAfter, c.healthTimeout = 10*time.Millisecond, 10*time.Millisecond
	if c.spec.callTimeout() != time.Hour || c.spec.startTimeout() != time.Hour {
		t.Error("the calls are bounded as ever")
	}
	pid := c.PID()
	if err := sigstop.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.Claim(context.Background(), claim("a"))
		answered <- err
	}()
	for gen := c.current(); ; time.Sleep(time.Millisecond) { // until its health was asked
		if gen.probing.Load() {
			break
		}
	}
	time.Sleep(100 * time.Millisecond) // ten times what it has for an answer
	syscall.Kill(pid, syscall.SIGCONT)
	if err := <-answered; err != nil || c.PID() != pid {
		t.Errorf("%v; pid %d after %d", err, c.PID(), pid)
	}
}

// Neither a callback that blocks nor one that panics hinders the plugin, and a
// callback that is slow still gets everything in order.
func TestOddCallbacks(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	log := newEventLog()
	p := testPlugin(t, "plugin", nil)
	p.OnEvent = func(e Event) {
		<-release
		log.add(e)
		if _, ok := e.(Ready); ok {
			panic("no, thanks")
		}
	}
	c := open(t, p)
	t.Cleanup(func() { once.Do(func() { close(release) }) })
	for range 3 {
		before := c.PID()
		syscall.Kill(before, syscall.SIGKILL)
		for deadline := time.Now().Add(patience); c.PID() == before || c.PID() == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the plugin is not started again while the callback blocks")
			}
		}
	}
	begin := time.Now()
	c.Close()
	if took := time.Since(begin); took > c.spec.closeTimeout()+flushGrace+5*time.Second {
		t.Errorf("Close took %v", took)
	}
	once.Do(func() { close(release) })
	events := log.await(t, "end", func(e Event) bool { _, ok := e.(Closed); return ok })
	if got, want := names(events), "Starting Ready"+strings.Repeat(" Down Starting Ready", 3)+" Closed"; got != want {
		t.Errorf("events %s; want %s", got, want)
	}
}

func TestEventsOfAnOpenThatFails(t *testing.T) {
	log := newEventLog()
	p := testPlugin(t, "exit", nil)
	p.OnEvent = log.add
	_, err := Open(t.Context(), p)
	events := log.await(t, "end", func(e Event) bool { _, ok := e.(Closed); return ok })
	if got := names(events); err == nil || got != "Starting Closed" || events[1].(Closed).Err != err {
		t.Errorf("%v; events %+v", err, events)
	}
}
