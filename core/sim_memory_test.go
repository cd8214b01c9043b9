package core

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// names reports whether an answer names a run's holder and what is left of its
// lease.
func (l *simLedger) names(ans *store.ClaimAnswer, r *simRun, now int64) bool {
	a := r.last()
	return ans.Holder == a.proc.name && ans.Left == a.left(now)
}

// left is how long an attempt is still protected, as the store says it.
func (a *simAttempt) left(now int64) time.Duration {
	if !a.isOpen {
		return 0
	}
	return time.Duration(max(0, a.end-now)) * time.Millisecond
}

// recalled compares what the store says is unfinished with the books.
func (l *simLedger) recalled(runs []store.UnfinishedRun) {
	now := l.w.store.now()
	l.cut(now)
	listed := 0
	for i := range runs {
		u := &runs[i]
		if u.Job != l.job {
			continue
		}
		listed++
		r := l.runs[u.Slot]
		if r == nil || r.ended {
			l.fail(ruleRecall, u.Slot, "is recalled as unfinished, but %s", l.describe(r, now))
			return
		}
		a := r.last()
		if u.Attempt != a.number || u.Open != a.isOpen || u.Holder != a.proc.name || u.Token != a.token || u.Left != a.left(now) || u.Counted != r.counted || u.Newest != l.newest {
			l.fail(ruleRecall, u.Slot, "is recalled as %+v, but %s", *u, l.describe(r, now))
			return
		}
	}
	if listed < len(l.open) {
		l.fail(ruleRecall, l.open[0].slot, "one of %d unfinished runs, this or a later one, is not recalled", len(l.open))
	}
}

// remembers reports whether the store still knows a run: unfinished ones always,
// and the newest ended ones.
func (l *simLedger) remembers(r *simRun) bool {
	if l.w.plan.kind == store.KindClaimOnly {
		return !l.forgotten(r.last())
	}
	return !r.ended || slices.Contains(l.kept(), r)
}

// kept returns the runs that history holds, newest first.
func (l *simLedger) kept() []*simRun {
	var runs []*simRun
	ended := 0
	for _, slot := range l.slotsDescending() {
		r := l.runs[slot]
		if r.ended {
			if ended++; ended > l.historySize {
				continue
			}
		}
		runs = append(runs, r)
	}
	return runs
}

func (l *simLedger) slotsDescending() []int64 {
	slots := make([]int64, 0, len(l.runs))
	for slot := range l.runs {
		slots = append(slots, slot)
	}
	slices.SortFunc(slots, func(a, b int64) int { return int(b - a) })
	return slots
}

// remembered compares what the store tells of the past with the books.
func (l *simLedger) remembered(told []store.Attempt, limit int) {
	if l.w.plan.kind != store.KindLease {
		return
	}
	var want []store.Attempt
	for _, r := range l.kept() {
		for i := len(r.attempts) - 1; i >= 0 && len(want) < limit; i-- {
			a := r.attempts[i]
			want = append(want, store.Attempt{Slot: r.slot, Attempt: a.number, Token: a.token, Instance: a.proc.name, Reason: a.reason,
				Status: a.status(), HandedOver: a.released, StartedAt: a.startedAt, EndedAt: a.endedAt, Error: a.text})
		}
	}
	if len(told) != len(want) {
		l.fail(ruleHistory, 0, "history has %d attempts; it should have %d", len(told), len(want))
		return
	}
	for i := range want {
		if told[i] != want[i] {
			l.fail(ruleHistory, want[i].Slot, "history says %+v; it was %+v", told[i], want[i])
			return
		}
	}
}

// checkHistories reads all that the store remembers at the end.
func (w *simWorld) checkHistories() {
	for _, l := range w.ledger {
		if w.broken != nil {
			return
		}
		ans, err := w.store.model.History(simContext, store.HistoryRequest{Job: l.job, Limit: store.MaxHistory})
		if err != nil {
			l.fail(ruleValid, 0, "history: %v", err)
		}
		l.remembered(ans.Attempts, store.MaxHistory)
	}
}

// checkSkew: a difference of the clocks that lasts is told, once, until it was
// surely small again.
func (p *simProcess) checkSkew() {
	since, ok := p.healthySince()
	if !ok || p.w.now-since < int64(2*time.Minute) || p.w.plan.kind == store.KindClaimOnly {
		return // without recalls there may be no answer to see it from
	}
	switch by := p.node.skew().Abs(); {
	case by < skewBound/2-100*time.Millisecond:
		p.watch.skewTold = false
	case by > skewBound+100*time.Millisecond && !p.watch.skewTold:
		p.w.fail(ruleSkew, since, "", 0, "%s, healthy since %s, has not said that the store's clock differs by %v", p.name, simClock(since), p.node.skew())
	}
}
