package core

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// driver is the thin shell around the machine while Run runs.
type driver struct {
	*Scheduler
	m          *machine
	executions map[*run]context.CancelCauseFunc
	calls      sync.WaitGroup // calls to the store that have not ended
	told       []Event        // of this turn
	deadline   *deadline      // of the calls of this turn so far
}

// loop feeds the machine and does what it says, until a graceful stop is over.
func (d *driver) loop(ctx context.Context) error {
	// Calls and handlers outlive ctx: a graceful stop needs the store.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer d.settle()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	var inputs []func(*machine, instant)
	for {
		select {
		case <-timer.C:
		case <-d.inbox.signal:
		case <-stop:
			stop = nil
			d.refuseJobs()
			d.m.stop(d.now())
		}
		inputs = d.inbox.take(inputs)
		for i, in := range inputs {
			in(d.m, d.now())
			inputs[i] = nil
		}
		d.m.tick(d.now())
		for _, a := range d.m.take() {
			d.do(base, a)
		}
		d.endTurn()
		if len(d.told) > 0 { // all at once: whoever tells them on need not be woken for each
			d.events.put(d.told...)
			clear(d.told)
			d.told = d.told[:0]
		}
		d.setHealth(d.m.health.err())
		if d.m.idle() {
			return stuckError(d.m.stuckRuns())
		}
		timer.Reset(d.m.wake(d.now()))
	}
}

// refuseJobs makes Add say that a job would never run.
func (d *driver) refuseJobs() {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
}

// settle waits until the calls that nobody needs any more, such as a recall, have
// ended: who called Run may close the store now.
func (d *driver) settle() {
	ended := make(chan struct{})
	go func() {
		d.calls.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(overdue):
	}
}

func (d *driver) setHealth(err error) {
	d.mu.Lock()
	d.Scheduler.health = err
	d.mu.Unlock()
}

// do does one action. Nothing here blocks: calls and handlers have goroutines of
// their own, and what they need of a run is read now.
func (d *driver) do(ctx context.Context, a action) {
	r := a.run
	switch a.kind {
	case doClaim:
		call(d, d.deadlineOf(ctx, a.timeout), d.store.Claim, d.m.claimRequest(r), func(m *machine, now instant, ans store.ClaimAnswer, err error) {
			m.claimAnswered(now, r, ans, err)
		})
	case doBeat:
		call(d, d.deadlineOf(ctx, a.timeout), d.store.Heartbeat, d.m.heartbeatRequest(r), func(m *machine, now instant, ans store.HeartbeatAnswer, err error) {
			m.beatAnswered(now, r, ans, err)
		})
	case doFinish:
		call(d, d.deadlineOf(ctx, a.timeout), d.store.Finish, d.m.finishRequest(r), func(m *machine, now instant, ans store.FinishAnswer, err error) {
			m.finishAnswered(now, r, ans, err)
		})
	case doRecall:
		call(d, d.deadlineOf(ctx, a.timeout), d.store.Unfinished, store.UnfinishedRequest{Jobs: a.names}, func(m *machine, now instant, ans store.UnfinishedAnswer, err error) {
			m.recallAnswered(now, ans, err)
		})
	case doHistory:
		j := a.job
		call(d, d.deadlineOf(ctx, a.timeout), d.store.History, store.HistoryRequest{Job: j.spec.Name, Limit: catchUpHistory}, func(m *machine, now instant, ans store.HistoryAnswer, err error) {
			m.historyAnswered(now, j, ans, err)
		})
	case doStart:
		d.execute(ctx, r)
	case doCancel:
		if cancel, ok := d.executions[r]; ok {
			cancel(a.cause)
		}
	case doEvent:
		d.told = append(d.told, a.event)
	}
}

// deadline is the context of calls that begin together and have the same time: a
// thousand jobs that are due at once need one timer, not a thousand.
type deadline struct {
	ctx     context.Context
	cancel  context.CancelFunc
	timeout time.Duration
	users   atomic.Int32
}

func (l *deadline) release() {
	if l.users.Add(-1) == 0 {
		l.cancel()
	}
}

// deadlineOf returns a deadline for one call of this turn.
func (d *driver) deadlineOf(ctx context.Context, timeout time.Duration) *deadline {
	if d.deadline == nil || d.deadline.timeout != timeout {
		d.endTurn()
		d.deadline = &deadline{timeout: timeout}
		d.deadline.ctx, d.deadline.cancel = context.WithTimeout(ctx, timeout)
		d.deadline.users.Store(1) // the turn itself
	}
	d.deadline.users.Add(1)
	return d.deadline
}

// endTurn lets go of the turn's deadline; its calls may still use it.
func (d *driver) endTurn() {
	if d.deadline != nil {
		d.deadline.release()
		d.deadline = nil
	}
}

// overdue is how long after its deadline a call is still waited for: a store
// that ends in time knows better than we do what became of the call.
const overdue = time.Second

// call asks the store on a goroutine of its own and brings exactly one answer to
// the machine, also from a store that hangs or panics: that one is unknown.
func call[Q, A any](d *driver, dl *deadline, verb func(context.Context, Q) (A, error), req Q, answer func(*machine, instant, A, error)) {
	var answered atomic.Bool
	reply := func(ans A, err error) {
		if answered.CompareAndSwap(false, true) {
			d.inbox.put(func(m *machine, now instant) { answer(m, now, ans, err) })
		}
	}
	unknown := func(format string, args ...any) {
		var none A
		reply(none, fmt.Errorf("%w: %s", store.ErrUnknown, fmt.Sprintf(format, args...)))
	}
	d.calls.Go(func() {
		defer dl.release()
		hung := time.AfterFunc(dl.timeout+overdue, func() { unknown("the call did not end %v after its deadline", overdue) })
		returned := false
		defer func() {
			hung.Stop()
			if returned {
				return
			}
			if v := recover(); v != nil {
				unknown("the store panicked: %v", v)
				return
			}
			unknown("the store ended its goroutine")
		}()
		ans, err := verb(dl.ctx, req)
		returned = true
		reply(ans, err)
	})
}
