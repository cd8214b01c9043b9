package model

import (
	"cmp"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// ClaimOnly says how much a claim-only store can do. The zero value remembers
// for ever, has a clock and fences.
//
// A claim-only store decides the winner of a slot and keeps what became of it.
// It knows no leases: a run whose runner died stays running, [Store.Heartbeat]
// and [Store.Unfinished] are unsupported, and overlap, after and max attempts
// are not looked at. Nor is a newer slot: it may grant slots in any order.
// Lateness is judged if it has a clock. A won slot's lease left is 0. A claim id
// is compared with the one that won the slot, and with nothing else: it is never
// invalid.
type ClaimOnly struct {
	// Memory bounds how long a granted slot is remembered, by age since the
	// grant, by count of the job's later grants, or both (what ends first).
	// Without bounds it is for ever. What is forgotten is not in the history
	// either.
	Memory store.Memory
	// NoClock: answers carry no now, history no times, and Late and Early are
	// not judged. Memory is still measured on the store's Now.
	NoClock bool
	// NoFence: all tokens are 0, and Finish tells the winner by its claim id.
	NoFence bool
}

func (c *ClaimOnly) memory() store.Memory {
	m := store.Memory{Window: max(0, c.Memory.Window), Runs: max(0, c.Memory.Runs)}
	if c.Memory.Forever || m.IsZero() {
		return store.Memory{Forever: true}
	}
	return m
}

func (c *ClaimOnly) describe(d *store.Description) {
	d.Kind, d.Memory, d.Fenced = store.KindClaimOnly, c.memory(), !c.NoFence
	if c.NoClock {
		d.Clock = store.ClockNone
	}
}

// taken is what a claim-only store remembers of one job.
type taken struct {
	ClaimOnly
	do          *takenSteps
	also        *steps // those that both kinds have in common
	memory      store.Memory
	granted     bool
	lastToken   store.Token
	historySize int
	fingerprint string
	runs        []*takenRun // in the order of their grants
	bySlot      map[int64]*takenRun
}

// takenRun is one granted slot.
type takenRun struct {
	id store.ClaimID
	at int64 // of the grant, on the store's clock also if that isn't shown
	store.Attempt
}

// takenSteps are to a claim-only store what steps are to a lease store.
type takenSteps struct {
	memory  func(declared store.Memory) store.Memory
	runs    func(memory, historySize int) int // how many are remembered; 0 for all
	winner  func(r *takenRun, id store.ClaimID, instance string) bool
	finish  func(t *taken, r *takenRun, req *store.FinishRequest) bool // may it?
	record  func(r *takenRun, o store.Outcome, now int64, text string)
	endedAs func(r *takenRun, o store.Outcome) bool
	listed  func(r *takenRun) bool
}

var takenTruth = takenSteps{
	memory: func(m store.Memory) store.Memory { return m },
	runs:   func(memory, _ int) int { return memory },
	winner: func(r *takenRun, id store.ClaimID, instance string) bool {
		return r.id == id && r.Instance == instance
	},
	finish: func(t *taken, r *takenRun, req *store.FinishRequest) bool {
		if t.NoFence {
			return req.Token == 0 && r.id == req.ID
		}
		return r.Token == req.Token
	},
	record: func(r *takenRun, o store.Outcome, now int64, text string) {
		r.Status, r.EndedAt, r.Error = o.Status(), now, text
	},
	endedAs: func(r *takenRun, o store.Outcome) bool { return r.Status == o.Status() },
	listed:  func(*takenRun) bool { return true },
}

func newTaken(c ClaimOnly, f Fault) *taken {
	do := &takenRules[f]
	return &taken{ClaimOnly: c, do: do, also: &jobSteps[f], memory: do.memory(c.memory()), bySlot: map[int64]*takenRun{}}
}

func (t *taken) used() bool { return t.granted }

func (t *taken) clone() rules {
	c := *t
	c.runs, c.bySlot = nil, map[int64]*takenRun{}
	for _, r := range t.runs {
		r := *r
		c.runs, c.bySlot[r.Slot] = append(c.runs, &r), &r
	}
	return &c
}

// Claim grants the slot to the first who asks.
func (t *taken) Claim(now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	t.forget(now)
	r := t.bySlot[req.Slot]
	a := t.judge(r, now, &req)
	a.Fingerprint, a.Now = t.fingerprint, t.shown(now)
	if t.granted {
		t.fingerprint, t.historySize = req.Fingerprint, req.HistorySize
	}
	return a, nil
}

func (t *taken) judge(r *takenRun, now int64, req *store.ClaimRequest) store.ClaimAnswer {
	switch {
	case r != nil && t.do.winner(r, req.ID, req.Instance) && r.Status == store.StatusRunning:
		return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: r.Token}
	case r != nil:
		return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: r.Status}
	case req.After > 0:
		// The claim says itself that the slot was granted; it was forgotten.
		return store.ClaimAnswer{Verdict: store.VerdictFinished}
	case !t.NoClock && t.also.late(now, req.Slot, ms(req.MaxLate), nil):
		return store.ClaimAnswer{Verdict: store.VerdictLate, By: span(now - req.Slot)}
	case !t.NoClock && t.also.early(now, req.Slot, ms(req.MaxEarly), ms(req.MaxLate), nil):
		return store.ClaimAnswer{Verdict: store.VerdictEarly, By: span(req.Slot - now)}
	}
	t.granted, t.lastToken = true, max(t.lastToken+1, store.Token(now))
	r = &takenRun{id: req.ID, at: now, Attempt: store.Attempt{
		Slot: req.Slot, Attempt: 1, Token: t.lastToken, Instance: req.Instance, Reason: req.Reason,
		Status: store.StatusRunning, StartedAt: t.shown(now),
	}}
	if t.NoFence {
		r.Token = 0
	}
	t.runs = append(t.runs, r)
	t.bySlot[r.Slot] = r
	t.forget(now)
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: r.Token}
}

// Finish adds the outcome to the record, if the token, or where there is none
// the claim id, is the winner's.
func (t *taken) Finish(now int64, req store.FinishRequest) store.FinishAnswer {
	t.forget(now)
	a := store.FinishAnswer{Now: t.shown(now)}
	r := t.bySlot[req.Slot]
	switch {
	case r == nil || !t.do.finish(t, r, &req):
	case r.Status == store.StatusRunning:
		t.do.record(r, req.Outcome, t.shown(now), t.also.cutError(req.Error))
		a.Recorded = true
	default:
		a.Recorded = t.do.endedAs(r, req.Outcome)
	}
	return a
}

// History returns a page of the runs that are remembered.
func (t *taken) History(now int64, req store.HistoryRequest) (store.HistoryAnswer, error) {
	t.forget(now)
	runs := slices.DeleteFunc(slices.Clone(t.runs), func(r *takenRun) bool { return !t.do.listed(r) })
	slices.SortFunc(runs, func(a, b *takenRun) int { return cmp.Compare(b.Slot, a.Slot) })
	runs = runs[:min(len(runs), t.historySize)]
	return page(t.also, t.shown(now), req, func(yield func(*store.Attempt) bool) {
		for _, r := range runs {
			if !yield(&r.Attempt) {
				return
			}
		}
	})
}

// forget drops what the memory does not reach any more.
func (t *taken) forget(now int64) {
	n := 0
	for n < len(t.runs) && t.forgotten(n, now) {
		delete(t.bySlot, t.runs[n].Slot)
		n++
	}
	t.runs = t.runs[n:]
}

func (t *taken) forgotten(i int, now int64) bool {
	window, runs := ms(t.memory.Window), t.do.runs(t.memory.Runs, t.historySize)
	return window > 0 && now-t.runs[i].at >= window || runs > 0 && len(t.runs)-i > runs
}

func (t *taken) shown(now int64) int64 {
	if t.NoClock {
		return 0
	}
	return now
}
