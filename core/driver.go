package core

import (
	"context"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// driver is the thin shell around the machine while Run runs.
type driver struct {
	*Scheduler
	m          *machine
	values     context.Context // that of Run, without its end: what handlers begin with
	executions map[*run]*execution
	calls      sync.WaitGroup // calls to the store that have not ended
	told       []Event        // of this turn
	turn       callGroups     // the calls of this turn so far
	starting   []*execution   // of this turn
}

// loop feeds the machine and does what it says, until a graceful stop is over.
func (d *driver) loop(ctx context.Context) error {
	// Calls and handlers outlive ctx: a graceful stop needs the store.
	d.values = context.WithoutCancel(ctx)
	base, cancel := context.WithCancel(d.values)
	defer d.settle()
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop := ctx.Done()
	var inputs []input
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
			in.apply(d.m, d.now())
			inputs[i] = nil
		}
		d.m.tick(d.now())
		for _, a := range d.m.take() {
			d.do(a)
		}
		d.endTurn(base)
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
func (d *driver) do(a action) {
	r := a.run
	switch a.kind {
	case doClaim:
		send(d, d.turn.of(a.timeout), d.store.Claim, d.m.claimRequest(r), func(m *machine, now instant, ans store.ClaimAnswer, err error) {
			m.claimAnswered(now, r, ans, err)
		})
	case doBeat:
		send(d, d.turn.of(a.timeout), d.store.Heartbeat, d.m.heartbeatRequest(r), func(m *machine, now instant, ans store.HeartbeatAnswer, err error) {
			m.beatAnswered(now, r, ans, err)
		})
	case doFinish:
		send(d, d.turn.of(a.timeout), d.store.Finish, d.m.finishRequest(r), func(m *machine, now instant, ans store.FinishAnswer, err error) {
			m.finishAnswered(now, r, ans, err)
		})
	case doRecall:
		send(d, d.turn.of(a.timeout), d.store.Unfinished, store.UnfinishedRequest{Jobs: a.names}, func(m *machine, now instant, ans store.UnfinishedAnswer, err error) {
			m.recallAnswered(now, ans, err)
		})
	case doHistory:
		j := a.job
		send(d, d.turn.of(a.timeout), d.store.History, store.HistoryRequest{Job: j.spec.Name, Limit: catchUpHistory}, func(m *machine, now instant, ans store.HistoryAnswer, err error) {
			m.historyAnswered(now, j, ans, err)
		})
	case doStart:
		d.execute(r)
	case doCancel:
		if e, ok := d.executions[r]; ok {
			e.cancel(a.cause)
		}
	case doEvent:
		d.told = append(d.told, a.event)
	}
}

// endTurn begins the turn's handlers and calls.
func (d *driver) endTurn(ctx context.Context) {
	spread(d.starting)
	d.starting = nil
	d.turn.begin(ctx)
}
