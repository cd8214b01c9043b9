package checks

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// memory: what was granted is not forgotten.
func memory() []kit.Check {
	return []kit.Check{{
		ID:       "memory/granted-slots",
		Promises: []string{"R-MEMORY-1", "R-CLAIM-4"},
		Says:     "as many slots as are declared to be remembered (at most 1000; thirty where that is for ever or a matter of time only) are run with a history of one run, then claimed again: none is granted, and the newest is answered finished",
		Causes:   "the record of the history is the only memory of a run",
		Limit:    3 * time.Minute, // three thousand calls, one after the other
		Do:       grantedSlots,
	}, {
		ID:       "memory/newest",
		Promises: []string{"R-CLAIM-4", "R-HISTORY-2"},
		Says:     "the newest granted slot ends before an older one, with a history of one run: claimed again it is answered finished",
		Causes:   "what ended first is dropped first, and with it goes the only proof that the newest slot ran",
		Applies:  promise.Lease,
		Do:       newestRemembered,
	}, {
		ID:       "memory/age",
		Promises: []string{"R-MEMORY-1"},
		Says:     "slots that were run are claimed again after a while (as long as is declared, if the run is given that much time) and none is granted; nor is one that was left running, on a claim-only store",
		Causes:   "keys that expire; a sweeper; a trim or a compaction that counts the runs of all jobs, among which others ran meanwhile; the window counted from the slot instead of from the grant",
		Do:       memoryAge,
	}, {
		ID:       "memory/unfinished",
		Promises: []string{"R-MEMORY-2"},
		Says:     "a run that is held, and one whose lease ran out, outlast twenty newer runs with a history of one run: they are recalled, and the held one is renewed and finished",
		Causes:   "trimming counts unfinished runs, or goes by age",
		Applies:  promise.Lease,
		Do:       unfinishedOutlast,
	}, {
		ID:       "memory/other-job",
		Promises: []string{"R-MEMORY-3"},
		Says:     "after two hundred runs of busy jobs, one of them with a history of one run, a quiet job's finished run is still answered finished and still in its history",
		Causes:   "one history for all jobs; a bound on the number of keys; trimming without the job's name",
		Do:       otherJobsMemory,
	}}
}

func grantedSlots(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	n := 30
	if m := r.Description().Memory; !m.Forever && m.Runs > 0 {
		n = min(1000, m.Runs)
	}
	ask := func(slot int) store.ClaimRequest {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.HistorySize = 1
		return req
	}
	for slot := range n {
		g := p[slot%2].Win(ask(slot))
		p[slot%2].Record(g, store.OutcomeSuccess, "")
	}
	for slot := range n {
		a := p[slot%2].Refused(ask(slot), store.VerdictFinished, store.VerdictSuperseded)
		if slot == n-1 && a.Verdict != store.VerdictFinished {
			r.Fatalf("the newest run is answered %v; want finished", a.Verdict)
		}
		if !r.Leases() && a.Verdict == store.VerdictSuperseded {
			r.Fatalf("a claim-only store answered superseded")
		}
	}
	r.Figure("slots of one job that are remembered", "%d; not tried beyond", n)
}

func newestRemembered(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot int) store.ClaimRequest {
		req := r.Ask(job, slot, "a")
		req.HistorySize, req.Overlap = 1, store.OverlapAllow
		return req
	}
	older := p[0].Win(ask(0))
	newest := p[1].Win(ask(1))
	p[1].Record(newest, store.OutcomeSuccess, "")
	r.Sleep(kit.Slack)
	p[0].Record(older, store.OutcomeSuccess, "")
	for _, c := range p {
		c.Refused(ask(1), store.VerdictFinished)
		c.Refused(ask(0), store.VerdictFinished, store.VerdictSuperseded)
	}
}

func memoryAge(r *kit.Run) {
	p := r.Open(2)
	wait := r.Age()
	if m := r.Description().Memory; !m.Forever && m.Window > 0 {
		wait = min(wait, m.Window*9/10)
	}
	var asks []store.ClaimRequest
	var first, last time.Time
	for i, end := range []bool{true, true, false} {
		req := r.Ask(r.Job(fmt.Sprintf("j%d", i)), 0, "a")
		g := p[i%2].Win(req)
		if i == 0 {
			first = g.Called
		}
		last = g.Returned
		if end || r.Leases() {
			p[i%2].Record(g, store.OutcomeSuccess, "")
		}
		req.ID, req.Instance = store.NewClaimID(), "b"
		asks = append(asks, req)
	}
	r.SleepUntil(last.Add(wait))
	for i, req := range asks {
		a := p[i%2].Claim(req)
		m := r.Description().Memory
		if forgot := !m.Forever && m.Window > 0 && time.Since(first) >= m.Window; forgot && a.Verdict == store.VerdictWon {
			r.Inconclusive("the machine was too slow: the declared window of %v had passed before the runs could be claimed again", m.Window)
		}
		p[i%2].Want(req, a, store.VerdictFinished)
	}
	r.Figure("remembered for at least", "%v", kit.Wait(wait))
}

func unfinishedOutlast(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot int) store.ClaimRequest {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.HistorySize, req.Overlap = 1, store.OverlapAllow
		return req
	}
	held := p[0].Win(ask(0))
	for slot := range 20 {
		g := p[slot%2].Win(ask(slot + 1))
		p[slot%2].Record(g, store.OutcomeSuccess, "")
	}
	// The newest run of the job: no newer grant closes it.
	last := ask(30)
	last.Lease = r.Lease() / 4
	left := p[1].Win(last)
	r.SleepUntil(left.OverBy())
	wantSlots(r, p[1], job, "after twenty newer runs", held, left)
	p[0].Renew(held, kit.Long)
	p[1].Refused(held.Next("b"), store.VerdictRunning)
	p[0].Record(held, store.OutcomeSuccess, "")
	wantSlots(r, p[0], job, "after the held run finished", left)
	next := left.Next("b")
	next.Overlap = store.OverlapAllow
	if g := p[0].Win(next); g.Attempt != 2 {
		r.Fatalf("the run that was left behind is granted as attempt %d; want 2", g.Attempt)
	}
}

func otherJobsMemory(r *kit.Run) {
	const runs = 50 // of each busy job
	p := r.Open(4)
	quiet := r.Job("quiet")
	g := p[0].Win(r.Ask(quiet, 0, "a"))
	p[0].Record(g, store.OutcomeSuccess, "")
	r.Parallel(len(p), func(i int) {
		busy := r.Job(fmt.Sprintf("busy%d", i))
		for slot := range runs {
			req := r.Ask(busy, slot, "b")
			req.HistorySize = 1 + 3*i
			g := p[i].Win(req)
			p[i].Record(g, store.OutcomeSuccess, "")
		}
	})
	a := p[1].Refused(g.Next("b"), store.VerdictFinished)
	if a.Status != store.StatusSuccess && r.Leases() {
		r.Fatalf("the quiet job's run ended as success; finished says %v", a.Status)
	}
	if r.Description().History {
		wantAttempt(r, p[1], quiet, g, store.StatusSuccess, false)
	}
	r.Figure("other jobs' runs", "%d; not tried beyond", runs*len(p))
}
