package checks

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// kill: plugin processes end without a word.
func kill() []kit.Check {
	return []kit.Check{{
		ID:       "kill/holder",
		Promises: []string{"R-ERROR-4", "R-LEASE-1", "R-LEASE-2", "R-HISTORY-3"},
		Says:     "a plugin process is killed with a lease in its hands: other processes see the run as running until the lease is over, not sooner and not longer, and then take it over as attempt 2",
		Causes:   "a lock that lives and dies with the session; state inside the plugin; a transaction left open",
		Applies:  promise.Lease,
		Needs:    kit.NeedKill | kit.NeedHistory,
		Do:       killHolder,
	}, {
		ID:       "kill/mid-claim",
		Promises: []string{"R-ERROR-4", "R-ERROR-3", "R-CLAIM-1", "R-CLAIM-2"},
		Says:     "ten times a plugin process is killed at a random moment of a claim: the call does not say refused, and asked again through another process with the same claim id the run is granted, once",
		Causes:   "a lock that outlives its process; the claim and its record in two steps",
		Needs:    kit.NeedKill,
		Limit:    2 * time.Minute,
		Do:       killMidClaim,
	}}
}

func killHolder(r *kit.Run) {
	p := r.Open(3)
	job := r.Job("j")
	req := r.Ask(job, 0, "a")
	req.Lease = 5 * r.Lease()
	g := p[0].Win(req)
	r.Kill(p[0])
	if u := p[1].Unfinished(job); u.Returned.Before(g.HoldsUntil()) {
		if len(u.Runs) != 1 || u.Runs[0].Holder != "a" || !u.Runs[0].Open {
			r.Fatalf("after the holder's plugin was killed, its run must be recalled as held by it; got %+v", u.Runs)
		}
		leftWithin(r, g, u.Runs[0].Left, u.Span)
	}
	next := succeed(r, p[1:], g)
	if next.Attempt != 2 {
		r.Fatalf("the run was taken over as attempt %d; want 2", next.Attempt)
	}
	wantAttempt(r, p[1], job, g, store.StatusInterrupted, false)
	p[2].Record(next, store.OutcomeSuccess, "")
	r.Figure("taken over after kill", "%v for a lease of %v", kit.Wait(next.Returned.Sub(g.Called)), req.Lease)
}

func killMidClaim(r *kit.Run) {
	survivor := r.Open(1)[0]
	job := r.Job("j")
	applied := 0
	for slot := range 10 {
		victim := r.Open(1)[0]
		req := r.Ask(job, slot, "a")
		pause := time.Duration(r.IntN(3000)) * time.Microsecond
		var a kit.Claimed
		var err error
		r.Parallel(2, func(i int) {
			if i == 0 {
				a, err = victim.TryClaim(req)
				return
			}
			r.Sleep(pause)
			r.Kill(victim)
		})
		if err == nil {
			survivor.Want(req, a, store.VerdictWon)
			applied++
		}
		g := survivor.Win(req)
		if g.Attempt != 1 || err == nil && g.Token != a.Token {
			r.Fatalf("slot %d: the same claim again through another process: attempt %d, token %d; the first answer was attempt %d, token %d, error %v", slot, g.Attempt, g.Token, a.Attempt, a.Token, err)
		}
		survivor.Refused(another(r, g, "b"), takenAs(r))
		if r.Description().History {
			if h := survivor.HistoryPage(store.HistoryRequest{Job: job, Limit: 2}).Attempts; len(h) > 1 && h[1].Slot == req.Slot {
				r.Fatalf("slot %d: one claim left two attempts: %+v", slot, h)
			}
		}
		survivor.Record(g, store.OutcomeSuccess, fmt.Sprintf("round %d", slot))
	}
	r.Figure("claims answered before the kill", "%d of 10", applied)
}
