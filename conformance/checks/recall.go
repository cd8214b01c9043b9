package checks

import (
	"fmt"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// recall: the runs that began and did not end.
func recall() []kit.Check {
	return []kit.Check{{
		ID:       "recall/fields",
		Promises: []string{"R-RECALL-1"},
		Says:     "an unfinished run is recalled with slot, attempt, holder, token, lease left, counted attempts and the job's newest granted slot: while it is held, after its lease ran out, and after a hand-over",
		Causes:   "the first attempt's holder; runs without a lease are left out; hand-overs counted; newest is the run's own slot",
		Applies:  promise.Lease,
		Do:       recallFields,
	}, {
		ID:       "recall/by-name",
		Promises: []string{"R-RECALL-1"},
		Says:     "recall of some jobs lists their runs only, by job and slot, each once however often it is named; ended runs and unknown jobs add nothing",
		Causes:   "the names are not looked at; only the first name is; a join repeats rows",
		Applies:  promise.Lease,
		Do:       recallByName,
	}, {
		ID:       "recall/all-jobs",
		Promises: []string{"R-RECALL-2"},
		Says:     "recall without names lists the unfinished runs of all jobs, each as recall by name does",
		Causes:   "no names means no jobs; only jobs that this process has seen",
		Applies:  promise.Lease,
		Do:       recallAll,
	}}
}

// wantRecalled fails unless exactly this run of the job is unfinished, and looks
// so. Lease left is judged by the caller.
func wantRecalled(r *kit.Run, c *kit.Client, when string, g kit.Grant, open bool, counted int, newest int64) kit.Listed {
	u := c.Unfinished(g.Req.Job)
	for _, got := range u.Runs {
		if got.Slot != g.Req.Slot {
			continue
		}
		got.Left = 0
		want := store.UnfinishedRun{
			Job: g.Req.Job, Slot: g.Req.Slot, Attempt: g.Attempt, Open: open, Holder: g.Req.Instance,
			Token: g.Token, Counted: counted, Newest: newest,
		}
		if got != want {
			r.Fatalf("%s, recall through %s must list (lease left aside)\n  %+v\ngot\n  %+v", when, c.Name(), want, got)
		}
		return u
	}
	r.Fatalf("%s, recall through %s does not list slot %d of the job", when, c.Name(), g.Req.Slot)
	return u
}

func recallFields(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := r.Ask(job, 0, "a")
	ask.Overlap = store.OverlapAllow
	ask.MaxAttempts = 10
	g := p[0].Win(ask)
	u := wantRecalled(r, p[1], "while it is held", g, true, 1, r.Slot(0))
	leftWithin(r, g, u.Runs[0].Left, u.Span)

	// A newer slot, done already, is the newest granted one from now on.
	newer := r.Ask(job, 3, "b")
	newer.Overlap = store.OverlapAllow
	p[1].Record(p[1].Win(newer), store.OutcomeSuccess, "")
	wantRecalled(r, p[0], "after a newer slot ran", g, true, 1, r.Slot(3))

	// The attempts of the newest slot.
	job = r.Job("attempts")
	ask = r.Ask(job, 0, "a")
	ask.MaxAttempts = 10
	g = p[0].Win(ask)
	p[0].Record(g, store.OutcomeReleased, "")
	u = wantRecalled(r, p[1], "after a hand-over", g, false, 0, r.Slot(0))
	next := g.Next("b")
	next.Lease = r.Lease() / 2
	g = p[1].Win(next)
	wantRecalled(r, p[0], "as second attempt", g, true, 1, r.Slot(0))
	r.SleepUntil(g.OverBy())
	u = wantRecalled(r, p[0], "after its lease ran out", g, true, 1, r.Slot(0))
	if u.Runs[0].Left != 0 {
		r.Fatalf("the lease is over, and %v of it is said to be left", u.Runs[0].Left)
	}
	next = g.Next("c")
	next.Lease = kit.Long
	g = p[0].Win(next)
	wantRecalled(r, p[1], "after a takeover", g, true, 2, r.Slot(0))
	p[0].Record(g, store.OutcomeSuccess, "")
	wantSlots(r, p[1], job, "after the run ended")
}

func recallByName(r *kit.Run) {
	p := r.Open(2)
	var jobs []string
	for i := range 5 {
		job := r.Job(fmt.Sprintf("j%d", i))
		jobs = append(jobs, job)
		for slot := range 2 {
			req := r.Ask(job, slot, "a")
			req.Overlap = store.OverlapAllow
			p[i%2].Win(req)
		}
		done := r.Ask(job, 2, "a")
		done.Overlap = store.OverlapAllow
		p[i%2].Record(p[i%2].Win(done), store.OutcomeSuccess, "")
	}
	got := p[1].Unfinished(jobs[3], r.Job("unknown"), jobs[1], jobs[3])
	var s []string
	for _, u := range got.Runs {
		s = append(s, fmt.Sprintf("%s/%d", u.Job, u.Slot))
	}
	var want []string
	for _, i := range []int{1, 3} {
		for slot := range 2 {
			want = append(want, fmt.Sprintf("%s/%d", jobs[i], r.Slot(slot)))
		}
	}
	if strings.Join(s, "\n") != strings.Join(want, "\n") {
		r.Fatalf("recall of two jobs with two unfinished runs each must list\n%s\ngot\n%s", strings.Join(want, "\n"), strings.Join(s, "\n"))
	}
}

func recallAll(r *kit.Run) {
	p := r.Open(2)
	want := map[string]store.UnfinishedRun{}
	for i := range 6 {
		job := r.Job(fmt.Sprintf("j%d", i))
		g := p[i%2].Win(r.Ask(job, i, "a"))
		if i == 5 {
			p[0].Record(g, store.OutcomeSuccess, "")
			continue
		}
		if i%2 == 1 {
			p[i%2].Record(g, store.OutcomeReleased, "")
		}
		u := p[0].Unfinished(job).Runs
		if len(u) != 1 {
			r.Fatalf("recall of a job with one unfinished run lists %d", len(u))
		}
		u[0].Left = 0
		want[job] = u[0]
	}
	ended := r.Job("j5")
	for _, c := range p {
		found := 0
		for _, u := range c.Unfinished().Runs { // of other checks too
			u.Left = 0
			switch w, mine := want[u.Job]; {
			case u.Job == ended:
				r.Fatalf("recall without names lists a run that ended: %+v", u)
			case mine && w != u:
				r.Fatalf("recall without names lists\n  %+v\nrecall by name\n  %+v", u, w)
			case mine:
				found++
			}
		}
		if found != len(want) {
			r.Fatalf("recall without names through %s lists %d of this check's %d unfinished runs", c.Name(), found, len(want))
		}
	}
}
