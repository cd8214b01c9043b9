package checks

import (
	"fmt"
	"sync/atomic"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// claim: who is granted a run, and who is told what instead.
func claim() []kit.Check {
	return []kit.Check{{
		ID:       "claim/one-winner",
		Promises: []string{"R-CLAIM-1"},
		Says:     "six processes claim the same run at the same moment, fifty slots in a row; each time exactly one wins and the others are told that it is taken",
		Causes:   "reading and writing in two steps; a lock inside one process; an answer from a cache or a replica",
		Do:       oneWinner,
	}, {
		ID:       "claim/one-winner-takeover",
		Promises: []string{"R-CLAIM-1", "R-CLAIM-5"},
		Says:     "six processes claim the second attempt of a run that was handed over, at the same moment; exactly one wins",
		Causes:   "the first attempt is guarded by a unique key, the later ones by nothing",
		Applies:  promise.Lease,
		Do:       oneTakeover,
	}, {
		ID:       "claim/running",
		Promises: []string{"R-CLAIM-5"},
		Says:     "while an attempt holds a live lease, any other claim of the run is answered running, with its holder, its attempt and what is left of its lease",
		Causes:   "lease left is the length, not what is left; the asker's own name is returned; claims of the holder's own instance are let through",
		Applies:  promise.Lease,
		Do:       running,
	}, {
		ID:       "claim/finished",
		Promises: []string{"R-CLAIM-4"},
		Says:     "a run that ended, as success or as interrupted, is answered finished through every process, whoever asks and however often",
		Causes:   "the record of a finished run is deleted; finished means failed only",
		Do:       finished,
	}, {
		ID:       "claim/superseded",
		Promises: []string{"R-CLAIM-6"},
		Says:     "once a newer slot was granted, an older slot that nobody claimed is answered superseded, naming the newest granted one, also while that one runs and after it ended",
		Causes:   "the newest granted slot is not kept with the job; it is compared with the newest finished one only",
		Applies:  promise.Lease,
		Do:       superseded,
	}, {
		ID:       "claim/superseded-closes",
		Promises: []string{"R-CLAIM-6", "R-TOKEN-3"},
		Says:     "an unfinished older run whose lease ended after a newer slot was granted is answered superseded once, is closed as interrupted by that, and is finished from then on",
		Causes:   "superseded is answered without closing the run, so that it reads unfinished for ever",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       supersededCloses,
	}, {
		ID:       "claim/follows",
		Promises: []string{"R-CLAIM-7"},
		Says:     "a claim that names another attempt than the run's last as the one before it is answered running with no lease left, naming the last attempt, and is not granted",
		Causes:   "after is not looked at; it is compared with the attempts that count instead of the attempt number",
		Applies:  promise.Lease,
		Do:       follows,
	}, {
		ID:       "claim/copy-arrives-late",
		Promises: []string{"R-CLAIM-7"},
		Says:     "a copy of a claim that arrives after its attempt was granted and handed over is not granted a second time, not even when later attempts came and went",
		Causes:   "the claim id is forgotten with the attempt, and after is not looked at",
		Applies:  promise.Lease,
		Do:       copyArrivesLate,
	}, {
		ID:       "claim/closes-older",
		Promises: []string{"R-CLAIM-9"},
		Says:     "a grant closes, as interrupted, every older unfinished run of its job that holds no live lease, one left behind and one handed over, and leaves one that is held alone",
		Causes:   "only the newest older run is closed; runs that were handed over are missed; a live run is closed too",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       closesOlder,
	}, {
		ID:       "claim/record-at-once",
		Promises: []string{"R-CLAIM-11", "R-HISTORY-3"},
		Says:     "as soon as a claim is won, every other process reads the attempt as running in the history",
		Causes:   "the record is written after the decision; history is read from a replica or a cache",
		Needs:    kit.NeedHistory,
		Do:       recordAtOnce,
	}}
}

// takenAs is what a second asker is told of a run that another one holds.
func takenAs(r *kit.Run) store.Verdict {
	if r.Leases() {
		return store.VerdictRunning
	}
	return store.VerdictFinished
}

// another is a claim, by another instance, of a run that was granted. To a claim-only
// store it is a first one: one that says which attempt it follows is refused whatever
// the store remembers.
func another(r *kit.Run, g kit.Grant, instance string) store.ClaimRequest {
	req := g.Next(instance)
	if !r.Leases() {
		req.After, req.Reason = 0, store.ReasonScheduled
	}
	return req
}

func oneWinner(r *kit.Run) {
	procs := r.Open(processes)
	job := r.Job("j")
	for slot := range 50 {
		grants := contend(r, procs, func(i int) store.ClaimRequest { return r.Ask(job, slot, fmt.Sprintf("i%d", i)) }, takenAs(r))
		if len(grants) != 1 {
			r.Fatalf("slot %d: %d of %d claims at once were granted; want exactly one", slot, len(grants), processes)
		}
		procs[slot%processes].Record(grants[0], store.OutcomeSuccess, "")
	}
}

// contend claims through all processes at once and returns the grants. The
// others must be told one of these verdicts.
func contend(r *kit.Run, procs []*kit.Client, ask func(i int) store.ClaimRequest, others ...store.Verdict) []kit.Grant {
	won := make([]*kit.Grant, len(procs))
	r.Parallel(len(procs), func(i int) {
		req := ask(i)
		a := procs[i].Claim(req)
		if a.Verdict == store.VerdictWon {
			won[i] = &kit.Grant{Claimed: a, Req: req}
			return
		}
		procs[i].Want(req, a, others...)
	})
	var grants []kit.Grant
	for _, g := range won {
		if g != nil {
			grants = append(grants, *g)
		}
	}
	return grants
}

func oneTakeover(r *kit.Run) {
	procs := r.Open(processes)
	for n := range 15 {
		job := r.Job(fmt.Sprintf("j%d", n))
		first := procs[0].Win(r.Ask(job, 0, "first"))
		procs[0].Record(first, store.OutcomeReleased, "")
		grants := contend(r, procs, func(i int) store.ClaimRequest { return first.Next(fmt.Sprintf("i%d", i)) }, store.VerdictRunning)
		if len(grants) != 1 || grants[0].Attempt != 2 {
			r.Fatalf("%d of %d claims of attempt 2 at once were granted; want exactly one, of attempt 2: %v", len(grants), processes, attemptsOf(grants))
		}
	}
}

func attemptsOf(grants []kit.Grant) (attempts []int) {
	for _, g := range grants {
		attempts = append(attempts, g.Attempt)
	}
	return attempts
}

func running(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "holder"))
	for _, asker := range []string{"another", "holder"} {
		for _, c := range p {
			for _, after := range []int{0, g.Attempt} {
				req := g.Next(asker)
				req.After = after
				a := c.Refused(req, store.VerdictRunning)
				if a.Holder != "holder" || a.Attempt != 1 {
					r.Fatalf("running names attempt %d of %q; want attempt 1 of \"holder\"", a.Attempt, a.Holder)
				}
				leftWithin(r, g, a.Left, a.Span)
			}
		}
	}
}

// leftWithin fails if what is said to be left of a lease does not lie where the
// two calls put it.
func leftWithin(r *kit.Run, g kit.Grant, left timeLeft, at kit.Span) {
	low := g.HoldsUntil().Sub(at.Returned)
	high := g.OverBy().Sub(at.Called)
	if left < low || left > high {
		r.Fatalf("%v of the lease of %v is said to be left; it must be from %v to %v", left, g.Req.Lease, max(0, low), max(0, high))
	}
}

func finished(r *kit.Run) {
	p := r.Open(3)
	for _, o := range []store.Outcome{store.OutcomeSuccess, store.OutcomeInterrupted} {
		g := p[0].Win(r.Ask(r.Job(o.String()), 0, "runner"))
		p[1].Record(g, o, "")
		for _, asker := range []string{"another", "runner"} {
			for _, c := range p {
				for _, after := range []int{0, 1} {
					req := g.Next(asker)
					req.After = after
					a := c.Refused(req, store.VerdictFinished)
					if forgot := !r.Leases() && (a.Status == 0 || !r.Description().History); a.Status != o.Status() && !forgot {
						r.Fatalf("the run ended as %v; finished says %v", o.Status(), a.Status)
					}
				}
			}
		}
	}
}

func superseded(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	newest := func(want store.ClaimRequest, older int) {
		for i, c := range p {
			a := c.Refused(r.Ask(job, older, fmt.Sprintf("late%d", i)), store.VerdictSuperseded)
			if a.Slot != want.Slot {
				r.Fatalf("superseded names slot %d; the newest granted slot is %d", a.Slot, want.Slot)
			}
		}
	}
	g := p[0].Win(r.Ask(job, 5, "runner"))
	newest(g.Req, 4)
	newest(g.Req, 0)
	p[1].Record(g, store.OutcomeSuccess, "")
	newest(g.Req, 4)
	g = p[1].Win(r.Ask(job, 7, "runner"))
	p[1].Record(g, store.OutcomeReleased, "")
	newest(g.Req, 6)
}

func supersededCloses(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	req := r.Ask(job, 0, "old")
	req.Lease, req.Overlap = r.Lease(), store.OverlapAllow
	old := p[0].Win(req)
	req = r.Ask(job, 1, "new")
	req.Overlap = store.OverlapAllow
	p[1].Win(req)

	// The newer grant may have come when the old lease was over already: then it
	// closed the old run itself (R-CLAIM-9), and the answer is finished.
	r.SleepUntil(old.OverBy())
	next := old.Next("backup")
	next.Overlap = store.OverlapAllow
	p[1].Refused(next, store.VerdictSuperseded, store.VerdictFinished)
	p[0].Refused(old.Next("backup2"), store.VerdictFinished)
	wantAttempt(r, p[0], job, old, store.StatusInterrupted, false)
	if n := len(unfinishedSlots(p[1], job)); n != 1 {
		r.Fatalf("%d runs of the job are unfinished; only the newer one is", n)
	}
	p[0].BeatLost(old.Beat(kit.Long), "after its run was closed as superseded")
	p[0].FinishLost(old.End(store.OutcomeSuccess, ""), "after its run was closed as superseded")
}

func follows(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "a"))
	p[0].Record(g, store.OutcomeReleased, "")
	mismatch := func(g kit.Grant, after int) {
		req := g.Next("b")
		req.After = after
		a := p[1].Refused(req, store.VerdictRunning)
		if a.Left != 0 || a.Attempt != g.Attempt {
			r.Fatalf("a claim after attempt %d of a run whose last attempt %d was handed over: want running, attempt %d, nothing left; got attempt %d, %v left", after, g.Attempt, g.Attempt, a.Attempt, a.Left)
		}
	}
	mismatch(g, 0)
	mismatch(g, 2)
	mismatch(g, 100)
	g = p[1].Win(g.Next("b"))
	p[0].Record(g, store.OutcomeReleased, "")
	mismatch(g, 0)
	mismatch(g, 1)
	mismatch(g, 3)

	// A first attempt follows none.
	fresh := r.Ask(r.Job("fresh"), 0, "a")
	fresh.After = 1
	if a := p[0].Claim(fresh); a.Verdict == store.VerdictWon {
		r.Fatalf("a claim after attempt 1 of a run that has no attempt was granted")
	}
}

func copyArrivesLate(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "a"))
	copies := []store.ClaimRequest{g.Req}
	for n := range 4 {
		p[n%2].Record(g, store.OutcomeReleased, "")
		for i, c := range copies {
			a := p[1].Refused(c, store.VerdictRunning)
			if a.Attempt != g.Attempt || a.Left != 0 {
				r.Fatalf("the copy of the claim of attempt %d: want running, attempt %d, nothing left; got attempt %d, %v left", i+1, g.Attempt, a.Attempt, a.Left)
			}
		}
		g = p[n%2].Win(g.Next("a"))
		copies = append(copies, g.Req)
	}
}

func closesOlder(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot int) store.ClaimRequest {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.Overlap = store.OverlapAllow
		return req
	}
	held := p[0].Win(ask(0))
	short := ask(1)
	short.Lease = r.Lease()
	left := p[0].Win(short)
	given := p[1].Win(ask(2))
	p[0].Record(given, store.OutcomeReleased, "")
	if given.Returned.Before(left.HoldsUntil()) { // else that grant closed it already
		wantSlots(r, p[1], job, "before the newer grant", held, left, given)
	}

	r.SleepUntil(left.OverBy())
	newer := p[1].Win(ask(3))
	wantSlots(r, p[0], job, "after the newer grant", held, newer)
	wantAttempt(r, p[0], job, held, store.StatusRunning, false)
	wantAttempt(r, p[0], job, left, store.StatusInterrupted, false)
	wantAttempt(r, p[0], job, given, store.StatusInterrupted, true)
	p[0].BeatLost(left.Beat(kit.Long), "after its run was closed by a newer grant")
	p[0].Refused(left.Next("x"), store.VerdictFinished)
	p[0].Refused(given.Next("x"), store.VerdictFinished)
	p[0].Renew(held, kit.Long)
	p[0].Record(held, store.OutcomeSuccess, "")
}

func recordAtOnce(r *kit.Run) {
	p := r.Open(4)
	var seen atomic.Int32
	r.Parallel(5, func(n int) {
		job := r.Job(fmt.Sprintf("j%d", n))
		for slot := range 5 {
			req := r.Ask(job, slot, "runner")
			g := p[slot%len(p)].Win(req)
			reader := p[(slot+1)%len(p)]
			wantAttempt(r, reader, job, g, store.StatusRunning, false)
			seen.Add(1)
			p[slot%len(p)].Record(g, store.OutcomeSuccess, "")
		}
	})
	r.Figure("records read at once", "%d", seen.Load())
}
