package checks

import (
	"errors"
	"fmt"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// batch: many calls of one process at once, which a host sends together.
func batch() []kit.Check {
	return []kit.Check{{
		ID:       "batch/many-at-once",
		Promises: []string{"R-BATCH-1", "R-CLAIM-1"},
		Says:     "two hundred claims of forty runs by five instances go through one process at once: each run is granted to one of them, and every caller gets the answer to its own claim",
		Causes:   "answers of a batch in another order than its items; one answer for equal items",
		Do:       manyAtOnce,
	}, {
		ID:       "batch/bad-neighbour",
		Promises: []string{"R-BATCH-1"},
		Says:     "among sixty claims at once through one process, every third with the claim id of another run: those are invalid, and the others are granted",
		Causes:   "one transaction for a batch; the first error ends the batch",
		Applies:  promise.Lease,
		Do:       badNeighbour,
	}, {
		ID:       "batch/finishes",
		Promises: []string{"R-BATCH-1", "R-FINISH-1"},
		Says:     "sixty runs are renewed and then finished at once through one process, some with a wrong token: those are lost, and every other one is recorded with its own outcome",
		Causes:   "answers of a batch in another order than its items; the outcome of one item is written to all",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       finishesAtOnce,
	}}
}

func manyAtOnce(r *kit.Run) {
	c := r.Open(1)[0]
	const runs, askers = 40, 5
	jobs := make([]string, runs)
	for i := range jobs {
		jobs[i] = r.Job(fmt.Sprintf("j%d", i))
	}
	answers := make([]kit.Claimed, runs*askers)
	reqs := make([]store.ClaimRequest, len(answers))
	for i := range reqs {
		reqs[i] = r.Ask(jobs[i%runs], i%runs, fmt.Sprintf("i%d-%d", i%runs, i/runs))
	}
	r.Parallel(len(answers), func(i int) { answers[i] = c.Claim(reqs[i]) })
	for run := range runs {
		var winner *kit.Grant
		for a := range askers {
			i := a*runs + run
			if answers[i].Verdict != store.VerdictWon {
				continue
			}
			if winner != nil {
				r.Fatalf("slot %d of %s was granted to %s and to %s", reqs[i].Slot, jobs[run], winner.Req.Instance, reqs[i].Instance)
			}
			winner = &kit.Grant{Claimed: answers[i], Req: reqs[i]}
		}
		if winner == nil {
			r.Fatalf("none of %d claims of a free run was granted", askers)
		}
		for a := range askers {
			i := a*runs + run
			if got := answers[i]; got.Verdict != store.VerdictWon {
				c.Want(reqs[i], got, takenAs(r))
				if r.Leases() && got.Holder != winner.Req.Instance {
					r.Fatalf("a run was granted to %s; another asker was told that %s holds it", winner.Req.Instance, got.Holder)
				}
			}
		}
		same(r, *winner, c.Claim(winner.Req))
	}
}

func badNeighbour(r *kit.Run) {
	c := r.Open(1)[0]
	g := c.Win(r.Ask(r.Job("held"), 0, "a"))
	const n = 60
	errs := make([]error, n)
	answers := make([]kit.Claimed, n)
	r.Parallel(n, func(i int) {
		req := r.Ask(r.Job(fmt.Sprintf("j%d", i)), 0, fmt.Sprintf("i%d", i))
		if i%3 == 0 {
			req.ID = g.Req.ID
		}
		answers[i], errs[i] = c.TryClaim(req)
	})
	for i, err := range errs {
		switch bad := i%3 == 0; {
		case bad && !errors.Is(err, store.ErrInvalid):
			r.Fatalf("a claim with the claim id of another job, among others at once: want the error invalid, got %v, error %v", answers[i].Verdict, err)
		case !bad && (err != nil || answers[i].Verdict != store.VerdictWon):
			r.Fatalf("a good claim among bad ones at once: want won, got %v, error %v", answers[i].Verdict, err)
		}
	}
	same(r, g, c.Claim(g.Req))
}

func finishesAtOnce(r *kit.Run) {
	c := r.Open(1)[0]
	const n = 60
	grants := make([]kit.Grant, n)
	r.Parallel(n, func(i int) {
		grants[i] = c.Win(r.Ask(r.Job(fmt.Sprintf("j%d", i)), 0, fmt.Sprintf("i%d", i)))
	})
	wrong := func(i int) bool { return i%5 == 2 }
	r.Parallel(n, func(i int) {
		beat := grants[i].Beat(kit.Long)
		if wrong(i) {
			beat.Token++
		}
		if a := c.Heartbeat(beat); a.Renewed == wrong(i) {
			r.Fatalf("heartbeat %d of %d at once, wrong token %v: renewed is %v", i, n, wrong(i), a.Renewed)
		}
	})
	outcomes := []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted}
	r.Parallel(n, func(i int) {
		end := grants[i].End(outcomes[i%3], fmt.Sprintf("text %d", i))
		if wrong(i) {
			end.Token++
		}
		if a := c.Finish(end); a.Recorded == wrong(i) {
			r.Fatalf("finish %d of %d at once, wrong token %v: recorded is %v", i, n, wrong(i), a.Recorded)
		}
	})
	for i, g := range grants {
		if wrong(i) {
			wantAttempt(r, c, g.Req.Job, g, store.StatusRunning, false)
			continue
		}
		a := wantAttempt(r, c, g.Req.Job, g, outcomes[i%3].Status(), false)
		if a.Error != fmt.Sprintf("text %d", i) {
			r.Fatalf("run %d was finished with \"text %d\"; its record says %q", i, i, a.Error)
		}
	}
}
