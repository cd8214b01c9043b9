package history

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// claimOnlyRules judge a run of a claim-only store, which are those of
// model.ClaimOnly without what that leaves out of a promise: a finish of a run that
// ended already may be answered as it likes, and may change how the run ended. A
// history must be shorter than the store's memory.
var claimOnlyRules = rules{
	init:  func() any { return taken{} },
	step:  func(state any, o *Op) []any { return takenStep(state.(taken), o) },
	equal: func(a, b any) bool { return a == b },
	hash: func(s any) uint64 {
		t := s.(taken)
		return uint64(t.id[0])<<8 | uint64(t.status)
	},
}

// taken is a run: the zero value was never granted.
type taken struct {
	status   store.Status // 0: not taken
	id       store.ClaimID
	instance string
	token    store.Token // if bound
	bound    bool        // the token is known; it is not where the answer was lost
}

// onRun is a call as it concerns one run: a history is reduced to it.
type onRun struct {
	attempt *store.Attempt // what a history says of the run
	proven  bool           // a history without it says that it is not there
}

func takenStep(t taken, o *Op) []any {
	switch {
	case o.Claim != nil && o.Class == Lost:
		if t.status == 0 {
			return []any{t, grantTo(o.Claim)}
		}
		return []any{t}
	case o.Claim != nil:
		return claimTaken(t, o.Claim, o.Claimed)
	case o.Finish != nil:
		return finishTaken(t, o)
	case o.History != nil:
		return readTaken(t, o)
	}
	return nil // a claim-only store can't answer it
}

func grantTo(q *store.ClaimRequest) taken {
	return taken{status: store.StatusRunning, id: q.ID, instance: q.Instance}
}

func claimTaken(t taken, q *store.ClaimRequest, a store.ClaimAnswer) []any {
	again := t.status == store.StatusRunning && t.id == q.ID
	switch a.Verdict {
	case store.VerdictWon:
		if t.status == 0 {
			t = grantTo(q)
			again = true
		}
		if again && a.Attempt == 1 {
			return t.bind(a.Token)
		}
	case store.VerdictFinished:
		if !again && (t.status != 0 && (a.Status == 0 || a.Status == t.status) || t.status == 0 && q.After > 0) {
			return []any{t}
		}
	case store.VerdictSuperseded: // it can't grant slots in any order
		if !again {
			return []any{t}
		}
	case store.VerdictLate:
		if by := a.Now - q.Slot; t.status == 0 && near(by, ms(a.By)) && by+tolerance > ms(q.MaxLate+store.LateTolerance) {
			return []any{t}
		}
	case store.VerdictEarly:
		if by := q.Slot - a.Now; t.status == 0 && near(by, ms(a.By)) && by+tolerance > ms(q.MaxEarly) {
			return []any{t}
		}
	}
	return nil
}

// bind returns the state in which the run's token is known to be this one.
func (t taken) bind(token store.Token) []any {
	if t.bound && t.token != token {
		return nil
	}
	t.token, t.bound = token, true
	return []any{t}
}

func finishTaken(t taken, o *Op) []any {
	q := o.Finish
	ended := t
	ended.status = q.Outcome.Status()
	may := t.status != 0 && (q.Token != 0 && (!t.bound || q.Token == t.token) || q.Token == 0 && t.id == q.ID)
	must := may && (q.Token == 0 || t.bound) && t.status == store.StatusRunning
	if q.Token != 0 && may {
		ended.token, ended.bound = q.Token, true
	}
	switch {
	case o.Class == Lost && may:
		return []any{t, ended}
	case o.Class == Lost:
		return []any{t}
	case o.Finished.Recorded && !may, !o.Finished.Recorded && must:
		return nil
	case !o.Finished.Recorded:
		return []any{t}
	case t.status == store.StatusRunning:
		return []any{ended}
	}
	return []any{t, ended}
}

func readTaken(t taken, o *Op) []any {
	a := o.run.attempt
	switch {
	case a == nil && o.run.proven && t.status != 0:
		return nil
	case a == nil:
		return []any{t}
	case a.Status != t.status || a.Instance != t.instance || a.Attempt != 1:
		return nil
	}
	return t.bind(a.Token)
}

// byRun splits a job's calls into those about each of its runs.
func byRun(ops []*Op) [][]*Op {
	smallest := store.MaxHistory // of the sizes of history that were asked for
	of := map[int64][]*Op{}
	var slots []int64
	for _, o := range ops {
		slot, one := o.Slot()
		if one && of[slot] == nil {
			slots = append(slots, slot)
		}
		if one {
			of[slot] = append(of[slot], o)
		}
		if o.Claim != nil {
			smallest = min(smallest, o.Claim.HistorySize)
		}
	}
	for _, o := range ops {
		if o.History == nil || o.Class != Answered || o.History.Page != "" {
			continue
		}
		for _, slot := range slots {
			c := *o
			c.run = onRun{proven: o.Page.Next == "" && len(slots) <= smallest}
			if i := slices.IndexFunc(o.Page.Attempts, func(a store.Attempt) bool { return a.Slot == slot }); i >= 0 {
				c.run.attempt = &o.Page.Attempts[i]
			}
			of[slot] = append(of[slot], &c)
		}
	}
	parts := make([][]*Op, 0, len(slots))
	for _, slot := range slots {
		parts = append(parts, of[slot])
	}
	return parts
}

// span is a duration of so many of the protocol's units.
func span(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
