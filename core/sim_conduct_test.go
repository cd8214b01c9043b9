package core

import (
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simNotices is how late a machine may notice what its timers, which run on the
// monotonic clock, don't tell: a wall clock that ran ahead by less than what
// counts as a jump.
const simNotices = jumpBound + 100*time.Millisecond

// checkConduct judges a running handler after each step of its process.
func (h *simHandler) checkConduct() {
	p, now := h.p, h.p.w.now
	spec := &h.r.job.spec
	if spec.Timeout > 0 && h.cause == nil && now-h.beganAt-h.pausedFor > int64(spec.Timeout+simNotices) {
		p.fail(ruleTimeout, h.r, "runs for %v; its timeout is %v", time.Duration(now-h.beganAt-h.pausedFor), spec.Timeout)
	}
	if p.w.plan.kind != store.KindLease || h.r.lost || h.stuck || h.r.state != running {
		return
	}
	h.checkBelief()
	over := -h.leaseLeft()
	if over > simNotices && !h.unconfirmed {
		p.fail(ruleUnheard, h.r, "its lease has been over for %v on its own clock, and it said nothing", over)
	}
	if over > simNotices && h.cause == nil && spec.OnUnconfirmed == Cancel {
		p.fail(ruleUnheard, h.r, "its lease has been over for %v on its own clock, and its handler goes on", over)
	}
}

// leaseLeft is what the runner may believe to have left of its lease: counted
// from the sending of the last accepted renewal, on the clock that ran further.
func (h *simHandler) leaseLeft() time.Duration {
	r, now := h.r, h.p.instant()
	return r.leaseLen - time.Duration(max(now.mono-r.leaseFrom.mono, now.wall-r.leaseFrom.wall, 0))
}

// believes is leaseLeft for a handler that may believe in it at all.
func (h *simHandler) believes() time.Duration {
	if h.r.state != running || h.r.lost || h.done || h.p.dead {
		return 0
	}
	return h.leaseLeft()
}

// excused: the store's clock jumped forward since the last renewal, or the
// node's clocks hid some of the time since.
func (h *simHandler) excused() bool {
	return h.grant.shaken || h.p.node.clocksHide(h.renewedAt)
}

const simGrain = 2 * time.Millisecond // the store counts whole milliseconds

// checkBelief: a runner never believes in its lease longer than the store does.
func (h *simHandler) checkBelief() {
	a := h.grant
	left := h.believes()
	if left <= simGrain || h.excused() {
		return
	}
	now := h.p.w.store.now()
	if !a.live(now + int64((left-simGrain)/time.Millisecond) - 1) {
		h.p.fail(ruleBelief, h.r, "believes to hold attempt %d for %v more, but %s", a.number, left, h.p.w.store.ledgerOf(h.run.Job).describe(a.run, now))
	}
}

// checkUnconfirmed: the lease of a runner that was healthy all its length does not
// run out.
func (h *simHandler) checkUnconfirmed() {
	since, ok := h.p.healthySince()
	if ok && since < h.p.w.now-h.grant.length*int64(time.Millisecond)-int64(time.Second) {
		h.p.fail(ruleHealthy, h.r, "healthy since %s, lets its lease run out", simClock(since))
	}
}

// returned notes how a handler ended: what its run's outcome must be.
func (p *simProcess) returned(h *simHandler) {
	var panicked *PanicError
	out := store.OutcomeFailed
	switch {
	case errors.As(h.result, &panicked), errors.Is(h.cause, ErrTimeout):
	case h.result == nil:
		out = store.OutcomeSuccess
	case h.cause != nil && p.w.plan.kind == store.KindLease:
		out = store.OutcomeReleased
	case h.cause != nil:
		out = store.OutcomeInterrupted
	}
	p.watch.ended[h.r] = simEnded{out, p.node.mono()}
}

// simEnded is a run whose handler returned, or never started.
type simEnded struct {
	outcome store.Outcome
	at      int64 // monotonic, of its first finish
}

func (p *simProcess) checkFinish(r *run, req *store.FinishRequest) {
	if p.handler(r) != nil {
		p.fail(ruleReturned, r, "finishes it as %v while its handler runs", req.Outcome)
	}
	if p.watch.lost[r] {
		p.fail(ruleLost, r, "reports %v though it was told that the run is lost", req.Outcome)
	}
	e, ok := p.watch.ended[r]
	if !ok { // its handler never started
		p.watch.ended[r] = simEnded{req.Outcome, p.node.mono()}
	} else if e.outcome != req.Outcome {
		p.fail(ruleOutcome, r, "finishes it as %v; its handler's return means %v", req.Outcome, e.outcome)
	}
}

// unrecorded judges a finish that was given up.
func (p *simProcess) unrecorded(e *Unrecorded) {
	if a := p.w.store.ledgerOf(e.Run.Job).runs[e.Run.Slot].attempt(e.Run.Token); a != nil {
		a.givenUp = true
	}
	for r, ended := range p.watch.ended {
		if r.slot == e.Run.Slot && r.job.spec.Name == e.Run.Job && r.number == e.Run.Attempt {
			if tried := time.Duration(p.node.mono() - ended.at); tried < r.job.spec.Timing.StopTimeout {
				p.fail(ruleRepeat, r, "gives its finish up after %v; the stop timeout is %v", tried, r.job.spec.Timing.StopTimeout)
			}
		}
	}
}

// lost judges what an instance calls lost.
func (p *simProcess) lost(e *Lost) {
	l := p.w.store.ledgerOf(e.Run.Job)
	if a := l.runs[e.Run.Slot].attempt(e.Run.Token); a != nil && a.outcome != 0 && !l.forgotten(a) {
		l.fail(ruleUnproven, e.Run.Slot, "%s calls attempt %d lost, and the store has recorded its %v", p.name, a.number, a.outcome)
	}
}
