package kit

import (
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// What holds of every answer, whatever was asked before. Each function returns
// what is wrong, or "".

func checkClaimed(q store.ClaimRequest, a store.ClaimAnswer, leases bool) string {
	says := showClaimed(a)
	switch a.Verdict {
	case store.VerdictWon:
		if a.Attempt < 1 || a.Token < 0 || a.Left < 0 || a.Left > store.MaxLease {
			return fmt.Sprintf("won means an attempt from 1, a token that is not negative, and lease left from 0 to %v; it says %s", store.MaxLease, says)
		}
	case store.VerdictRunning:
		if a.Attempt < 0 || a.Left < 0 || a.Left > 0 && a.Holder == "" {
			return "running names the attempt and, of a live lease, the holder and what is left; it says " + says
		}
	case store.VerdictOverlap:
		if a.Slot == q.Slot || a.Holder == "" || a.Left < 0 {
			return "overlap names another slot, its holder and its lease left; it says " + says
		}
	case store.VerdictFinished:
		if a.Status > store.StatusInterrupted || leases && a.Status == store.StatusRunning {
			return "finished says how the run ended, or nothing; it says " + says
		}
	case store.VerdictSuperseded:
		if a.Slot <= q.Slot {
			return "superseded names a newer slot; it says " + says
		}
	case store.VerdictExhausted:
		if a.Attempt < 1 {
			return "exhausted says how many attempts counted; it says " + says
		}
	case store.VerdictLate, store.VerdictEarly:
		if a.By <= 0 {
			return a.Verdict.String() + " says by how much; it says " + says
		}
	default:
		return fmt.Sprintf("verdict %d is none of the protocol's", a.Verdict)
	}
	switch {
	case a.Now < 0:
		return fmt.Sprintf("its now is %d", a.Now)
	case !leases && (a.Verdict == store.VerdictRunning || a.Verdict == store.VerdictOverlap || a.Verdict == store.VerdictExhausted):
		return fmt.Sprintf("a claim-only store answered %s, which only a lease store can", says)
	}
	return ""
}

func checkListed(a store.UnfinishedAnswer) string {
	for i, r := range a.Runs {
		switch {
		case r.Attempt < 1 || r.Counted < 0 || r.Counted > r.Attempt || r.Left < 0 || r.Newest < r.Slot || r.Job == "" || r.Holder == "":
			return fmt.Sprintf("unfinished run %s: job, holder and attempt must be there, counted from 0 to the attempt, left not negative, newest not below the slot; it says %+v", showRun(r.Job, r.Slot), r)
		case !r.Open && r.Left != 0:
			return fmt.Sprintf("unfinished run %s was handed over, so no lease is left; it says %v", showRun(r.Job, r.Slot), r.Left)
		case i > 0 && (a.Runs[i-1].Job > r.Job || a.Runs[i-1].Job == r.Job && a.Runs[i-1].Slot >= r.Slot):
			return fmt.Sprintf("unfinished runs come by job and slot, each once; %s comes after %s", showRun(r.Job, r.Slot), showRun(a.Runs[i-1].Job, a.Runs[i-1].Slot))
		}
	}
	return ""
}

func checkPage(q store.HistoryRequest, a store.HistoryAnswer) string {
	if len(a.Attempts) > q.Limit {
		return fmt.Sprintf("a page of %d attempts was asked for; it has %d", q.Limit, len(a.Attempts))
	}
	for i, t := range a.Attempts {
		switch {
		case t.Attempt < 1 || t.Status < store.StatusRunning || t.Status > store.StatusInterrupted || t.Token < 0:
			return fmt.Sprintf("an attempt of the history is %+v", t)
		case t.Status == store.StatusRunning && (t.EndedAt != 0 || t.HandedOver), t.HandedOver && t.Status != store.StatusInterrupted:
			return fmt.Sprintf("an attempt that is running has no end, and one handed over reads interrupted; it says %+v", t)
		case i > 0 && !newer(a.Attempts[i-1], t):
			return fmt.Sprintf("history comes newest first, by slot and attempt; %d/%d comes after %d/%d", t.Slot, t.Attempt, a.Attempts[i-1].Slot, a.Attempts[i-1].Attempt)
		}
	}
	return ""
}

func newer(a, b store.Attempt) bool {
	return a.Slot > b.Slot || a.Slot == b.Slot && a.Attempt > b.Attempt
}
