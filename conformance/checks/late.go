package checks

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// late: first attempts within bounds, on the store's clock.
func late() []kit.Check {
	return []kit.Check{{
		ID:       "late/bound",
		Promises: []string{"R-LATE-1"},
		Says:     "slots around max late plus 10 s ago are claimed; each is granted or answered late exactly as the store's own now in the answer says, by the difference, and a refused one is granted to a claim with a wider bound",
		Causes:   "the tolerance of 10 s is left out or counted twice; the caller's clock; whole seconds; a refused claim leaves a record",
		Applies:  promise.Lease,
		Do:       lateBound,
	}, {
		ID:       "late/early-bound",
		Promises: []string{"R-LATE-2"},
		Says:     "slots around max early from now are claimed; each is granted or answered early exactly as the store's own now in the answer says, by the difference, and a refused one is granted to a claim with a wider bound",
		Causes:   "max late is used for both sides; a tolerance that is not there; an early claim makes the slot the newest granted",
		Applies:  promise.Lease,
		Do:       earlyBound,
	}, {
		ID:       "late/later-attempts",
		Promises: []string{"R-LATE-3"},
		Says:     "a run that has begun is never late or early: it is running while it is held, is taken over and granted after a hand-over, and finished when it ended, however narrow the claim's bounds",
		Causes:   "lateness is asked before the run is looked up",
		Applies:  promise.Lease,
		Do:       laterAttempts,
	}, {
		ID:       "late/no-record",
		Promises: []string{"R-LATE-1", "R-LATE-2"},
		Says:     "a claim that was late or early leaves nothing behind: no history, no unfinished run, no newest slot",
		Causes:   "the job's state is written before the verdict",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       lateNoRecord,
	}}
}

// offsets are distances from a bound: near it the store's now decides, and the
// answer carries it.
var offsets = []time.Duration{
	-time.Hour, -5 * time.Second, -time.Second, -20 * time.Millisecond, -2 * time.Millisecond, 0,
	2 * time.Millisecond, 20 * time.Millisecond, time.Second, 5 * time.Second, time.Hour,
}

// storeNow is the store's clock, Unix milliseconds.
func storeNow(r *kit.Run, c *kit.Client) int64 {
	now := c.HistoryPage(store.HistoryRequest{Job: r.Job("clock"), Limit: 1}).Now
	if now == 0 {
		r.Fatalf("a lease store judges on its clock, and its answer carries no now")
	}
	return now
}

func lateBound(r *kit.Run) {
	c := r.Open(1)[0]
	for _, maxLate := range []time.Duration{0, 1500 * time.Millisecond, time.Minute} {
		bound := maxLate + store.LateTolerance
		for i, off := range offsets {
			if off <= -bound {
				continue // that slot lies in the future
			}
			req := r.Ask(r.Job(fmt.Sprintf("%v-%d", maxLate, i)), 0, "a")
			req.MaxLate = maxLate
			req.Slot = storeNow(r, c) - (bound + off).Milliseconds()
			judgeBound(r, c, req, store.VerdictLate, func(now int64) time.Duration { return msSpan(now-req.Slot) - bound }, bound)
		}
	}
}

func earlyBound(r *kit.Run) {
	c := r.Open(1)[0]
	for _, maxEarly := range []time.Duration{0, 1500 * time.Millisecond, 10 * time.Second, time.Minute} {
		for i, off := range offsets {
			if off <= -maxEarly {
				continue // that slot lies in the past
			}
			req := r.Ask(r.Job(fmt.Sprintf("%v-%d", maxEarly, i)), 0, "a")
			req.MaxEarly, req.MaxLate = maxEarly, time.Hour
			req.Slot = storeNow(r, c) + (maxEarly + off).Milliseconds()
			judgeBound(r, c, req, store.VerdictEarly, func(now int64) time.Duration { return msSpan(req.Slot-now) - maxEarly }, maxEarly)
		}
	}
}

// judgeBound claims and fails unless the verdict is what the answer's own now
// says. beyond is how far the slot lies beyond the bound at that moment.
func judgeBound(r *kit.Run, c *kit.Client, req store.ClaimRequest, refused store.Verdict, beyond func(now int64) time.Duration, bound time.Duration) {
	a := c.Claim(req)
	c.Want(req, a, store.VerdictWon, refused)
	over := beyond(a.Now)
	if (over > 0) != (a.Verdict == refused) {
		r.Fatalf("by the store's now in the answer, the slot lies %v beyond the bound of %v (negative: within); got %v", over, bound, a.Verdict)
	}
	if a.Verdict != refused {
		return
	}
	if a.By != bound+over {
		r.Fatalf("%v by %v; by the store's now in the answer it is %v", refused, a.By, bound+over)
	}
	again := req
	again.MaxEarly, again.MaxLate = 24*time.Hour, 24*time.Hour
	if a := c.Claim(again); a.Verdict != store.VerdictWon || a.Attempt != 1 {
		r.Fatalf("a claim that was answered %v is asked again with a wider bound: want won, attempt 1; got %v, attempt %d", refused, a.Verdict, a.Attempt)
	}
}

func msSpan(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func laterAttempts(r *kit.Run) {
	p := r.Open(2)
	now := storeNow(r, p[0])
	for name, slot := range map[string]int64{"past": now - 7_200_000, "future": now + 7_200_000} {
		req := r.Ask(r.Job(name), 0, "a")
		req.Slot = slot
		g := p[0].Win(req)
		narrow := func() store.ClaimRequest {
			next := g.Next("b")
			next.MaxLate, next.MaxEarly = 0, 0
			return next
		}
		p[1].Refused(narrow(), store.VerdictRunning)
		p[0].Record(g, store.OutcomeReleased, "")
		req = narrow()
		req.Lease = r.Lease() / 2
		g = p[1].Win(req)
		r.SleepUntil(g.OverBy())
		g = p[0].Win(narrow())
		p[0].Record(g, store.OutcomeSuccess, "")
		p[1].Refused(narrow(), store.VerdictFinished)
	}
}

func lateNoRecord(r *kit.Run) {
	p := r.Open(2)
	now := storeNow(r, p[0])
	job := r.Job("j")
	req := r.Ask(job, 0, "a")
	req.MaxLate, req.MaxEarly = 0, 0
	for _, x := range []struct {
		slot int64
		want store.Verdict
	}{{now - 3_600_000, store.VerdictLate}, {now + 3_600_000, store.VerdictEarly}} {
		req.Slot, req.ID = x.slot, store.NewClaimID()
		p[0].Refused(req, x.want)
	}
	if h := p[1].History(job); len(h) != 0 {
		r.Fatalf("claims that were late and early left attempts in the history: %+v", h)
	}
	wantSlots(r, p[1], job, "after claims that were late and early")
	// Were the early slot the newest granted, this one would be superseded.
	p[1].Win(r.Ask(job, 0, "a"))
}
