package checks

import (
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// process: a plugin's process stops for a while, or its host ends.
func process() []kit.Check {
	return []kit.Check{{
		ID:       "freeze/holder",
		Promises: []string{"R-ERROR-4", "R-ERROR-3", "R-LEASE-1", "R-LEASE-2", "R-TOKEN-3"},
		Says:     "a plugin process is stopped with a lease in its hands: its calls end in time and are not called refused; the lease ends when it would have, another takes the run over; let go on, the first one's heartbeat and finish are lost",
		Causes:   "a call that waits for ever; heartbeats answered from the plugin's own memory; a lock that lives as long as the session",
		Applies:  promise.Lease,
		Needs:    kit.NeedFreeze | kit.NeedHistory,
		Do:       frozenHolder,
	}, {
		ID:       "freeze/mid-claim",
		Promises: []string{"R-ERROR-4", "R-CLAIM-1", "R-CLAIM-2"},
		Says:     "a plugin process is stopped while it claims: its calls end in time; asked again with the same claim id through another process each run is granted, once, also after the first process goes on",
		Causes:   "a transaction or a lock that a stopped process keeps open; the claim and its record in two steps",
		Needs:    kit.NeedFreeze,
		Alone:    true, // it may be stopped with a lock in its hands that all others wait for
		Do:       frozenMidClaim,
	}, {
		ID:       "kill/host",
		Promises: []string{"R-ERROR-4", "R-LEASE-1", "R-LEASE-2", "R-LEASE-6"},
		Says:     "a host is killed with a lease in its hands: its plugin ends within five seconds; the run is held until the lease is over, not sooner and not longer, and then taken over",
		Causes:   "a plugin that outlives its host, and renews; one that gives up its leases when it ends",
		Applies:  promise.Lease,
		Needs:    kit.NeedHost,
		Do:       killedHost,
	}, {
		ID:       "kill/host-taken",
		Promises: []string{"R-ERROR-4", "R-CLAIM-1"},
		Says:     "a host is killed after it won a run: its plugin ends within five seconds, and the run stays taken",
		Causes:   "a plugin that outlives its host; a claim that ends with its session",
		Applies:  promise.ClaimOnly,
		Needs:    kit.NeedHost,
		Do:       killedHostTaken,
	}}
}

// inTime fails if a call of a stopped plugin took longer than a caller's patience
// and a margin for a slow machine.
func inTime(r *kit.Run, what string, called time.Time) {
	const margin = 3 * time.Second
	if took := time.Since(called); took > patience+margin {
		r.Fatalf("%s through a plugin that is stopped returned after %v; its caller's patience was %v", what, kit.Wait(took), patience)
	}
}

func frozenHolder(r *kit.Run) {
	c := r.OpenOwn("frozen")
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "a")
	req.Lease = 3 * r.Lease()
	a := c.Win(req)
	thaw := r.Freeze(c)

	ctx, cancel := r.Within(patience)
	called := time.Now()
	_, err := c.TryHeartbeatContext(ctx, a.Beat(req.Lease))
	cancel()
	inTime(r, "a heartbeat", called)
	if err == nil {
		r.Fatalf("a plugin that is stopped answered a heartbeat")
	}
	notInvalid(r, "a heartbeat", err)

	// A heartbeat that was on its way may have renewed; then the lease counts from the
	// end of the call.
	late := a
	late.Span.Returned = time.Now()
	next := succeed(r, p, late)
	thaw()
	for end := time.Now().Add(recovery); ; r.Sleep(20 * time.Millisecond) {
		ctx, cancel := r.Within(2 * time.Second)
		beat, err := c.TryHeartbeatContext(ctx, a.Beat(kit.Long))
		cancel()
		if err == nil {
			if beat.Renewed {
				r.Fatalf("a plugin that was stopped until another had taken its run over renews it")
			}
			break
		}
		if errors.Is(err, store.ErrInvalid) || time.Now().After(end) {
			r.Fatalf("a heartbeat through a plugin that was stopped and goes on: %v", err)
		}
	}
	c.FinishLost(a.End(store.OutcomeSuccess, "too late"), "after it was stopped and another took the run over")
	p[0].Record(next, store.OutcomeSuccess, "")
	wantAttempt(r, p[1], req.Job, next, store.StatusSuccess, false)
	r.Figure("taken over after the plugin was stopped", "%v for a lease of %v", kit.Wait(next.Returned.Sub(a.Called)), req.Lease)
}

func frozenMidClaim(r *kit.Run) {
	other := r.Open(1)[0]
	var waited time.Duration
	defer func() { r.Figure("another process was kept waiting for up to", "%v", kit.Wait(waited)) }()
	for range 2 {
		c := r.OpenOwn("frozen")
		const n = 8
		reqs := make([]store.ClaimRequest, n)
		errs := make([]error, n)
		answers := make([]kit.Claimed, n)
		for i := range reqs {
			reqs[i] = r.Ask(r.Job(store.NewClaimID().String()), 0, "a")
		}
		pause := time.Duration(r.IntN(3000)) * time.Microsecond
		var thaw func()
		r.Parallel(n+1, func(i int) {
			if i == n {
				r.Sleep(pause)
				thaw = r.Freeze(c)
				return
			}
			ctx, cancel := r.Within(patience)
			defer cancel()
			called := time.Now()
			answers[i], errs[i] = c.TryClaimContext(ctx, reqs[i])
			inTime(r, "a claim", called)
		})
		began := time.Now()
		for i, err := range errs {
			g := other.Win(reqs[i])
			waited = max(waited, time.Since(began))
			if g.Attempt != 1 || err == nil && g.Token != answers[i].Token {
				r.Fatalf("the plugin was stopped while it claimed; the same claim again through another process: attempt %d, token %d; the first answer was attempt %d, token %d, error %v", g.Attempt, g.Token, answers[i].Attempt, answers[i].Token, err)
			}
			if errors.Is(err, store.ErrInvalid) {
				r.Fatalf("a claim through a plugin that was stopped is called invalid: %v", err)
			}
		}
		thaw()
		r.Sleep(settle)
		for _, req := range reqs {
			g := other.Win(req)
			if r.Description().History {
				if h := other.History(req.Job); len(h) != 1 {
					r.Fatalf("a claim of a plugin that was stopped left %d attempts; want one: %+v", len(h), h)
				}
			}
			other.Record(g, store.OutcomeSuccess, "")
		}
	}
}

// pluginEnds fails if the plugin of a host that was killed outlives it.
func pluginEnds(r *kit.Run, h kit.Host) {
	began := time.Now()
	await(r, func() string {
		if h.PluginLives() {
			return "the host was killed, and its plugin still runs 5 s later"
		}
		return ""
	})
	r.Figure("plugin ended after its host", "%v", kit.Wait(time.Since(began)))
}

func killHost(r *kit.Run, h kit.Host) {
	if err := h.Kill(); err != nil {
		r.Inconclusive("killing the host: %v", err)
	}
}

func killedHost(r *kit.Run) {
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "a")
	req.Lease = 10 * r.Lease()
	h, g := r.StartHost(req)
	killHost(r, h)
	pluginEnds(r, h)
	next := succeed(r, p, g)
	p[0].Record(next, store.OutcomeSuccess, "")
	r.Figure("taken over after the host was killed", "%v for a lease of %v", kit.Wait(next.Returned.Sub(g.Returned)), req.Lease)
}

func killedHostTaken(r *kit.Run) {
	p := r.Open(2)
	h, g := r.StartHost(r.Ask(r.Job("j"), 0, "a"))
	killHost(r, h)
	pluginEnds(r, h)
	for _, c := range p {
		c.Refused(another(r, g, "b"), takenAs(r))
	}
	p[1].Record(g, store.OutcomeSuccess, "")
}
