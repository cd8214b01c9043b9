package checks

import (
	"fmt"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// attempt: the attempts of a run after the first: numbers, hand-over, the maximum.
func attempts() []kit.Check {
	return []kit.Check{{
		ID:       "attempt/handed-over",
		Promises: []string{"R-FINISH-4"},
		Says:     "a released run is unfinished without a lease; another instance is granted it at once; the attempt reads interrupted and handed over",
		Causes:   "release leaves the lease to run out; release ends the run; the record is deleted",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       handedOver,
	}, {
		ID:       "attempt/numbers",
		Promises: []string{"R-CLAIM-8"},
		Says:     "attempts are numbered 1, 2, 3… over takeovers and hand-overs, and each grant records the open attempt before it as interrupted, at the time of the grant",
		Causes:   "the number rises with the attempts that count only; the earlier attempt is overwritten or stays running",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       attemptNumbers,
	}, {
		ID:       "attempt/exhausted",
		Promises: []string{"R-CLAIM-10"},
		Says:     "runs with a maximum of 1, 2 and 3 crash that often: the next claim is answered exhausted with that number, closes the run as interrupted, and the one after it is finished",
		Causes:   "the maximum is off by one; exhausted does not close the run; a live attempt is called exhausted",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       exhausted,
	}, {
		ID:       "attempt/release-not-counted",
		Promises: []string{"R-CLAIM-10", "R-FINISH-4"},
		Says:     "a run with a maximum of 1 is handed over five times and goes on; the first attempt that crashes exhausts it",
		Causes:   "hand-overs count as attempts",
		Applies:  promise.Lease,
		Do:       releaseNotCounted,
	}, {
		ID:       "attempt/first-maximum",
		Promises: []string{"R-CLAIM-10"},
		Says:     "the maximum of a run is that of its first claim: a later claim can neither widen nor narrow it",
		Causes:   "the asker's maximum is used",
		Applies:  promise.Lease,
		Do:       firstMaximum,
	}}
}

func handedOver(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	g := p[0].Win(r.Ask(job, 0, "a"))
	p[0].Record(g, store.OutcomeReleased, "stopping")
	if a := wantAttempt(r, p[1], job, g, store.StatusInterrupted, true); a.Error != "stopping" {
		r.Fatalf("the error text of a released attempt reads %q; want \"stopping\"", a.Error)
	}
	u := p[1].Unfinished(job).Runs
	if len(u) != 1 || u[0].Open || u[0].Left != 0 || u[0].Attempt != 1 || u[0].Counted != 0 {
		r.Fatalf("a released run must be recalled as unfinished, not open, nothing left, attempt 1, none counted; got %+v", u)
	}
	p[0].BeatLost(g.Beat(kit.Long), "after it was released")
	next := p[1].Win(g.Next("b"))
	if next.Attempt != 2 {
		r.Fatalf("the attempt after a released first one is %d; want 2", next.Attempt)
	}
	p[1].Record(next, store.OutcomeSuccess, "")
	wantAttempt(r, p[0], job, g, store.StatusInterrupted, true)
	wantAttempt(r, p[0], job, next, store.StatusSuccess, false)
}

func attemptNumbers(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := r.Ask(job, 0, "a")
	ask.MaxAttempts = 100
	var grants []kit.Grant
	released := map[int]bool{1: true, 3: true, 4: true}
	for n := range 7 {
		ask.Lease = r.Lease() / 4
		g := p[n%2].Win(ask)
		if g.Attempt != n+1 {
			r.Fatalf("grant %d of the run is attempt %d", n+1, g.Attempt)
		}
		grants = append(grants, g)
		if released[n] {
			p[n%2].Record(g, store.OutcomeReleased, "")
		} else {
			r.SleepUntil(g.OverBy())
		}
		ask = g.Next(fmt.Sprintf("i%d", n))
	}
	last := p[0].Win(ask)
	p[1].Record(last, store.OutcomeSuccess, "")
	for n, g := range grants {
		a := wantAttempt(r, p[n%2], job, g, store.StatusInterrupted, released[n])
		next := append(grants, last)[n+1]
		if !released[n] && !near(a.EndedAt, next.Now) {
			r.Fatalf("attempt %d was taken over at %d; its end reads %d", g.Attempt, next.Now, a.EndedAt)
		}
	}
	if h := p[1].History(job); len(h) != len(grants)+1 {
		r.Fatalf("the history has %d attempts of a run that had %d", len(h), len(grants)+1)
	}
}

// crash lets n attempts of a run be granted and run out.
func crash(r *kit.Run, c *kit.Client, ask store.ClaimRequest, n int) kit.Grant {
	ask.Lease = r.Lease() / 4
	g := c.Win(ask)
	for i := 1; ; i++ {
		r.SleepUntil(g.OverBy())
		if i == n {
			return g
		}
		g = c.Win(g.Next(fmt.Sprintf("i%d", i)))
	}
}

func exhausted(r *kit.Run) {
	p := r.Open(2)
	r.Parallel(3, func(i int) {
		maximum := i + 1
		job := r.Job(fmt.Sprintf("max%d", maximum))
		ask := r.Ask(job, 0, "a")
		ask.MaxAttempts = maximum
		g := crash(r, p[0], ask, maximum)
		a := p[1].Refused(g.Next("b"), store.VerdictExhausted)
		if a.Attempt != maximum {
			r.Fatalf("exhausted after %d attempts; the maximum is %d", a.Attempt, maximum)
		}
		wantAttempt(r, p[0], job, g, store.StatusInterrupted, false)
		wantSlots(r, p[0], job, "after the run was exhausted")
		a = p[0].Refused(g.Next("c"), store.VerdictFinished)
		if a.Status != store.StatusInterrupted {
			r.Fatalf("the run was closed as interrupted; finished says %v", a.Status)
		}
		p[0].BeatLost(g.Beat(kit.Long), "after its run was exhausted")
	})
}

func releaseNotCounted(r *kit.Run) {
	p := r.Open(2)
	ask := r.Ask(r.Job("j"), 0, "a")
	ask.MaxAttempts = 1
	for n := range 5 {
		g := p[n%2].Win(ask)
		p[n%2].Record(g, store.OutcomeReleased, "")
		ask = g.Next(fmt.Sprintf("i%d", n))
	}
	g := crash(r, p[0], ask, 1)
	a := p[1].Refused(g.Next("b"), store.VerdictExhausted)
	if a.Attempt != 1 {
		r.Fatalf("exhausted after %d attempts that count; five were handed over, one crashed", a.Attempt)
	}
}

func firstMaximum(r *kit.Run) {
	p := r.Open(2)
	r.Parallel(2, func(i int) {
		ask := r.Ask(r.Job(fmt.Sprintf("j%d", i)), 0, "a")
		ask.MaxAttempts = []int{1, 3}[i]
		g := crash(r, p[0], ask, 1)
		next := g.Next("b")
		next.MaxAttempts = []int{100, 1}[i]
		if i == 0 {
			p[1].Refused(next, store.VerdictExhausted)
			return
		}
		g = p[1].Win(next)
		p[1].Record(g, store.OutcomeSuccess, "")
	})
}
