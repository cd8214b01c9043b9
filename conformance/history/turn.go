package history

import (
	"fmt"
	"slices"
)

// Turn says up to which answer an illegal history of one job, as [Minimise] leaves it,
// still follows the rules, in the words and times of [Ladder]; empty, if that can't be
// told. The fault need not be in that answer: it is the first that shows it.
func Turn(h *History) string {
	ops := slices.Clone(h.Ops)
	slices.SortStableFunc(ops, byCall)
	var last *Op
	for _, o := range ops {
		if o.Class == Answered && !o.InFlight && (last == nil || o.Return > last.Return) {
			last = o
		}
	}
	if last == nil {
		return ""
	}
	if v, _ := search(h.Kind, cutAt(ops, last.Return-1), DefaultSteps/4); v != Legal {
		return ""
	}
	begin := ops[0].Call
	return fmt.Sprintf("Up to the answer that %s got at %s ms (%s, called at %.2f ms) there is an order that follows the rules; with it there is none.", last.Process, last.returned(begin), last.mark(), millis(last.Call-begin))
}
