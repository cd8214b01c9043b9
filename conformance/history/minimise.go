package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Minimise makes an illegal history of one job ([Judgement.Culprit]) small, and
// says what it left out. Only what is sound is left out: if the whole history could
// be explained, then so could what is left. So an illegal rest is still proof, and
// it is illegal by [Judge], also when it was saved and read again. The steps:
//
//   - a cut: calls made after some moment. Those under way then are kept, as calls
//     that may have had no effect yet ([Op.InFlight]);
//   - readings, and refusals that changed nothing;
//   - the oldest slots, if no answer that is left names them;
//   - calls under way at the cut that would have come after all that is left.
//
// It stops when nothing more can go, or at the deadline; each try may take steps
// steps of the model, 0 for a quarter of [DefaultSteps].
func Minimise(h *History, steps int, deadline time.Time) (*History, []string) {
	if steps == 0 {
		steps = DefaultSteps / 4
	}
	if h.Kind == store.KindLease && !clockRises(h.Ops) {
		// Without the calls that show it the rest would be judged more strictly.
		return h, []string{"the store's clock went back, so nothing can be left out"}
	}
	m := minimiser{h: h, illegal: func(ops []*Op) bool {
		if time.Now().After(deadline) {
			return false
		}
		v, _ := search(h.Kind, ops, steps)
		return v == Illegal
	}}
	m.ops = slices.Clone(h.Ops)
	slices.SortStableFunc(m.ops, byCall)
	m.cut()
	if h.Kind == store.KindLease {
		m.oldestSlots()
	}
	m.idle()
	if h.Kind == store.KindLease {
		m.oldestSlots()
		m.pending()
	}
	return h.with(m.ops), m.steps
}

type minimiser struct {
	h       *History
	ops     []*Op
	illegal func([]*Op) bool
	steps   []string
}

func (m *minimiser) left(what string, ops []*Op) {
	if n := len(m.ops) - len(ops); n > 0 {
		m.steps = append(m.steps, fmt.Sprintf("%s: %d of %d calls left out", what, n, len(m.ops)))
		m.ops = ops
	}
}

// cut finds the shortest beginning that is illegal. If a beginning is illegal then so
// is each longer one, so a binary search finds it.
func (m *minimiser) cut() {
	returns := make([]time.Duration, 0, len(m.ops))
	for _, o := range m.ops {
		returns = append(returns, o.Return)
	}
	slices.Sort(returns)
	returns = slices.Compact(returns)
	low, high := 0, len(returns)-1 // the whole is illegal
	for low < high {
		middle := (low + high) / 2
		if m.illegal(cutAt(m.ops, returns[middle])) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if high >= 0 && high < len(returns)-1 {
		m.left(fmt.Sprintf("cut at %.2f ms", millis(returns[high])), cutAt(m.ops, returns[high]))
	}
}

// cutAt returns the calls made by a moment. What had not returned then may or may
// not have had its effect, with the answer that it got.
func cutAt(ops []*Op, end time.Duration) []*Op {
	var kept []*Op
	for _, o := range ops {
		switch {
		case o.Call > end:
		case o.Return <= end || o.Class != Answered:
			kept = append(kept, o)
		case o.reads():
		default:
			c := *o
			c.InFlight = true
			kept = append(kept, &c)
		}
	}
	return kept
}

// idle leaves out calls that changed nothing, as many at once as it can.
func (m *minimiser) idle() {
	before := m.ops
	idle := map[*Op]bool{} // of all calls: of fewer it would be no less
	for _, o := range m.ops {
		idle[o] = m.changesNothing(o)
	}
	for size := len(m.ops); size >= 1; size /= 2 {
		for from := 0; from < len(m.ops); {
			to := min(from+size, len(m.ops))
			rest := slices.Clone(m.ops[:from])
			for _, o := range m.ops[from:to] {
				if !idle[o] {
					rest = append(rest, o)
				}
			}
			kept := len(rest) - from
			rest = append(rest, m.ops[to:]...)
			if len(rest) < len(m.ops) && m.illegal(rest) {
				m.ops = rest
				from += kept
			} else {
				from = to
			}
		}
	}
	after := m.ops
	m.ops = before
	m.left("readings and refusals without effect", after)
}

// changesNothing reports whether a call surely left the store as it was, in every
// order that explains its answer.
func (m *minimiser) changesNothing(o *Op) bool {
	switch {
	case o.Class == NotApplied || o.Class == Invalid || o.reads():
		return true
	case o.Class != Answered:
		return len(o.Maybe) == 0 && m.h.Kind == store.KindLease
	case m.h.Kind == store.KindLease && (m.cutsLeases(o) || !m.sameKeeping()):
		return false
	case o.Heartbeat != nil:
		return !o.Beaten.Renewed
	case o.Finish != nil:
		return !o.Finished.Recorded
	}
	switch o.Claimed.Verdict {
	case store.VerdictRunning, store.VerdictOverlap, store.VerdictFinished, store.VerdictLate, store.VerdictEarly:
		return true
	case store.VerdictSuperseded: // which closes a run, if there is one
		return m.h.Kind == store.KindClaimOnly || !slices.ContainsFunc(m.ops, func(p *Op) bool {
			return p.Claim != nil && p.Claim.Slot == o.Claim.Slot && (p.won() || isPending(p))
		})
	}
	return false
}

// cutsLeases reports whether the call may come after a grant or a renewal with a
// later now, and so cut that lease to its length.
func (m *minimiser) cutsLeases(o *Op) bool {
	return slices.ContainsFunc(m.ops, func(p *Op) bool {
		return p != o && p.Call <= o.Return && (p.won() || p.Heartbeat != nil && p.Beaten.Renewed) && slices.ContainsFunc(o.times(), func(at int64) bool { return at < p.Now() })
	})
}

// times are when the call can have taken effect, on the store's clock.
func (o *Op) times() []int64 {
	if o.Class == Answered {
		return []int64{o.Now()}
	}
	var times []int64
	for _, e := range o.Maybe {
		times = append(times, e.At)
	}
	return times
}

// sameKeeping reports whether all claims ask for the same history size, so that none
// changes it.
func (m *minimiser) sameKeeping() bool {
	size := 0
	for _, o := range m.ops {
		if o.Claim != nil {
			if size != 0 && o.Claim.HistorySize != size {
				return false
			}
			size = o.Claim.HistorySize
		}
	}
	return true
}

// oldestSlots leaves out the oldest slots as long as the rest is illegal. The runs
// of a slot touch those of later ones by being in their way, by being named in
// what is read, and by taking a place in the history.
func (m *minimiser) oldestSlots() {
	before := m.ops
	for {
		slots := m.slots()
		if len(slots) < 2 || len(slots) > m.smallestHistory() {
			break
		}
		rest, sound := m.without(slots[0])
		if !sound || !m.illegal(rest) {
			break
		}
		m.ops = rest
	}
	after := m.ops
	m.ops = before
	m.left("the oldest slots", after)
}

// without leaves a slot out, with all readings and the refusals that name it, and
// reports whether that is sound.
func (m *minimiser) without(slot int64) (rest []*Op, sound bool) {
	for _, o := range m.ops {
		of, one := o.Slot()
		overlap := o.Claim != nil && o.Class == Answered && o.Claimed.Verdict == store.VerdictOverlap && o.Claimed.Slot == slot
		switch {
		case one && of == slot && !o.reads() && m.cutsLeases(o):
			return nil, false
		case one && of == slot, o.reads():
		case overlap && !m.changesNothing(o):
			return nil, false
		case overlap:
		default:
			rest = append(rest, o)
		}
	}
	return rest, true
}

func (m *minimiser) slots() []int64 {
	var slots []int64
	for _, o := range m.ops {
		if slot, one := o.Slot(); one {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	return slices.Compact(slots)
}

func (m *minimiser) smallestHistory() int {
	size := store.MaxHistory
	for _, o := range m.ops {
		if o.Claim != nil {
			size = min(size, o.Claim.HistorySize)
		}
	}
	return size
}

// pending leaves out calls that were under way at the cut, or had no answer, and
// whose effect would be later than all that is left.
func (m *minimiser) pending() {
	latest := int64(0)
	for _, o := range m.ops {
		if !isPending(o) {
			latest = max(latest, o.Now())
		}
	}
	rest := slices.DeleteFunc(slices.Clone(m.ops), func(o *Op) bool {
		return isPending(o) && !slices.ContainsFunc(o.times(), func(at int64) bool { return at <= latest+clockOrder })
	})
	if m.illegal(rest) {
		m.left("calls under way whose effect would be too late", rest)
	}
}
