package checks

import (
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// clock: the store's clock and the plugin's differ.
func clock() []kit.Check {
	return []kit.Check{{
		ID:       "clock/lateness",
		Promises: []string{"R-LEASE-7", "R-LATE-1", "R-LATE-2"},
		Says:     "the store's clock is far from this machine's: a slot of now by the store's clock is granted, one of now by this machine's is late, or early, by the difference",
		Causes:   "lateness judged on the plugin's or the instance's clock",
		Applies:  promise.Lease,
		Needs:    kit.NeedSkew,
		Do:       clockLateness,
	}, {
		ID:       "clock/lease",
		Promises: []string{"R-LEASE-7", "R-LEASE-1", "R-LEASE-2", "R-TOKEN-2"},
		Says:     "the store's clock is far from this machine's: a lease holds for its length and not longer, what is left of it is said rightly, tokens follow the store's clock, and so do the times in the history",
		Causes:   "a lease's end worked out on one clock and judged on another; times of the plugin's clock in the history",
		Applies:  promise.Lease,
		Needs:    kit.NeedSkew | kit.NeedHistory,
		Do:       clockLease,
	}}
}

func clockLateness(r *kit.Run) {
	c := r.Open(1)[0]
	const bound = 5 * time.Second
	ask := func(job string, at time.Time) store.ClaimRequest {
		req := r.Ask(r.Job(job), 0, "a")
		req.Slot, req.MaxLate, req.MaxEarly = at.UnixMilli(), bound, bound
		return req
	}
	here := c.Claim(ask("here", time.Now()))
	want := store.VerdictLate
	if r.Skew() < 0 {
		want = store.VerdictEarly
	}
	if here.Verdict != want {
		r.Fatalf("the store's clock is %v ahead of this machine's, and a slot of now by this machine's is answered %v; want %v", r.Skew(), here.Verdict, want)
	}
	if off := (here.By - r.Skew().Abs()).Abs(); off > 30*time.Second {
		r.Fatalf("the store's clock is %v ahead of this machine's, and a slot of now by this machine's is %v by %v", r.Skew(), here.Verdict, here.By)
	}
	there := c.Win(ask("there", time.Now().Add(r.Skew())))
	c.Record(there, store.OutcomeSuccess, "")
	r.Figure("the store's clock is ahead by", "%v", r.Skew())
}

func clockLease(r *kit.Run) {
	p := r.Open(3)
	job := r.Job("j")
	req := r.Ask(job, 0, "a")
	req.Lease = 2 * r.Lease()
	g := p[0].Win(req)
	leftWithin(r, g, g.Left, g.Span)
	if int64(g.Token) < g.Now-time.Second.Milliseconds() {
		r.Fatalf("a grant at %d by the store's clock has token %d, which is below it", g.Now, g.Token)
	}
	if a, ok := attempt(p[1], job, g); !ok || store.Time(a.StartedAt).Sub(time.Now().Add(r.Skew())).Abs() > 30*time.Second {
		r.Fatalf("the store's clock is %v ahead of this machine's, and an attempt that began just now reads as begun at %v", r.Skew(), store.Time(a.StartedAt))
	}
	next := succeed(r, p[1:], g)
	p[0].Record(next, store.OutcomeSuccess, "")
}
