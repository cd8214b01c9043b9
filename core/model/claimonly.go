package model

import (
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
// is compared with the one that won the slot, and with nothing else.
type ClaimOnly struct {
	// Memory bounds how long a granted slot is remembered, by age since the
	// grant, by count of the job's later grants, or both (what ends first).
	// Without bounds it is for ever. What is forgotten is not in the history
	// either.
	Memory store.Memory
	// NoClock: answers carry no now, history no times, and Late and Early are
	// not judged.
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
	memory      store.Memory
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

func newTaken(c ClaimOnly, _ Fault) *taken {
	return &taken{ClaimOnly: c, memory: c.memory(), bySlot: map[int64]*takenRun{}}
}

// Claim grants the slot to the first who asks.
func (t *taken) Claim(now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	t.forget(now)
	r := t.bySlot[req.Slot]
	if r != nil && r.id == req.ID && r.Instance != req.Instance {
		return store.ClaimAnswer{}, invalidID(req.ID, "a fresh one: this one was used by another instance")
	}
	a := t.judge(r, now, &req)
	a.Fingerprint, a.Now = t.fingerprint, t.shown(now)
	if t.used() {
		t.fingerprint, t.historySize = req.Fingerprint, req.HistorySize
	}
	return a, nil
}

func (t *taken) judge(r *takenRun, now int64, req *store.ClaimRequest) store.ClaimAnswer {
	switch {
	case r != nil && r.id == req.ID && r.Status == store.StatusRunning:
		return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: r.Token}
	case r != nil:
		return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: r.Status}
	case req.After > 0:
		// The claim says itself that the slot was granted; it was forgotten.
		return store.ClaimAnswer{Verdict: store.VerdictFinished}
	case !t.NoClock && truth.late(now, req.Slot, ms(req.MaxLate), nil):
		return store.ClaimAnswer{Verdict: store.VerdictLate, By: span(now - req.Slot)}
	case !t.NoClock && truth.early(now, req.Slot, ms(req.MaxEarly), ms(req.MaxLate), nil):
		return store.ClaimAnswer{Verdict: store.VerdictEarly, By: span(req.Slot - now)}
	}
	t.lastToken = max(t.lastToken+1, store.Token(now))
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
	case r == nil, r.Token != req.Token, t.NoFence && r.id != req.ID:
	case r.Status == store.StatusRunning:
		r.Status, r.EndedAt, r.Error = req.Outcome.Status(), t.shown(now), store.CutError(req.Error)
		a.Recorded = true
	default:
		a.Recorded = r.Status == req.Outcome.Status()
	}
	return a
}

// History returns a page of the runs that are remembered.
func (t *taken) History(now int64, req store.HistoryRequest) (store.HistoryAnswer, error) {
	t.forget(now)
	runs := slices.Clone(t.runs)
	slices.SortFunc(runs, func(a, b *takenRun) int { return -bySlot(&run{slot: a.Slot}, b.Slot) })
	runs = runs[:min(len(runs), t.historySize)]
	return page(t.shown(now), req, func(yield func(*store.Attempt) bool) {
		for _, r := range runs {
			if !yield(&r.Attempt) {
				return
			}
		}
	})
}

// forget drops what the memory does not reach any more.
func (t *taken) forget(now int64) {
	if t.memory.Forever {
		return
	}
	n := 0
	for n < len(t.runs) && t.forgotten(n, now) {
		delete(t.bySlot, t.runs[n].Slot)
		n++
	}
	t.runs = t.runs[n:]
}

func (t *taken) forgotten(i int, now int64) bool {
	m := t.memory
	return m.Window > 0 && now-t.runs[i].at >= ms(m.Window) || m.Runs > 0 && len(t.runs)-i > m.Runs
}

func (t *taken) shown(now int64) int64 {
	if t.NoClock {
		return 0
	}
	return now
}

func (t *taken) used() bool { return len(t.runs) > 0 || t.lastToken > 0 }
