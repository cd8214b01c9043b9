package history

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Effect is one way in which a call without an answer may have taken effect.
type Effect struct {
	At    int64       // the store's clock, Unix milliseconds; 0: any time, it makes no difference
	Token store.Token // that a claim was granted; 0 if it was not, or is no claim
}

// mostTraces bounds, for a job, the calls without an answer times all its calls.
const mostTraces = 4_000_000

// resolve concludes, for each call of a job that was not answered, when it can have
// taken effect, from the job's history as it was read after all else. It returns
// the calls, those without an answer as copies with [Op.Maybe] set; the error says
// what the history lacks for that. A claim-only store's calls need no times.
//
// Nothing is concluded about whether it did: that is for the search to find out.
// So it is enough that a call's true time is among the times, or, of a renewal, one
// that nobody could tell from it.
func resolve(kind store.Kind, ops []*Op) ([]*Op, error) {
	open := func(o *Op) bool { return o.Class == Lost && !o.reads() && o.Maybe == nil }
	unanswered := 0
	for _, o := range ops {
		if open(o) {
			unanswered++
		}
	}
	switch {
	case kind != store.KindLease || unanswered == 0:
		return ops, nil
	case unanswered*len(ops) > mostTraces:
		return nil, fmt.Errorf("%d of %d calls were not answered, which is too many", unanswered, len(ops))
	}
	last, err := lastReading(ops)
	if err != nil {
		return nil, err
	}
	t := traces{ops: ops, attempts: last.Page.Attempts, offset: math.MinInt64}
	for _, o := range ops {
		if now := o.Now(); now != 0 {
			t.offset = max(t.offset, now-ms(o.Return)-1)
		}
	}
	resolved := slices.Clone(ops)
	for i, o := range ops {
		if !open(o) {
			continue
		}
		c := *o
		switch {
		case o.Claim != nil:
			c.Maybe = t.claim(o)
		case o.Heartbeat != nil:
			c.Maybe = t.heartbeat(o)
		default:
			c.Maybe = t.finish(o)
		}
		resolved[i] = &c
	}
	return resolved, nil
}

// lastReading returns the reading of the job's whole history that saw the effect of
// every call that another answer can depend on.
func lastReading(ops []*Op) (*Op, error) {
	var last *Op
	for _, o := range ops {
		if o.History != nil && o.Class == Answered && o.History.Page == "" && o.Page.Next == "" && (last == nil || o.Call > last.Call) {
			last = o
		}
	}
	if last == nil {
		return nil, errors.New("a call was not answered, and the job's whole history was never read, from which could be told if it took effect")
	}
	slots := map[int64]bool{}
	size := store.MaxHistory
	for _, o := range ops {
		if o != last && o.Class == Answered && o.Return > last.Call {
			return nil, fmt.Errorf("a call was not answered, and the job's history was not read after all other calls: %v returned later", o)
		}
		if o.Claim != nil {
			slots[o.Claim.Slot] = true
			size = min(size, o.Claim.HistorySize)
		}
	}
	if len(slots) > size {
		return nil, errors.New("a call was not answered, and what it did may have been trimmed from the job's history")
	}
	return last, nil
}

// traces are what a job's calls left behind.
type traces struct {
	ops      []*Op
	attempts []store.Attempt
	offset   int64 // the store's clock minus the history's, at least
}

// clockSlack is how far the store's clock may have drifted from ours within a
// history, in milliseconds. A greater one only admits more.
const clockSlack = 20

// earliest is the store's clock before which the call can't have taken effect.
func (t *traces) earliest(o *Op) int64 { return t.offset + ms(o.Call) - clockSlack }

// claim: a grant is there with its time; a refusal that closed the run left the time
// in the record of its attempt, unless that had been handed over. The run is then
// closed at any time.
func (t *traces) claim(o *Op) []Effect {
	list := []Effect{}
	for _, a := range t.attempts {
		if a.Slot != o.Claim.Slot {
			continue
		}
		if a.Instance == o.Claim.Instance && a.Attempt == o.Claim.After+1 {
			list = append(list, Effect{a.StartedAt, a.Token})
		}
		switch {
		case a.HandedOver:
			list = append(list, Effect{})
		case a.Status == store.StatusInterrupted:
			list = append(list, Effect{a.EndedAt, 0})
		}
	}
	return t.possible(o, list)
}

// finish: an attempt that it ended has the time.
func (t *traces) finish(o *Op) []Effect {
	list := []Effect{}
	for _, a := range t.attempts {
		if a.Token == o.Finish.Token && a.EndedAt != 0 {
			list = append(list, Effect{a.EndedAt, 0})
		}
	}
	return t.possible(o, list)
}

// heartbeat: what it did shows only in when its lease ended. For each claim there
// is a time at which the renewal would have made the lease just long enough to be
// live at it; and there is the end that others were told of.
func (t *traces) heartbeat(o *Op) []Effect {
	i := slices.IndexFunc(t.attempts, func(a store.Attempt) bool { return a.Token == o.Heartbeat.Token })
	if i < 0 {
		return []Effect{}
	}
	of, lease := t.attempts[i], ms(o.Heartbeat.Lease)
	list := []Effect{{t.earliest(o), 0}}
	ends := func(end int64) { list = append(list, Effect{end - lease, 0}) }
	for _, a := range t.attempts { // of claims without an answer, too
		ends(a.StartedAt + 1)
		ends(a.EndedAt + 1)
	}
	for _, p := range t.ops {
		now := p.Now()
		switch {
		case now == 0:
		case p.Claim != nil:
			ends(now + 1)
			ends(now + ms(p.Claimed.Left))
		case p.Unfinished != nil:
			for _, u := range p.Listed.Runs {
				if u.Token == of.Token {
					ends(now + ms(u.Left))
				}
			}
		}
	}
	if of.EndedAt != 0 {
		list = slices.DeleteFunc(list, func(e Effect) bool { return e.At > of.EndedAt })
	}
	return t.possible(o, list)
}

// possible drops what would be before the call, and repetitions.
func (t *traces) possible(o *Op, list []Effect) []Effect {
	first := t.earliest(o)
	list = slices.DeleteFunc(list, func(e Effect) bool { return e.At != 0 && e.At < first })
	slices.SortFunc(list, func(a, b Effect) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Token, b.Token)) })
	return slices.Compact(list)
}
