package checks

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// lease: never over early, never for ever, and renewed by its holder only.
func lease() []kit.Check {
	return []kit.Check{{
		ID:       "lease/length",
		Promises: []string{"R-LEASE-1", "R-LEASE-2"},
		Says:     "runs with leases of several lengths are claimed again and again through two other processes; none is granted before its lease can be over, and none refused after it must be",
		Causes:   "lengths rounded to seconds; seconds taken for milliseconds; the lease counted from the slot; expiry by a sweeper that is slow or not there",
		Applies:  promise.Lease,
		Do:       leaseLength,
	}, {
		ID:       "lease/from-heartbeat",
		Promises: []string{"R-LEASE-1", "R-LEASE-2"},
		Says:     "after heartbeats the lease counts from the last of them: no grant before that plus its length, no refusal after",
		Causes:   "heartbeat adds to the old end; heartbeat does not reach the store; the length of the claim is used for the renewal",
		Applies:  promise.Lease,
		Do:       leaseFromHeartbeat,
	}, {
		ID:       "lease/holders-length",
		Promises: []string{"R-LEASE-3"},
		Says:     "a lease is as long as its holder asked: an asker with a long lease does not wait longer for a short one, and one with a short lease does not cut a long one",
		Causes:   "the asker's lease is compared with the age of the holder's grant",
		Applies:  promise.Lease,
		Do:       holdersLength,
	}, {
		ID:       "lease/renewed-after-end",
		Promises: []string{"R-LEASE-4"},
		Says:     "a heartbeat that comes after the lease ran out, while nobody took the run over and also after another slot was granted, renews it",
		Causes:   "heartbeat demands a live lease; the record vanishes when the lease ends",
		Applies:  promise.Lease,
		Do:       renewedAfterEnd,
	}, {
		ID:       "lease/never-shortened",
		Promises: []string{"R-LEASE-5"},
		Says:     "a heartbeat that asks for less than what is left leaves the lease as it is",
		Causes:   "heartbeat sets the end to now plus its length without looking at the old end",
		Applies:  promise.Lease,
		Do:       neverShortened,
	}, {
		ID:       "lease/nothing-else-renews",
		Promises: []string{"R-LEASE-6"},
		Says:     "while the holder's process does everything but a heartbeat of this attempt (claims, heartbeats and finishes of other runs, recalls, wrong tokens), the lease ends in time",
		Causes:   "any call of an instance renews all it holds; reading the record touches its expiry",
		Applies:  promise.Lease,
		Do:       nothingElseRenews,
	}, {
		ID:       "lease/idle-host",
		Promises: []string{"R-LEASE-2", "R-LEASE-6"},
		Says:     "while host and plugin of the holder are alive and do nothing, the lease ends, and the first claim of another is granted",
		Causes:   "the plugin or its client library renews in the background",
		Applies:  promise.Lease,
		Do:       idleHost,
	}, {
		ID:       "lease/finish-after-end",
		Promises: []string{"R-FINISH-1"},
		Says:     "a finish after the lease ran out, while nobody took the run over, is recorded",
		Causes:   "finish demands a live lease; the record vanishes when the lease ends",
		Applies:  promise.Lease,
		Do:       finishAfterEnd,
	}}
}

// succeed asks for the attempt after g through all these processes until one of
// them is granted it, and judges the moment of that by g's lease.
func succeed(r *kit.Run, procs []*kit.Client, g kit.Grant) kit.Grant {
	grants := make([]*kit.Grant, len(procs))
	r.Parallel(len(procs), func(i int) {
		for {
			req := g.Next(fmt.Sprintf("w%d", i))
			a := procs[i].Claim(req)
			procs[i].Want(req, a, store.VerdictWon, store.VerdictRunning)
			if a.Verdict == store.VerdictWon {
				judgeEnd(r, g, a)
				grants[i] = &kit.Grant{Claimed: a, Req: req}
				return
			}
			if a.Attempt > g.Attempt {
				return // another of the processes was first
			}
			if a.Called.After(g.OverBy()) {
				r.Fatalf("the lease of %v that attempt %d got is still in the way %v after it must be over", g.Req.Lease, g.Attempt, kit.Wait(a.Called.Sub(g.OverBy())))
			}
			r.Sleep(r.Lease() / 50)
		}
	})
	for _, next := range grants {
		if next != nil {
			return *next
		}
	}
	r.Fatalf("every process was told that another one runs attempt %d, and none was granted it", g.Attempt+1)
	return kit.Grant{}
}

// judgeEnd fails if a was granted while the lease of g must still hold: by the
// clock of this process, and more sharply by the store's.
func judgeEnd(r *kit.Run, g kit.Grant, a kit.Claimed) {
	if early := g.HoldsUntil().Sub(a.Returned); early > 0 {
		r.Fatalf("attempt %d was granted at least %v before the lease of %v of attempt %d can be over", a.Attempt, kit.Wait(early), g.Req.Lease, g.Attempt)
	}
	const reading = 2 // ms by which a store may read its clock apart from its decision
	if g.Now > 0 && a.Now > 0 && a.Now-g.Now < g.Req.Lease.Milliseconds()-reading {
		r.Fatalf("attempt %d was granted %d ms after the lease of %v of attempt %d began, by the store's own now", a.Attempt, a.Now-g.Now, g.Req.Lease, g.Attempt)
	}
}

func leaseLength(r *kit.Run) {
	p := r.Open(3)
	lengths := []time.Duration{r.Lease() / 4, r.Lease() / 2, r.Lease() + 7*time.Millisecond, 5 * r.Lease() / 2}
	r.Parallel(len(lengths), func(i int) {
		req := r.Ask(r.Job(lengths[i].String()), 0, "holder")
		req.Lease = lengths[i]
		g := p[0].Win(req)
		leftWithin(r, g, g.Left, g.Span)
		next := succeed(r, p[1:], g)
		r.Figure(fmt.Sprintf("lease of %v granted again after", lengths[i]), "%v", kit.Wait(next.Returned.Sub(g.Called)))
	})
}

func leaseFromHeartbeat(r *kit.Run) {
	p := r.Open(3)
	req := r.Ask(r.Job("j"), 0, "holder")
	req.Lease = r.Lease()
	g := p[0].Win(req)
	for _, part := range []time.Duration{2, 3} {
		r.Sleep(r.Lease() / part)
		g = p[0].Renew(g, r.Lease())
	}
	// Another length than the claim's, and not through the holder's process.
	r.Sleep(r.Lease() / 2)
	g = p[1].Renew(g, 3*r.Lease()/2)
	succeed(r, p[1:], g)
}

func holdersLength(r *kit.Run) {
	p := r.Open(2)
	r.Parallel(2, func(i int) {
		if i == 0 {
			req := r.Ask(r.Job("short"), 0, "holder")
			req.Lease = r.Lease() / 2
			g := p[0].Win(req)
			r.SleepUntil(g.OverBy())
			next := g.Next("asker")
			next.Lease = kit.Long
			p[1].Win(next)
			return
		}
		g := p[0].Win(r.Ask(r.Job("long"), 0, "holder"))
		for range 5 {
			r.Sleep(r.Lease() / 8)
			next := g.Next("asker")
			next.Lease = time.Millisecond
			a := p[1].Refused(next, store.VerdictRunning)
			leftWithin(r, g, a.Left, a.Span)
			over := r.Ask(g.Req.Job, 1, "asker")
			over.Lease = time.Millisecond
			p[1].Refused(over, store.VerdictOverlap)
		}
		p[0].Renew(g, kit.Long)
	})
}

func renewedAfterEnd(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	req := r.Ask(job, 0, "holder")
	req.Lease, req.Overlap = r.Lease()/2, store.OverlapAllow
	g := p[0].Win(req)
	newer := r.Ask(job, 1, "other")
	newer.Overlap = store.OverlapAllow
	live := time.Now().Before(g.HoldsUntil())
	other := p[1].Win(newer)
	if !live || !other.Returned.Before(g.HoldsUntil()) {
		// The machine was too slow: the newer grant may have closed the run.
		// The plain case is left.
		job = r.Job("alone")
		req.Job, req.ID = job, store.NewClaimID()
		g = p[0].Win(req)
	}
	for range 2 {
		r.SleepUntil(g.OverBy().Add(r.Lease() / 4))
		g = p[0].Renew(g, r.Lease()/2)
	}
	r.SleepUntil(g.OverBy())
	g = p[1].Renew(g, kit.Long)
	next := g.Next("asker")
	next.Overlap = store.OverlapAllow
	a := p[1].Refused(next, store.VerdictRunning)
	leftWithin(r, g, a.Left, a.Span)
	p[0].Record(g, store.OutcomeSuccess, "")
}

func neverShortened(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "holder"))
	for _, short := range []time.Duration{time.Millisecond, r.Lease() / 4, kit.Long / 2} {
		p[0].Renew(g, short)
	}
	r.Sleep(r.Lease() / 2)
	a := p[1].Refused(g.Next("asker"), store.VerdictRunning)
	leftWithin(r, g, a.Left, a.Span)
	u := p[1].Unfinished(g.Req.Job)
	if len(u.Runs) != 1 {
		r.Fatalf("%d runs of the job are unfinished; want the one that is held", len(u.Runs))
	}
	leftWithin(r, g, u.Runs[0].Left, u.Span)
}

func nothingElseRenews(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	req := r.Ask(job, 0, "holder")
	req.Lease = r.Lease()
	g := p[0].Win(req)
	mate := p[0].Win(r.Ask(r.Job("mate"), 0, "holder"))
	for n := 0; time.Now().Before(g.OverBy()); n++ {
		mate = p[0].Renew(mate, kit.Long)
		p[0].Refused(mate.Next("holder"), store.VerdictRunning)
		side := p[0].Win(r.Ask(r.Job(fmt.Sprintf("side%d", n)), 0, "holder"))
		p[0].Record(side, store.OutcomeSuccess, "")
		p[0].Unfinished(job)
		p[0].Unfinished()
		p[0].History(job)
		wrong := g.Beat(kit.Long)
		wrong.Token++
		p[0].BeatLost(wrong, "whose token was never granted")
		if a := p[0].Claim(g.Req); a.Verdict != store.VerdictWon {
			r.Fatalf("the same claim again: want won, got %v", a.Verdict)
		}
		if a := p[0].Claim(r.Ask(job, 1, "holder")); a.Verdict != store.VerdictOverlap {
			// The lease may have ended since the loop looked.
			if a.Verdict == store.VerdictWon && a.Returned.After(g.HoldsUntil()) {
				return
			}
			r.Fatalf("a newer slot while the older is held: want overlap, got %v", a.Verdict)
		}
		r.Sleep(r.Lease() / 20)
	}
	p[1].Win(g.Next("asker"))
}

func idleHost(r *kit.Run) {
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "holder")
	req.Lease = r.Lease()
	g := p[0].Win(req)
	r.SleepUntil(g.OverBy())
	next := g.Next("asker")
	next.Lease = 3 * r.Lease()
	g = p[1].Win(next)
	r.SleepUntil(g.OverBy())
	p[0].Win(g.Next("third"))
}

func finishAfterEnd(r *kit.Run) {
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "holder")
	req.Lease = r.Lease() / 2
	g := p[0].Win(req)
	r.SleepUntil(g.OverBy().Add(r.Lease() / 2))
	p[1].Record(g, store.OutcomeSuccess, "")
	p[1].Refused(g.Next("asker"), store.VerdictFinished)
}
