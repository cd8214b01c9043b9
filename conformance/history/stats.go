package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Stats count what happened in a history: one in which nothing happened proves
// nothing.
type Stats struct {
	Calls     int // that were answered
	Lost      int // calls without an answer
	Unheard   int // answers that the caller behaved as if lost
	Contended int // runs that two processes claimed at the same time
	Won       int // grants, repeats not counted
	Takeovers int // of an attempt that was not handed over
	HandOvers int // attempts that were handed over and granted again
	Stale     int // heartbeats and finishes of a stale token that were refused
	Ended     int // attempts that were finished
}

// Stats counts.
func (h *History) Stats() Stats {
	var s Stats
	released := map[grantKey]bool{}
	granted := map[grantKey]bool{}
	known := map[store.Token]bool{}
	claims := map[runKey][]*Op{}
	for _, o := range h.Ops {
		switch o.Class {
		case Lost:
			s.Lost++
		case Answered:
			s.Calls++
		}
		if o.Unheard {
			s.Unheard++
		}
		switch {
		case o.Claim != nil:
			k := runKey{o.Claim.Job, o.Claim.Slot}
			claims[k] = append(claims[k], o)
			if o.won() {
				granted[grantKey{k, o.Claimed.Attempt}] = true
				known[o.Claimed.Token] = true
			}
		case o.Finish != nil && o.Class == Answered && o.Finished.Recorded:
			s.Ended++
		}
	}
	for _, o := range h.Ops {
		switch {
		case o.Class != Answered:
		case o.Heartbeat != nil && known[o.Heartbeat.Token] && !o.Beaten.Renewed,
			o.Finish != nil && known[o.Finish.Token] && !o.Finished.Recorded:
			s.Stale++
		case o.History != nil:
			for _, a := range o.Page.Attempts {
				if a.HandedOver {
					released[grantKey{runKey{o.History.Job, a.Slot}, a.Attempt}] = true
				}
			}
		}
	}
	s.Won = len(granted)
	for g := range granted {
		switch before := (grantKey{g.run, g.attempt - 1}); {
		case g.attempt < 2:
		case released[before]:
			s.HandOvers++
		default:
			s.Takeovers++
		}
	}
	for _, list := range claims {
		if contended(list) {
			s.Contended++
		}
	}
	return s
}

type runKey struct {
	job  string
	slot int64
}

type grantKey struct {
	run     runKey
	attempt int
}

// contended reports whether two processes claimed at the same time.
func contended(claims []*Op) bool {
	slices.SortFunc(claims, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	for i, a := range claims {
		for _, b := range claims[i+1:] {
			if b.Call > a.Return {
				break
			}
			if a.Process != b.Process && a.Claim.ID != b.Claim.ID {
				return true
			}
		}
	}
	return false
}

// Lacks says what did not happen often enough for a history of a store of that
// kind to prove something.
func (s Stats) Lacks(kind store.Kind) (missing []string) {
	need := func(what string, got, least int) {
		if got < least {
			missing = append(missing, fmt.Sprintf("%d %s (at least %d)", got, what, least))
		}
	}
	need("calls", s.Calls, 200)
	need("runs claimed by two processes at once", s.Contended, 5)
	need("lost answers", s.Lost+s.Unheard, 5)
	need("attempts finished", s.Ended, 5)
	if kind == store.KindLease {
		need("takeovers", s.Takeovers, 3)
		need("hand-overs", s.HandOvers, 1)
		need("stale tokens refused", s.Stale, 3)
	}
	return missing
}

// String tells the counts.
func (s Stats) String() string {
	return fmt.Sprintf("%d calls, %d without an answer, %d whose answer was not heard; %d contended runs, %d grants, %d takeovers, %d hand-overs, %d stale tokens refused, %d attempts finished",
		s.Calls, s.Lost, s.Unheard, s.Contended, s.Won, s.Takeovers, s.HandOvers, s.Stale, s.Ended)
}
