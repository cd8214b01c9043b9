package core

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simWatch is what the simulation remembers of one process to judge it.
type simWatch struct {
	stoppedAt  int64
	lost       map[*run]bool // told so by the store
	ended      map[*run]simEnded
	sent       map[*run]int64 // true time of the last claim or heartbeat
	mustCancel []*simHandler  // to be cancelled before the step ends
	recalls    int            // in the current minute
	recallsAt  int64
	skewTold   bool
}

func (p *simProcess) fail(rule string, r *run, format string, args ...any) {
	from := p.w.now - int64(time.Minute)
	if x := p.w.ledger[p.w.jobNo[r.job.spec.Name]].runs[r.slot]; x != nil {
		from = min(from, x.attempts[0].at)
	}
	p.w.fail(rule, from, r.job.spec.Name, r.slot, p.name+" "+format, args...)
}

// checkClaim judges a claim as it is sent.
func (p *simProcess) checkClaim(r *run, req *store.ClaimRequest) {
	p.watch.sent[r] = p.w.now
	v, ms := p.view(req.Job), p.instant().ms()
	t := &v.spec.Timing
	by := late(ms, req.Slot)
	if p.stopping {
		p.fail(ruleStopped, r, "claims")
	}
	if p.maxRuns > 0 {
		busy := len(p.handlers) + 1
		for _, c := range p.calls {
			if c.verb == "claim" {
				busy++
			}
		}
		if busy > p.maxRuns {
			p.fail(ruleCapacity, r, "claims while it has %d runs of at most %d", busy-1, p.maxRuns)
		}
	}
	switch req.Reason {
	case store.ReasonScheduled:
		if by < 0 && !p.node.wentBack() {
			p.fail(ruleEarly, r, "claims %v before the slot", -by)
		}
		if by > t.MaxLate {
			p.fail(ruleLate, r, "claims %v after the slot; max late is %v", by, t.MaxLate)
		}
	case store.ReasonCatchUp:
		p.checkCatchUp(v, r, req, ms)
	case store.ReasonTakeover:
		if v.l.runs[req.Slot] == nil {
			p.fail(ruleTakesReal, r, "claims a takeover of a run that nobody was granted")
		}
		if !r.unknown { // else it may have been granted already
			p.checkNewerFirst(v, r, ms)
		}
	}
	if req.Reason != store.ReasonTakeover {
		if id, asked := v.wishes[req.Slot]; asked && id != req.ID {
			p.fail(ruleOneWish, r, "asks again with another claim id")
		}
		v.wishes[req.Slot] = req.ID
	}
}

func (p *simProcess) checkCatchUp(v *simJobView, r *run, req *store.ClaimRequest, ms int64) {
	newest := v.prev(ms)
	if p.w.plan.kind != store.KindLease {
		p.fail(ruleClaimOnly, r, "catches up")
	}
	if by := late(ms, req.Slot); by > v.spec.Timing.CatchUp {
		p.fail(ruleOnce, r, "catches it up after %v; catch-up is %v", by, v.spec.Timing.CatchUp)
	}
	if v.caughtUp == req.Slot {
		return // asked again
	}
	v.caughtUp = req.Slot
	if newest > req.Slot || newest < req.Slot && !p.node.wentBack() {
		p.fail(ruleOnce, r, "catches it up; the newest past slot is %s", simSlot(newest))
	}
	if v.catchUps++; v.catchUps > v.recoveries {
		p.fail(ruleOnce, r, "catches up for the %d. time, with %d reasons", v.catchUps, v.recoveries)
	}
}

// checkNewerFirst: before a takeover, a newer slot that fell due, and that this
// process can still claim, was asked for.
func (p *simProcess) checkNewerFirst(v *simJobView, r *run, ms int64) {
	if p.w.plan.kind != store.KindLease {
		p.fail(ruleClaimOnly, r, "takes over")
	}
	newest := v.prev(ms)
	if newest <= r.slot || newest <= v.since || newest <= v.settled || v.unanswered(newest) || late(ms, newest) > v.spec.Timing.MaxLate {
		return
	}
	if _, waits := v.early[newest]; waits {
		return
	}
	if x := v.l.runs[newest]; x.knownTo(p) {
		return
	}
	p.fail(ruleNewer, r, "claims a takeover while the newer slot %s is due", simSlot(newest))
}

func (r *simRun) awareSince(p *simProcess) int64 {
	for _, a := range r.aware {
		if a.p == p {
			return a.at
		}
	}
	return 0
}

// knownTo reports whether a process knows who has a run, or had it: another, or itself.
func (r *simRun) knownTo(p *simProcess) bool {
	return r != nil && (r.awareSince(p) != 0 || slices.ContainsFunc(r.attempts, func(a *simAttempt) bool { return a.proc == p && a.told }))
}

func (l *simLedger) aware(p *simProcess, slot int64) {
	if r := l.runs[slot]; r != nil && r.awareSince(p) == 0 {
		r.aware = append(r.aware, simAware{p, l.w.now})
	}
}

func (p *simProcess) noteClaimAnswer(r *run, req *store.ClaimRequest, ans *store.ClaimAnswer, err error) {
	if err != nil {
		return
	}
	v := p.view(req.Job)
	switch ans.Verdict {
	case store.VerdictWon:
		if a := v.l.ids[req.ID]; a != nil {
			a.told = true
		}
	case store.VerdictRunning:
		v.l.aware(p, req.Slot)
	case store.VerdictOverlap:
		v.l.aware(p, ans.Slot)
	case store.VerdictEarly:
		v.early[req.Slot] = true
	}
	if req.Reason != store.ReasonTakeover {
		delete(v.wishes, req.Slot)
		v.settled = max(v.settled, req.Slot)
	}
}

func (p *simProcess) noteRecallAnswer(ans *store.UnfinishedAnswer, err error) {
	if err != nil {
		return
	}
	for i := range ans.Runs {
		u := &ans.Runs[i]
		p.w.store.ledgerOf(u.Job).aware(p, u.Slot)
	}
}

func (p *simProcess) noteBeatAnswer(r *run, ans *store.HeartbeatAnswer, err error) {
	h := p.handler(r)
	if h == nil || err != nil {
		return
	}
	if ans.Renewed {
		h.renewedAt = p.watch.sent[r]
	} else if r.state == running {
		p.watch.lost[r] = true
		p.watch.mustCancel = append(p.watch.mustCancel, h)
	}
}

func (p *simProcess) checkBeat(r *run) {
	p.watch.sent[r] = p.w.now
	if p.w.plan.kind != store.KindLease {
		p.fail(ruleClaimOnly, r, "sends a heartbeat")
	}
	if p.watch.lost[r] {
		p.fail(ruleLost, r, "sends a heartbeat though it was told that the run is lost")
	}
	if h := p.handler(r); h != nil && h.cause != nil && p.node.mono()-h.cancelledAt > int64(r.job.spec.Timing.StopTimeout+simNotices) {
		p.fail(ruleStuck, r, "still renews, %v after its handler was cancelled", time.Duration(p.node.mono()-h.cancelledAt))
	}
}

// checkRecall: a recall a heartbeat and a sweep a lease; twice that, and some, is
// too many even with retries.
func (p *simProcess) checkRecall() {
	if p.w.plan.kind != store.KindLease {
		p.w.fail(ruleClaimOnly, p.w.now, "", 0, "%s recalls", p.name)
	}
	if p.w.now-p.watch.recallsAt > int64(time.Minute) {
		p.watch.recallsAt, p.watch.recalls = p.w.now, 0
	}
	p.watch.recalls++
	if most := 20 + 3*int(time.Minute/p.shortestBeat()); p.watch.recalls > most {
		p.w.fail(ruleRates, p.w.now-int64(time.Minute), "", 0, "%s recalls more than %d times a minute", p.name, most)
	}
}

// checkStart judges a handler as it starts.
func (p *simProcess) checkStart(h *simHandler) {
	r, w := h.r, p.w
	l := w.store.ledgerOf(h.run.Job)
	x := l.runs[h.run.Slot]
	if a := x.attempt(h.run.Token); w.plan.kind == store.KindLease || a != nil {
		h.grant = a
	} else if x != nil {
		h.grant = x.last() // without tokens
	}
	a := h.grant
	switch {
	case a == nil || a.proc != p || a.number != h.run.Attempt || a.reason != h.run.Reason:
		p.fail(ruleGranted, r, "starts a handler of attempt %d, token %d, which was not granted to it", h.run.Attempt, h.run.Token)
		return
	case a.begun:
		p.fail(ruleGranted, r, "starts a handler of attempt %d again", h.run.Attempt)
	case p.stopping:
		p.fail(ruleStopped, r, "starts a handler")
	case p.maxRuns > 0 && len(p.handlers) >= p.maxRuns:
		p.fail(ruleCapacity, r, "starts handler %d of at most %d", len(p.handlers)+1, p.maxRuns)
	}
	a.begun = true
	if a.confirmed {
		w.seen.StartsConfirmedFirst++
	}
	v := p.view(h.run.Job)
	if a.reason == store.ReasonScheduled && a.number == 1 {
		if by := late(p.instant().ms(), h.run.Slot); by > v.spec.Timing.MaxLate+store.LateTolerance {
			p.fail(ruleLate, r, "starts a first attempt %v after the slot", by)
		}
	}
	if w.plan.kind != store.KindLease {
		return
	}
	now := w.store.now()
	if !a.live(now) && !h.excused() {
		p.fail(ruleStartDead, r, "starts attempt %d; %s", a.number, l.describe(x, now))
	}
}

// checkAfterStep judges a process after it did what its machine said.
func (p *simProcess) checkAfterStep() {
	for _, h := range p.watch.mustCancel {
		if h.cause == nil && !h.done {
			p.fail(ruleLost, h.r, "was told that the run is lost and lets the handler go on")
		}
	}
	p.watch.mustCancel = p.watch.mustCancel[:0]
	for _, h := range p.handlers {
		h.checkConduct()
	}
}

// expectStop: Run returns within the grace, the stop timeout for the handlers
// and again for unanswered finishes, and a call's timeout; pauses don't count.
func (p *simProcess) expectStop() {
	bound := p.w.plan.grace + 2*p.w.plan.longestStop() + 15*time.Second
	p.w.after(bound, func() {
		switch {
		case p.dead:
		case p.node.paused || p.node.resumed > p.w.now-int64(bound):
			p.expectStop()
		default:
			p.w.fail(ruleStops, p.watch.stoppedAt, "", 0, "%s was told to stop %v ago and still runs", p.name, time.Duration(p.w.now-p.watch.stoppedAt))
		}
	})
}

// checkExit: what a process was granted and told is finished or handed over when
// it has stopped, unless its handler ignores its context or the store could not
// be reached.
func (p *simProcess) checkExit() {
	n := p.node
	if p.w.plan.kind != store.KindLease || max(n.disturbed, p.w.store.disturbed) > p.watch.stoppedAt-int64(30*time.Second) || p.w.store.down() || n.cut != 0 {
		return
	}
	for _, l := range p.w.ledger {
		for _, r := range l.open {
			a := r.last()
			if a.proc != p || !a.isOpen || !a.told || a.givenUp {
				continue
			}
			if h := p.handlerOf(a); h == nil || !h.stuck {
				p.w.fail(ruleHandsOver, min(a.at, p.watch.stoppedAt), l.job, r.slot, "%s has stopped and attempt %d is still open", p.name, a.number)
			}
		}
	}
}

func (p *simProcess) handlerOf(a *simAttempt) *simHandler {
	for _, h := range p.handlers {
		if h.grant == a {
			return h
		}
	}
	return nil
}
