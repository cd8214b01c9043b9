package core

import (
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// checkGrant judges a grant by what others believe, and begins to watch the run
// with it. The attempt before is nil for a first one.
func (l *simLedger) checkGrant(a, before *simAttempt, p *simProcess, now int64) {
	if a.reason == store.ReasonCatchUp {
		l.w.seen.CatchUps++
	}
	if a.reason == store.ReasonCatchUp && !l.tooEarly[simAsker{p, a.run.slot}] {
		if o := l.unfinishedAt(a.run.slot); o != nil && a.skip {
			l.fail(ruleSkipped, a.run.slot, "%s catches it up, but slot %s was unfinished at its time: from %s to %s on the store's clock", p.name, simSlot(o.slot), simSlot(o.firstAt), simSlot(o.endedAt))
		}
	}
	if l.w.plan.kind != store.KindLease {
		return
	}
	for _, n := range l.w.nodes {
		if n.proc == nil || n.paused {
			continue
		}
		for _, h := range n.proc.handlers {
			if h.run.Job != l.job || h.excused() || h.grant == a {
				continue
			}
			if h.run.Slot == a.run.slot || a.skip || h.grant.skip {
				if left := h.believes(); left > simGrain {
					l.fail(ruleBelief, a.run.slot, "%s is granted it while %s believes to hold %s for %v more", p.name, n.proc.name, simSlot(h.run.Slot), left)
				}
			}
		}
	}
	if before != nil && !before.released {
		l.checkReplaced(a, before)
	}
	if before == nil {
		l.watch(a.run)
	}
}

// checkReplaced: a runner that was healthy during its last lease renewed it.
func (l *simLedger) checkReplaced(a, before *simAttempt) {
	q := before.proc
	if q.dead {
		return
	}
	h := q.handlerOf(before)
	if h == nil || h.stuck {
		return
	}
	since, ok := q.healthySince()
	if ok && since < l.w.now-before.length*int64(time.Millisecond)-int64(time.Second) {
		l.fail(ruleHealthy, a.run.slot, "%s is granted attempt %d, though %s, healthy since %s, runs attempt %d", a.proc.name, a.number, q.name, simClock(since), before.number)
	}
}

// watch looks at a run until it ends: when its lease is over, or it was handed
// over, a healthy instance must take it over, or close it, within two
// heartbeats.
func (l *simLedger) watch(r *simRun) {
	left := r.last().left(l.w.store.now())
	l.w.after(left+500*time.Millisecond, func() {
		if !r.ended {
			l.checkTakeovers(r)
			l.watch(r)
		}
	})
}

// watchHandOver looks at a run that was handed over until somebody has it.
func (l *simLedger) watchHandOver(r *simRun) {
	a := r.last()
	l.w.after(500*time.Millisecond, func() {
		if !r.ended && r.last() == a {
			l.checkTakeovers(r)
			l.watchHandOver(r)
		}
	})
}

func (l *simLedger) checkTakeovers(r *simRun) {
	for _, n := range l.w.nodes {
		if n.proc != nil {
			l.checkTakeover(r, n.proc)
		}
	}
}

func (l *simLedger) checkTakeover(r *simRun, q *simProcess) {
	w, a := l.w, r.last()
	since, ok := q.healthySince()
	if !ok || q.maxRuns > 0 || q.jobs[l.no].absent || a.live(w.store.now()) {
		return
	}
	v := q.jobs[l.no]
	t := &v.spec.Timing
	over := w.now - (w.store.now()-a.end)*int64(time.Millisecond) // true time when the lease ended
	if !a.isOpen {
		over = a.closedAt
	}
	over = max(over, a.at)
	for _, o := range l.open {
		if o == r || !(t.Overlap == store.OverlapSkip || o.last().skip) {
			continue
		}
		if o.live(w.store.now()) {
			return // in the way
		}
		over = max(over, min(o.last().endTrue(w), w.now))
	}
	over = max(over, l.lastEnd) // another run may have been in the way until then
	beat := q.shortestBeat()
	known := max(a.at, since) + int64(q.sweepPeriod()+beat)
	if at := r.awareSince(q); at != 0 && at < known {
		known = max(at, since+int64(2*beat))
	}
	deadline := max(over, known) + int64(2*t.Heartbeat+500*time.Millisecond)
	if newest := v.prev(q.instant().ms()); newest > r.slot {
		// A newer slot that fell due meanwhile goes first.
		due := newest*int64(time.Millisecond) - simEpoch - q.node.offset
		if due > over-int64(time.Minute) {
			deadline = max(deadline, due+int64(t.Jitter+t.Heartbeat+time.Second))
		}
	}
	if w.now > deadline {
		what := "its lease was over"
		if !a.isOpen {
			what = "it was handed over"
		}
		l.fail(ruleTakeover, r.slot, "%s, healthy since %s, has not taken it over %v after %s", q.name, simClock(since), time.Duration(w.now-over).Round(time.Millisecond), what)
	}
}

func (a *simAttempt) endTrue(w *simWorld) int64 {
	if !a.isOpen {
		return a.closedAt
	}
	return w.now - (w.store.now()-a.end)*int64(time.Millisecond)
}

// checkOnlyHeldBy: of all that is unfinished, the only instance that is up runs
// it.
func (w *simWorld) checkOnlyHeldBy(p *simProcess) {
	if w.broken != nil {
		return
	}
	ans, _ := w.store.unfinished(nil)
	for i := range ans.Runs {
		u := &ans.Runs[i]
		if u.Holder != p.name || !u.Open || u.Left == 0 {
			w.fail(ruleTidy, w.now-int64(5*time.Minute), u.Job, u.Slot, "attempt %d of %s is unfinished, %v left, and %s has been up for %v", u.Attempt, u.Holder, u.Left, p.name, time.Duration(w.now-p.started).Round(time.Second))
		}
	}
}

func (w *simWorld) checkNothingUnfinished() {
	if w.broken != nil {
		return
	}
	ans, _ := w.store.unfinished(nil)
	for i := range ans.Runs {
		u := &ans.Runs[i]
		w.fail(ruleTidy, w.now-int64(2*time.Minute), u.Job, u.Slot, "attempt %d of %s is unfinished, and all have stopped", u.Attempt, u.Holder)
	}
}
