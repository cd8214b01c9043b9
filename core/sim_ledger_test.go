package core

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simLedger keeps a job's books beside the store: which attempts were granted,
// to whom, and until when their leases last on the store's clock. It is written
// from requests and answers alone, and judges every answer.
type simLedger struct {
	w         *simWorld
	no        int
	job       string
	granted   bool
	newest    int64
	lastToken store.Token
	runs      map[int64]*simRun
	open      []*simRun // unfinished, in the order of their first grants
	ids       map[store.ClaimID]*simAttempt
	lastEnd   int64 // true time when a run last ended
	tooEarly  map[simAsker]bool

	historySize int // as the last claim asked
}

// simAsker asked for a slot as a catch-up, which in truth it is not: the store's clock
// had not reached it. Perhaps it did not hear so.
type simAsker struct {
	p    *simProcess
	slot int64
}

type simRun struct {
	slot         int64
	attempts     []*simAttempt
	max, counted int
	ended        bool
	firstAt      int64 // the store's clock at the first grant, and when it ended
	endedAt      int64
	aware        []simAware
}

// simAware: a process was told of a run that another one has.
type simAware struct {
	p  *simProcess
	at int64 // true time
}

type simAttempt struct {
	run    *simRun
	number int
	token  store.Token
	id     store.ClaimID
	proc   *simProcess
	reason store.Reason
	skip   bool

	// On the store's clock, in milliseconds.
	startedAt, endedAt int64
	end, length        int64 // of the lease

	isOpen    bool
	released  bool
	outcome   store.Outcome // 0: not finished by its runner
	text      string        // the error that it was finished with
	begun     bool          // its handler was started
	told      bool          // its process was told Won
	confirmed bool          // a heartbeat was accepted
	givenUp   bool          // its process gave the finish up
	shaken    bool          // the store's clock jumped forward since the last renewal

	at, closedAt int64 // true times of the grant, and when it ceased to be open
}

func newSimLedger(w *simWorld, no int) *simLedger {
	return &simLedger{w: w, no: no, job: w.plan.jobs[no].name, runs: map[int64]*simRun{}, ids: map[store.ClaimID]*simAttempt{}, tooEarly: map[simAsker]bool{}}
}

func (a *simAttempt) live(now int64) bool { return a.isOpen && now < a.end }

func (r *simRun) last() *simAttempt { return r.attempts[len(r.attempts)-1] }

func (r *simRun) live(now int64) bool { return r != nil && !r.ended && r.last().live(now) }

func (r *simRun) attempt(t store.Token) *simAttempt {
	if r != nil {
		for _, a := range r.attempts {
			if a.token == t {
				return a
			}
		}
	}
	return nil
}

func (l *simLedger) fail(rule string, slot int64, format string, args ...any) {
	from := l.w.now
	if r := l.runs[slot]; r != nil {
		from = r.attempts[0].at
	}
	l.w.fail(rule, min(from, l.w.now-int64(time.Minute)), l.job, slot, format, args...)
}

// cut is what a store whose clock went back does to leases.
func (l *simLedger) cut(now int64) {
	for _, r := range l.open {
		a := r.last()
		a.end = min(a.end, now+a.length)
	}
}

func (l *simLedger) shake() {
	for _, r := range l.open {
		r.last().shaken = true
	}
}

// claimed judges the answer to a claim.
func (l *simLedger) claimed(p *simProcess, c *simCall, req *store.ClaimRequest, ans *store.ClaimAnswer, err error) {
	if err != nil {
		l.fail(ruleValid, req.Slot, "%s's claim: %v", p.name, err)
		return
	}
	now := l.w.store.now()
	l.cut(now)
	r := l.runs[req.Slot]
	live := r.live(now)
	unfinished := r != nil && !r.ended
	justified := true
	switch ans.Verdict {
	case store.VerdictWon:
		if a := l.ids[req.ID]; a != nil {
			l.again(a, p, c, req, ans, now)
		} else {
			l.grant(p, c, req, ans, now)
		}
		return
	case store.VerdictRunning:
		justified = (live || unfinished && req.After != r.last().number) && l.names(ans, r, now) && ans.Attempt == r.last().number
	case store.VerdictOverlap:
		way := l.runs[ans.Slot]
		justified = ans.Slot != req.Slot && way.live(now) && (way.last().skip || req.Overlap == store.OverlapSkip) && l.names(ans, way, now)
		l.w.seen.Overlaps++
	case store.VerdictFinished:
		justified = r != nil && (r.ended || l.w.plan.kind == store.KindClaimOnly) && (ans.Status == 0 || ans.Status == r.last().status())
	case store.VerdictSuperseded:
		justified = l.granted && req.Slot < l.newest && !live
		if unfinished {
			l.close(r, now)
			if r.last().released {
				r.endedAt = r.last().endedAt // history does not show when what was handed over was closed so
			}
		}
	case store.VerdictExhausted:
		justified = unfinished && !live && r.counted >= r.max
		l.w.seen.Exhausted++
		if unfinished {
			l.close(r, now)
		}
	case store.VerdictLate:
		justified = (r == nil || l.forgotten(r.last())) && now-req.Slot > (req.MaxLate+store.LateTolerance).Milliseconds()
	case store.VerdictEarly:
		justified = (r == nil || l.forgotten(r.last())) && req.Slot-now > req.MaxEarly.Milliseconds()
		l.w.seen.Early++
		if req.Reason == store.ReasonCatchUp {
			l.tooEarly[simAsker{p, req.Slot}] = true
		}
	}
	if a := l.ids[req.ID]; a != nil && a.isOpen && !l.forgotten(a) {
		justified = false // its answer was lost, or this is a copy: it is Won again
	}
	l.historySize = req.HistorySize
	if !justified {
		l.fail(ruleVerdict, req.Slot, "%s is told %v, but %s", p.name, ans.Verdict, l.describe(r, now))
	}
}

// again: the store repeats a grant.
func (l *simLedger) again(a *simAttempt, p *simProcess, c *simCall, req *store.ClaimRequest, ans *store.ClaimAnswer, now int64) {
	switch {
	case a.token != ans.Token || a.number != ans.Attempt || a.run.slot != req.Slot:
		l.fail(ruleOneWish, req.Slot, "the claim that was granted as attempt %d with token %d is granted again as attempt %d with token %d", a.number, a.token, ans.Attempt, ans.Token)
	case !a.isOpen && l.w.plan.kind == store.KindLease:
		l.fail(ruleDead, req.Slot, "attempt %d of %s, which is over, is granted again", a.number, p.name)
	case l.w.plan.kind == store.KindLease && ans.Left.Milliseconds() > max(0, a.end-now):
		l.fail(ruleBelief, req.Slot, "%s is told that %v are left; %d ms are", p.name, ans.Left, a.end-now)
	}
	if !c.copy {
		l.w.seen.SettledByID++
	}
}

// grant judges a new attempt and enters it.
func (l *simLedger) grant(p *simProcess, c *simCall, req *store.ClaimRequest, ans *store.ClaimAnswer, now int64) {
	r := l.runs[req.Slot]
	var before *simAttempt
	number := 1
	if r != nil {
		before = r.last()
		number = before.number + 1
	}
	fail := func(rule, format string, args ...any) { l.fail(rule, req.Slot, format, args...) }
	lease := l.w.plan.kind == store.KindLease
	switch {
	case !lease && r != nil:
		fail(ruleOneWinner, "%s wins the slot, and %s has won it before", p.name, before.proc.name)
	case ans.Attempt != number:
		fail(ruleOneWinner, "attempt %d is granted to %s; the next one is %d", ans.Attempt, p.name, number)
	case ans.Token <= l.lastToken && lease:
		fail(ruleTokens, "token %d is granted after %d", ans.Token, l.lastToken)
	case before.wasLive(now):
		fail(ruleHeld, "attempt %d is granted to %s while %s holds attempt %d for %d ms more", number, p.name, before.proc.name, before.number, before.end-now)
	case r != nil && r.ended:
		fail(ruleOver, "attempt %d is granted to %s, but the run has ended", number, p.name)
	case r != nil && r.counted >= r.max:
		fail(ruleAttempts, "attempt %d is granted, and %d of %d were used", number, r.counted, r.max)
	case lease && l.granted && req.Slot < l.newest:
		fail(ruleNewest, "it is granted to %s after the newer slot %s", p.name, simSlot(l.newest))
	case r == nil && now-req.Slot > (req.MaxLate+store.LateTolerance).Milliseconds():
		fail(ruleLate, "%s is granted a first attempt %d ms after the slot", p.name, now-req.Slot)
	case r == nil && req.Slot-now > req.MaxEarly.Milliseconds():
		fail(ruleEarly, "%s is granted a first attempt %d ms before the slot", p.name, req.Slot-now)
	}
	if r == nil {
		r = &simRun{slot: req.Slot, max: req.MaxAttempts, firstAt: now}
		l.runs[req.Slot] = r
		l.open = append(l.open, r)
	}
	length := req.Lease.Milliseconds()
	a := &simAttempt{run: r, number: number, token: ans.Token, id: req.ID, proc: p, reason: req.Reason,
		skip: req.Overlap == store.OverlapSkip, end: now + length, length: length, isOpen: true, at: l.w.now, startedAt: now}
	if before != nil && before.isOpen {
		l.shut(before)
		l.w.seen.Takeovers++
	} else if before != nil {
		l.w.seen.HandOvers++
	}
	r.attempts = append(r.attempts, a)
	r.counted++
	l.ids[a.id] = a
	l.lastToken = max(l.lastToken, ans.Token)
	l.historySize = req.HistorySize
	if !l.granted || l.newest < r.slot {
		l.granted, l.newest = true, r.slot
	}
	if lease {
		l.checkAlone(r, a, now)
		l.closeOlder(r.slot, now)
	}
	l.w.seen.Grants++
	if c.copy || c.done || p.dead {
		l.w.seen.GrantedUnasked++
	}
	l.w.note(simEntry{who: "store", what: "grants attempt {n} to " + p.name + " for {d}", job: l.job, slot: r.slot, n: int64(number), d: req.Lease})
	l.checkGrant(a, before, p, now)
}

func (a *simAttempt) wasLive(now int64) bool { return a != nil && a.live(now) }

// checkAlone: never two live leases of a skip job.
func (l *simLedger) checkAlone(r *simRun, a *simAttempt, now int64) {
	for _, o := range l.open {
		if o != r && o.live(now) && (a.skip || o.last().skip) {
			l.fail(ruleAlone, r.slot, "%s holds it while %s holds slot %s for %d ms more", a.proc.name, o.last().proc.name, simSlot(o.slot), o.last().end-now)
		}
	}
}

func (l *simLedger) closeOlder(slot, now int64) {
	for _, o := range slices.Clone(l.open) {
		if o.slot < slot && !o.live(now) {
			l.close(o, now)
		}
	}
}

// close: the run ended without its runner's saying so.
func (l *simLedger) close(r *simRun, now int64) {
	if r.last().isOpen {
		l.shut(r.last())
	}
	l.endRun(r, now)
}

func (l *simLedger) shut(a *simAttempt) {
	a.isOpen, a.closedAt, a.endedAt = false, l.w.now, l.w.store.now()
}

func (l *simLedger) endRun(r *simRun, now int64) {
	r.ended, r.endedAt = true, now
	l.lastEnd = l.w.now
	if i := slices.Index(l.open, r); i >= 0 {
		l.open = slices.Delete(l.open, i, i+1)
	}
}

// beaten judges the answer to a heartbeat.
func (l *simLedger) beaten(c *simCall, req *store.HeartbeatRequest, ans *store.HeartbeatAnswer, err error) {
	if err != nil {
		l.fail(ruleValid, req.Slot, "%s's heartbeat: %v", c.p.name, err)
		return
	}
	now := l.w.store.now()
	l.cut(now)
	a := l.runs[req.Slot].attempt(req.Token)
	open := a != nil && a.isOpen
	if open != ans.Renewed {
		l.fail(ruleDead, req.Slot, "%s's heartbeat is answered renewed=%v, but the attempt is open=%v", c.p.name, ans.Renewed, open)
		return
	}
	if !open {
		return
	}
	dead := !a.live(now)
	length := req.Lease.Milliseconds()
	a.end = max(a.end, now+length)
	a.length = max(length, a.end-now)
	a.shaken = false
	a.confirmed = true
	if dead {
		l.checkAlone(a.run, a, now)
	}
}

// finished judges the answer to a finish.
func (l *simLedger) finished(c *simCall, req *store.FinishRequest, ans *store.FinishAnswer, err error) {
	if err != nil {
		l.fail(ruleValid, req.Slot, "%s's finish: %v", c.p.name, err)
		return
	}
	now := l.w.store.now()
	l.cut(now)
	a := l.runs[req.Slot].attempt(req.Token)
	switch {
	case a == nil:
		l.fail(ruleDead, req.Slot, "%s finishes an attempt that was never granted", c.p.name)
	case a.isOpen && !ans.Recorded && l.forgotten(a):
		l.shut(a)
	case a.isOpen && !ans.Recorded:
		l.fail(ruleDead, req.Slot, "%s's finish of an open attempt is refused", c.p.name)
	case a.isOpen:
		a.outcome, a.text = req.Outcome, store.CutError(req.Error)
		l.shut(a)
		l.w.note(simEntry{who: "store", what: "records {text} of " + a.proc.name, job: l.job, slot: req.Slot, text: req.Outcome.String()})
		if req.Outcome == store.OutcomeReleased {
			a.released = true
			a.run.counted--
			l.watchHandOver(a.run)
		} else {
			l.endRun(a.run, now)
		}
	case ans.Recorded != a.endedAs(req.Outcome) && (ans.Recorded || l.remembers(a.run)):
		l.fail(ruleDead, req.Slot, "%s's attempt ended as %v, and its finish as %v is answered recorded=%v", c.p.name, a.status(), req.Outcome, ans.Recorded)
	}
}

// endedAs reports whether an attempt that is over reads like an outcome.
func (a *simAttempt) endedAs(o store.Outcome) bool {
	return a.status() == o.Status() && a.released == (o == store.OutcomeReleased)
}

// status is what history says of an attempt.
func (a *simAttempt) status() store.Status {
	switch {
	case a.isOpen:
		return store.StatusRunning
	case a.outcome != 0:
		return a.outcome.Status()
	}
	return store.StatusInterrupted // taken over, or closed
}

// forgotten: a claim-only store may remember a run for a bounded time.
func (l *simLedger) forgotten(a *simAttempt) bool {
	window := l.w.plan.claimOnly.Memory.Window
	return l.w.plan.kind == store.KindClaimOnly && window > 0 && l.w.now-a.at >= int64(window)
}

func (l *simLedger) describe(r *simRun, now int64) string {
	if r == nil {
		return "nothing was granted of it"
	}
	a := r.last()
	switch {
	case r.ended:
		return "it has ended"
	case a.released:
		return "it was handed over"
	}
	return a.proc.name + " has attempt " + simItoa(a.number) + " for " + (time.Duration(a.end-now) * time.Millisecond).String() + " more"
}
