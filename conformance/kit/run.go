package kit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Run is a check at work: what it may use, and where it says what it saw. Its
// methods are safe for concurrent use, but only those of a goroutine started by
// [Run.Parallel], or the check's own, may end the check.
type Run struct {
	ctx   context.Context
	suite *Suite
	check Check
	trace trace
	began time.Time
	seed  uint64

	mu      sync.Mutex
	rand    *rand.Rand
	outcome Outcome // 0 while undecided
	reason  string
	shown   bool   // the reason shows the calls that matter
	missing string // a verb that the subject's kind needs and that it does not have
	figures []Figure
	files   []File
	pooled  []Process // to give back
	own     []Process // to close
	killed  map[Process]bool
	undo    []func() // what must be done before anything is closed, last first
}

func newRun(ctx context.Context, s *Suite, c Check, seed uint64) *Run {
	now := time.Now()
	return &Run{
		ctx: ctx, suite: s, check: c, began: now, seed: s.Seed,
		trace:  trace{start: now},
		rand:   rand.New(rand.NewPCG(seed, seed>>32)),
		killed: map[Process]bool{},
	}
}

// Context ends with the check's limit.
func (r *Run) Context() context.Context { return r.ctx }

// Description is what the subject declares of itself.
func (r *Run) Description() store.Description { return r.suite.description }

// Leases reports whether the subject is a lease backend.
func (r *Run) Leases() bool { return r.suite.description.Kind == store.KindLease }

// Lease is the short lease, for attempts whose lease must end within the check.
func (r *Run) Lease() time.Duration { return r.suite.Lease }

// Age is how long to wait to see if the store forgets.
func (r *Run) Age() time.Duration { return r.suite.Age }

// Job returns a job name that no other check and no other run uses.
func (r *Run) Job(name string) string {
	return fmt.Sprintf("%s %s %s", r.check.ID, r.suite.tag, name)
}

// Namespace returns a namespace that no other check and no other run uses, of
// lower case letters, digits and underscores.
func (r *Run) Namespace(name string) string {
	return fmt.Sprintf("conf_%s_%x_%s", r.suite.tag, uint32(hash(r.check.ID)), name)
}

// Slot returns the i-th slot of every job, a whole second, in the past: the
// requests of [Run.Ask] are never too late or too early for it.
func (r *Run) Slot(i int) int64 { return r.suite.base + int64(i)*1000 }

// IntN draws a number from 0 to n-1. The seed repeats it, as long as the check
// draws from one goroutine.
func (r *Run) IntN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

// Open opens n independent processes onto the store.
func (r *Run) Open(n int) []*Client {
	procs, err := r.suite.pool.take(r.ctx, n)
	if err != nil {
		r.Inconclusive("opening %d processes: %v", n, err)
	}
	r.mu.Lock()
	r.pooled = append(r.pooled, procs...)
	r.mu.Unlock()
	clients := make([]*Client, n)
	for i, p := range procs {
		clients[i] = &Client{run: r, process: p, name: fmt.Sprintf("p%d", i+1)}
	}
	return clients
}

// OpenNamespace opens a process in a namespace of its own. It fails with
// [ErrNoNamespace] where the subject has none.
func (r *Run) OpenNamespace(namespace string) (*Client, error) {
	c, err := r.TryOpenNamespace(namespace)
	if err != nil && !errors.Is(err, ErrNoNamespace) {
		r.Inconclusive("opening a process in namespace %q: %v", namespace, err)
	}
	return c, err
}

// TryOpenNamespace is OpenNamespace for a name that the subject may refuse.
func (r *Run) TryOpenNamespace(namespace string) (*Client, error) {
	p, err := open(r.ctx, r.suite.Subject, namespace)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.own = append(r.own, p)
	r.mu.Unlock()
	return &Client{run: r, process: p, name: namespace}, nil
}

// Kill ends a client's process as kill -9 does. The check must say [NeedKill].
func (r *Run) Kill(c *Client) {
	r.mu.Lock()
	r.killed[c.process] = true
	r.mu.Unlock()
	if err := c.process.(Killer).Kill(); err != nil {
		r.Inconclusive("killing the plugin of %s: %v", c.name, err)
	}
}

// Parallel calls f for 0 to n-1, each in its own goroutine, all let go at once,
// and returns when all have returned. If one ended the check, so does Parallel.
func (r *Run) Parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					r.end(Error, fmt.Sprintf("the check panicked: %v\n%s", p, debug.Stack()))
				}
			}()
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
	r.mu.Lock()
	over := r.outcome != 0
	r.mu.Unlock()
	if over {
		runtime.Goexit()
	}
}

// Sleep waits, or ends the check if its time is over.
func (r *Run) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
		r.Inconclusive("%v", context.Cause(r.ctx))
	}
}

// SleepUntil waits for a moment of this process's clock.
func (r *Run) SleepUntil(t time.Time) { r.Sleep(time.Until(t)) }

// Figure adds a measured value to the report.
func (r *Run) Figure(name, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.figures = append(r.figures, Figure{name, fmt.Sprintf(format, args...)})
}

// Fatalf ends the check: the subject broke the rule.
func (r *Run) Fatalf(format string, args ...any) {
	r.end(Fail, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// Inconclusive ends the check as an error: it could not see what it had to see,
// and that says nothing about the subject.
func (r *Run) Inconclusive(format string, args ...any) {
	r.end(Error, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// ShowsCalls says that what the check says next shows the calls that matter: the
// last ones, which a failure shows otherwise, would only bury them.
func (r *Run) ShowsCalls() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = true
}

// lacksVerb remembers that the subject does not have a verb that its kind needs.
func (r *Run) lacksVerb(verb string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = verb
}

// end decides the check; the first decision stays. What is seen after the
// check's time is over proves nothing.
func (r *Run) end(o Outcome, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcome != 0 {
		return
	}
	if o == Fail && r.ctx.Err() != nil {
		o = Error
		reason = fmt.Sprintf("%v; then: %s", context.Cause(r.ctx), reason)
	}
	r.outcome, r.reason = o, reason
}

// atEnd has f called when the check is over, before its processes are closed.
func (r *Run) atEnd(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undo = append(r.undo, f)
}

// close takes the result and gives the processes back.
func (r *Run) close() Result {
	r.mu.Lock()
	undo := r.undo
	r.mu.Unlock()
	for _, f := range slices.Backward(undo) {
		f()
	}
	r.mu.Lock()
	switch {
	case r.outcome != 0:
	case r.ctx.Err() != nil: // a call that was cut off may have looked like a right refusal
		r.outcome, r.reason = Error, context.Cause(r.ctx).Error()
	default:
		r.outcome = Pass
	}
	res := Result{
		Check: r.check, Outcome: r.outcome, Reason: r.reason, Figures: r.figures, Files: r.files,
		Seed: r.seed, Took: time.Since(r.began),
	}
	drop := r.own
	var killed []Process
	for _, p := range r.pooled {
		switch {
		case r.killed[p]:
			killed = append(killed, p)
		case r.outcome.Bad():
			drop = append(drop, p)
		default:
			r.suite.pool.put(p)
		}
	}
	if r.missing != "" { // nothing else that it saw has a cause of its own
		res.Check.Causes = r.missing + " is not implemented yet: the plugin answers that it does not have this verb (storekit.Unimplemented does, for all that a backend has not written)"
	}
	shown := r.shown
	r.mu.Unlock()

	if res.Outcome.Bad() && !shown {
		res.Calls = r.trace.last()
	}
	closeAll(killed) // it has nothing left to close well
	if err := closeAll(drop); err != nil && res.Outcome == Pass {
		res.Outcome, res.Reason = Error, fmt.Sprintf("closing the check's processes: %v", err)
	}
	return res
}
