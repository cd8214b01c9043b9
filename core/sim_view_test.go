package core

import (
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simJobView is what the simulation notes about one job in one process.
type simJobView struct {
	p      *simProcess
	l      *simLedger
	spec   Job
	gap    time.Duration
	cursor int64 // slots up to this one were audited; at first the process's beginning
	asked  int64 // the same, for whether it asked in time
	since  int64 // Unix milliseconds of its wall clock when the job was added

	skips      []simSkip
	wishes     map[int64]store.ClaimID // first attempts asked for and not settled
	early      map[int64]bool          // slots that the store's clock had not reached
	settled    int64                   // the newest slot that was answered or skipped
	catchUps   int                     // slots that it tried to catch up
	caughtUp   int64                   // the last of them
	recoveries int                     // reasons for a catch-up: the start, and slots skipped for want of the store
	absent     bool                    // the job is removed at present
}

// simSkip is a Skipped event; again says that the slot may still be caught up.
type simSkip struct {
	from, to int64
	again    bool
}

func newSimJobView(p *simProcess, no int) *simJobView {
	plan := p.w.plan
	spec := *plan.spec(no, p.version)
	at := p.instant().ms()
	return &simJobView{p: p, l: p.w.ledger[no], spec: spec, gap: spec.Schedule.MinGap(), cursor: at, asked: at, since: at, settled: noSlot, caughtUp: noSlot, wishes: map[int64]store.ClaimID{}, early: map[int64]bool{}, recoveries: 1}
}

func (v *simJobView) next(after int64) int64 {
	return v.spec.Schedule.Next(time.UnixMilli(after)).UnixMilli()
}

func (v *simJobView) prev(at int64) int64 {
	return v.spec.Schedule.Prev(time.UnixMilli(at)).UnixMilli()
}

func (p *simProcess) view(job string) *simJobView { return p.jobs[p.w.jobNo[job]] }

// agrees reports whether the node's clock and the store's agree so well that
// neither Late, Early nor a newer slot granted early can keep the process from a
// slot that it claims in time.
func (v *simJobView) agrees() bool {
	skew := v.p.node.skew().Abs()
	return skew+v.spec.Timing.Jitter+250*time.Millisecond < maxEarly(v.gap)
}

// skipped notes that slots were skipped by name, and says if a healthy instance
// lost one that way.
func (v *simJobView) skipped(e *Skipped) {
	p := v.p
	v.skips = append(v.skips, simSkip{e.Slot, e.Last, e.Reason == SkipUnreachable || e.Reason == SkipUnknown})
	v.settled = max(v.settled, e.Last)
	delete(v.wishes, e.Slot)
	p.w.note(simEntry{who: p.name, what: "skips it: {text} {err}", job: e.Job, slot: e.Slot, text: string(e.Reason), err: e.Err})
	if v.absent {
		return // removed here: it is the others' now
	}
	switch e.Reason {
	case SkipUnreachable, SkipUnknown:
		v.recoveries++
		v.expectCaughtUp(e.Last, p.w.now)
	case SkipOverlap, SkipStopped, SkipRemoved:
		return
	case SkipEarly:
		if latest := e.Last + v.spec.Timing.MaxLate.Milliseconds(); e.By > 0 && !p.stopping && e.Slot > v.since && p.instant().ms()+e.By.Milliseconds() <= latest {
			p.w.fail(ruleReached, p.w.now, e.Job, e.Last, "%s gives it up as %v early; max late is %v", p.name, e.By, v.spec.Timing.MaxLate)
		}
	case SkipCapacity:
		if p.maxRuns == 0 {
			p.w.fail(ruleCapacity, p.w.now, e.Job, e.Slot, "%s skips it for capacity and has no bound", p.name)
		}
		return
	}
	due := e.Last*int64(time.Millisecond) - simEpoch - p.node.offset
	since, ok := p.healthySince()
	if newer := v.l.runs[v.l.newest]; e.Reason == SkipSuperseded && newer != nil && newer.attempts[0].at < since {
		return // granted early, while the store's clock was ahead
	}
	if ok && since < due-int64(2*time.Second) && v.agrees() && v.l.runs[e.Last] == nil {
		p.w.fail(ruleStarve, due, e.Job, e.Last, "%s, healthy since %s, skips it (%s) and nobody runs it", p.name, simClock(since), e.Reason)
	}
}

// skip returns the last skip of a slot, or nil.
func (v *simJobView) skip(slot int64) *simSkip {
	for i := len(v.skips) - 1; i >= 0; i-- {
		if s := &v.skips[i]; s.from <= slot && slot <= s.to {
			return s
		}
	}
	return nil
}

// unanswered: it was asked for and given up for want of an answer; what became of
// the claim is still to be found out.
func (v *simJobView) unanswered(slot int64) bool {
	s := v.skip(slot)
	return s != nil && s.again
}

const simAuditEvery = time.Minute

// audits looks every minute whether all slots that fell due were run or skipped.
func (p *simProcess) audits() {
	p.w.after(simAuditEvery, func() {
		if !p.dead && !p.stopping {
			p.audit()
			p.audits()
		}
	})
}

// audit: of each slot that fell due on this process's clock while it was up, and
// that can't be claimed any more, somebody was granted a run, or this process
// named why it skips it.
func (p *simProcess) audit() {
	n := p.node
	if n.paused || p.w.now-n.settled < int64(15*time.Second) {
		return
	}
	p.auditAsked()
	p.checkSkew()
	for _, v := range p.jobs {
		if v.absent {
			continue
		}
		limit := p.instant().ms() - (v.spec.Timing.MaxLate + callTimeout(p.m.jobs[v.spec.Name]) + 2*time.Second).Milliseconds()
		for slot := v.next(v.cursor); slot <= limit; slot = v.next(slot) {
			v.cursor = slot
			if v.l.runs[slot] == nil && v.skip(slot) == nil {
				p.w.fail(ruleNamed, p.w.now-int64(2*v.spec.Timing.MaxLate), v.spec.Name, slot, "%s was up, and the slot was neither granted nor skipped by name", p.name)
				return
			}
		}
		for len(v.skips) > 0 && v.skips[0].to < v.cursor-int64(time.Hour/time.Millisecond) {
			v.skips = v.skips[1:]
		}
	}
}

// auditAsked: of each slot that fell due while the process was healthy, it asked
// when the jitter was over, unless it knew already who has the run.
func (p *simProcess) auditAsked() {
	since, ok := p.healthySince()
	if !ok || p.maxRuns > 0 {
		return
	}
	wall, n := p.instant().ms(), p.node
	from := (simEpoch+since+n.offset)/int64(time.Millisecond) + 2000
	for _, v := range p.jobs {
		if v.absent {
			continue
		}
		limit := wall - (v.spec.Timing.Jitter + time.Second).Milliseconds()
		for slot := v.next(max(v.asked, from)); slot <= limit; slot = v.next(slot) {
			v.asked = slot
			_, asking := v.wishes[slot]
			_, waits := v.early[slot]
			if r := v.l.runs[slot]; slot <= v.settled || asking || waits || v.unanswered(slot) || r.knownTo(p) {
				continue
			}
			p.w.fail(ruleAsks, p.w.now-int64(2*time.Minute), v.spec.Name, slot, "%s, healthy since %s, has not asked for it", p.name, simClock(since))
		}
	}
}

// expectCatchUp: after a start, the newest past slot of each job is run if nobody
// has run it.
func (p *simProcess) expectCatchUp() {
	for _, v := range p.jobs {
		if slot := v.prev(p.instant().ms()); v.spec.Timing.CatchUp > 0 {
			v.expectCaughtUp(slot, p.w.now)
		}
	}
}

// expectCaughtUp looks from time to time whether a missed slot is run, as long
// as it is the newest and young enough, and something could be expected. It was
// missed at the given time.
func (v *simJobView) expectCaughtUp(slot, missed int64) {
	p := v.p
	w, t := p.w, &v.spec.Timing
	if t.CatchUp == 0 {
		return
	}
	w.after(5*time.Second, func() {
		ms := p.instant().ms()
		if p.dead || p.stopping || v.absent || p.jobs[v.l.no] != v || v.prev(ms) != slot || ms-slot >= (t.CatchUp-15*time.Second).Milliseconds() || v.l.granted && v.l.newest >= slot {
			return
		}
		if skip := v.skip(slot); skip != nil && !skip.again {
			return // it stays skipped
		}
		since, ok := p.healthySince()
		need := t.Jitter + 3*time.Second
		if since != p.started {
			need += p.sweepPeriod() + p.shortestBeat()
		}
		if ok && v.agrees() && w.now-since > int64(need) && p.maxRuns == 0 && !v.l.blocked(slot, missed) {
			w.fail(ruleCatchUp, since, v.spec.Name, slot, "%s, healthy since %s, does not catch it up", p.name, simClock(since))
			return
		}
		v.expectCaughtUp(slot, missed)
	})
}

// blocked reports whether a missed slot was skipped by overlap, or would have
// been since.
func (l *simLedger) blocked(slot, since int64) bool {
	return len(l.open) > 0 || l.lastEnd >= since || l.unfinishedAt(slot) != nil
}

// unfinishedAt returns an older run that was unfinished at a slot's time, as far
// as the store's history reaches.
func (l *simLedger) unfinishedAt(slot int64) *simRun {
	job := l.w.plan.spec(l.no, 0)
	kept := job.Timing.HistorySize
	for older, n := slot, 0; n < 40 && kept > 0; n++ {
		older = job.Schedule.Prev(time.UnixMilli(older - 1)).UnixMilli()
		r := l.runs[older]
		if r == nil {
			continue
		}
		if r.firstAt <= slot && (!r.ended || r.endedAt > slot) {
			return r
		}
		kept--
	}
	return nil
}

// sweepPeriod and shortestBeat are how often a process looks for unfinished
// runs, as DESIGN has it: once a lease, and once a heartbeat while it watches.
func (p *simProcess) sweepPeriod() time.Duration {
	d := p.jobs[0].spec.Timing.Lease
	for _, v := range p.jobs {
		d = min(d, v.spec.Timing.Lease)
	}
	return d
}

func (p *simProcess) shortestBeat() time.Duration {
	d := p.jobs[0].spec.Timing.Heartbeat
	for _, v := range p.jobs {
		d = min(d, v.spec.Timing.Heartbeat)
	}
	return d
}
