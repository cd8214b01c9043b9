package checks

import (
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// retry: a claim whose answer was lost is asked again with the same claim id.
func retry() []kit.Check {
	return []kit.Check{{
		ID:       "retry/same-grant",
		Promises: []string{"R-CLAIM-2"},
		Says:     "a claim repeated with the same claim id, through the same process and through others, gets the same attempt and token again; the history has one attempt",
		Causes:   "the claim id is not kept with the grant; it is kept inside one process; the repeat counts as an attempt",
		Do:       sameGrant,
	}, {
		ID:       "retry/at-once",
		Promises: []string{"R-CLAIM-1", "R-CLAIM-2"},
		Says:     "six copies of one claim arrive at the same moment through six processes; all get the same grant, and there is one attempt",
		Causes:   "the claim id is looked up before, not in, the step that grants",
		Do:       copiesAtOnce,
	}, {
		ID:       "retry/not-renewed",
		Promises: []string{"R-CLAIM-2", "R-LEASE-6"},
		Says:     "a repeated claim gets the lease that is left, down to nothing, and however often it is repeated the lease ends when it would have",
		Causes:   "the repeat grants a full lease again, or says so",
		Applies:  promise.Lease,
		Do:       notRenewed,
	}, {
		ID:       "retry/after-finish",
		Promises: []string{"R-CLAIM-4"},
		Says:     "a claim repeated after its attempt was finished is answered finished, not won",
		Causes:   "the claim id is matched without looking at how the attempt stands",
		Do:       retryAfterFinish,
	}, {
		ID:       "retry/after-takeover",
		Promises: []string{"R-CLAIM-2", "R-CLAIM-5", "R-TOKEN-3"},
		Says:     "a claim repeated after another instance took the run over is answered running, naming that one",
		Causes:   "claim ids of earlier attempts are matched; the repeat takes the run back",
		Applies:  promise.Lease,
		Do:       retryAfterTakeover,
	}, {
		ID:       "retry/foreign-id",
		Promises: []string{"R-CLAIM-3"},
		Says:     "the claim id of an unfinished run's last attempt that comes with another job, slot or instance is invalid, and nothing is written; the attempt goes on",
		Causes:   "the claim id is matched without job, slot and instance; it is looked up per job only",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       foreignID,
	}}
}

// same fails unless the repeat got the grant again.
func same(r *kit.Run, g kit.Grant, again kit.Claimed) {
	if again.Verdict != store.VerdictWon || again.Attempt != g.Attempt || again.Token != g.Token {
		r.Fatalf("the same claim again: want won, attempt %d, token %d as before; got %v, attempt %d, token %d", g.Attempt, g.Token, again.Verdict, again.Attempt, again.Token)
	}
}

func sameGrant(r *kit.Run) {
	p := r.Open(3)
	job := r.Job("j")
	g := p[0].Win(r.Ask(job, 0, "a"))
	for range 3 {
		for _, c := range p {
			same(r, g, c.Claim(g.Req))
		}
	}
	if r.Description().History {
		if h := p[1].History(job); len(h) != 1 || h[0].Status != store.StatusRunning {
			r.Fatalf("after one claim and its repeats the history has %d attempts, want one that is running: %+v", len(h), h)
		}
	}
	p[2].Record(g, store.OutcomeSuccess, "")
}

func copiesAtOnce(r *kit.Run) {
	procs := r.Open(processes)
	job := r.Job("j")
	for slot := range 15 {
		req := r.Ask(job, slot, "a")
		answers := make([]kit.Claimed, processes)
		r.Parallel(processes, func(i int) { answers[i] = procs[i].Claim(req) })
		g := kit.Grant{Claimed: answers[0], Req: req}
		if g.Attempt != 1 {
			r.Fatalf("the first attempt of a run is %d; want 1", g.Attempt)
		}
		for _, a := range answers {
			same(r, g, a)
		}
		if r.Description().History {
			if h := procs[1].HistoryPage(store.HistoryRequest{Job: job, Limit: 2}).Attempts; len(h) > 1 && h[1].Slot == req.Slot {
				r.Fatalf("copies of one claim left more than one attempt: %+v", h)
			}
		}
		procs[slot%processes].Record(g, store.OutcomeSuccess, "")
	}
}

func notRenewed(r *kit.Run) {
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "a")
	req.Lease = 2 * r.Lease()
	g := p[0].Win(req)
	leftWithin(r, g, g.Left, g.Span)
	for time.Now().Before(g.OverBy()) {
		again := p[0].Claim(req)
		same(r, g, again)
		if low := g.HoldsUntil().Sub(again.Returned); again.Left < low || again.Left > max(0, g.OverBy().Sub(again.Called)) {
			r.Fatalf("the same claim again says that %v of its lease of %v is left; it must be from %v to %v", again.Left, req.Lease, max(0, low), max(0, g.OverBy().Sub(again.Called)))
		}
		r.Sleep(r.Lease() / 8)
	}
	again := p[0].Claim(req)
	same(r, g, again)
	if again.Left != 0 {
		r.Fatalf("the lease of %v is over, and the same claim again says that %v is left", req.Lease, again.Left)
	}
	p[1].Win(g.Next("b"))
}

func retryAfterFinish(r *kit.Run) {
	p := r.Open(2)
	for _, o := range []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted} {
		g := p[0].Win(r.Ask(r.Job(o.String()), 0, "a"))
		same(r, g, p[1].Claim(g.Req))
		p[0].Record(g, o, "")
		for _, c := range p {
			c.Refused(g.Req, store.VerdictFinished)
		}
	}
}

func retryAfterTakeover(r *kit.Run) {
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "a")
	req.Lease = r.Lease()
	a := p[0].Win(req)
	r.SleepUntil(a.OverBy())
	req = a.Next("b")
	req.Lease = kit.Long
	b := p[1].Win(req)
	for _, c := range p {
		got := c.Refused(a.Req, store.VerdictRunning)
		if got.Holder != "b" || got.Attempt != b.Attempt {
			r.Fatalf("running names attempt %d of %q; the run is held by b as attempt %d", got.Attempt, got.Holder, b.Attempt)
		}
	}
	p[1].Renew(b, kit.Long)
}

func foreignID(r *kit.Run) {
	p := r.Open(2)
	job, other := r.Job("j"), r.Job("other")
	g := p[0].Win(r.Ask(job, 5, "a"))
	before := p[0].History(job)

	foreign := func(what string, change func(*store.ClaimRequest)) {
		req := g.Req
		req.Overlap = store.OverlapAllow
		change(&req)
		for _, c := range p {
			if a, err := c.TryClaim(req); !errors.Is(err, store.ErrInvalid) {
				r.Fatalf("a remembered claim id with another %s: want the error invalid, got %v, error %v", what, a.Verdict, err)
			}
		}
		wantUntouched(r, p[1], job, before, "a claim with another "+what)
	}
	all := func() {
		foreign("newer slot", func(q *store.ClaimRequest) { q.Slot++ })
		foreign("older slot", func(q *store.ClaimRequest) { q.Slot-- })
		foreign("instance", func(q *store.ClaimRequest) { q.Instance = "b" })
		foreign("job", func(q *store.ClaimRequest) { q.Job = other })
	}
	all()
	if h := p[1].History(other); len(h) != 0 {
		r.Fatalf("an invalid claim left attempts in the history of its job: %+v", h)
	}
	same(r, g, p[1].Claim(g.Req))
	p[1].Renew(g, kit.Long)
	p[0].Record(g, store.OutcomeSuccess, "")
}
