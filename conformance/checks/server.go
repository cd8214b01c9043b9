package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// server: the store itself stops for a while. No other check runs meanwhile.
func server() []kit.Check {
	return []kit.Check{{
		ID:       "server/paused",
		Promises: []string{"R-ERROR-3", "R-CLAIM-2", "R-MEMORY-1"},
		Says:     "the store is frozen in the middle of claims: the calls end in time, none is called invalid, and those that say not applied were not; when the store goes on the same processes work again, and every claim asked again is won, once",
		Causes:   "a call without a deadline; a call in flight that is called not applied; a connection that is never made anew",
		Needs:    kit.NeedPause,
		Limit:    2 * time.Minute,
		Alone:    true,
		Do:       pausedServer,
	}, {
		ID:       "server/paused-lease",
		Promises: []string{"R-LEASE-1", "R-LEASE-4"},
		Says:     "the store is frozen while leases are held: when it goes on, none has ended early, not one of which a heartbeat came to nothing either, the holder can renew, and a lease that is not renewed ends",
		Causes:   "a lease that is bound to a connection; one that ends by the plugin's own timer",
		Applies:  promise.Lease,
		Needs:    kit.NeedPause,
		Alone:    true,
		Do:       pausedLease,
	}, {
		ID:       "server/crashed",
		Promises: []string{"R-ERROR-3", "R-MEMORY-1", "R-CLAIM-2", "R-CLAIM-4"},
		Says:     "the store is killed in the middle of claims and finishes, and started again: nothing that was acknowledged is lost, claims without an answer are won once when they are asked again, and the same processes work on",
		Causes:   "a store that acknowledges what it has not written; a script or a schema that is gone after a restart; a connection that is never made anew",
		Needs:    kit.NeedCrash,
		Limit:    3 * time.Minute,
		Alone:    true,
		Do:       crashedServer,
	}, {
		ID:       "server/crashed-lease",
		Promises: []string{"R-LEASE-1", "R-TOKEN-1", "R-LEASE-4", "R-RECALL-1"},
		Says:     "the store is killed while leases are held, and started again: no lease has ended early, the holder renews and finishes, and the next token is greater",
		Causes:   "leases or tokens in memory only; a counter that starts anew",
		Applies:  promise.Lease,
		Needs:    kit.NeedCrash,
		Limit:    3 * time.Minute,
		Alone:    true,
		Do:       crashedLease,
	}}
}

// act does something to the server, or ends the check. It does not end with the
// check's time: a server must not stay stopped.
func act(r *kit.Run, what string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	if err := f(ctx); err != nil {
		r.Inconclusive("%s: %v", what, err)
	}
}

// tries are claims of fresh jobs while something is wrong with the store.
type tries struct {
	when    string // in the words of a failure: "a claim …"
	reqs    []store.ClaimRequest
	answers []kit.Claimed
	errs    []error
}

// claimAround claims while something happens to the server: one half of the claims
// are made before or at about the same time, the other half afterwards.
func claimAround(r *kit.Run, p []*kit.Client, n int, happens func()) tries {
	t := tries{"around the time when the store stopped", make([]store.ClaimRequest, n), make([]kit.Claimed, n), make([]error, n)}
	for i := range n {
		t.reqs[i] = r.Ask(r.Job(fmt.Sprintf("try %d %s", i, store.NewClaimID())), 0, "a")
	}
	happened := make(chan struct{})
	r.Parallel(n+1, func(i int) {
		if i == n {
			defer close(happened)
			happens()
			return
		}
		if i >= n/2 {
			<-happened
		}
		r.Sleep(time.Duration(i%(n/2)) * 4 * time.Millisecond)
		ctx, cancel := r.Within(2 * time.Second)
		defer cancel()
		called := time.Now()
		t.answers[i], t.errs[i] = p[i%len(p)].TryClaimContext(ctx, t.reqs[i])
		if took := time.Since(called); took > 6*time.Second {
			r.Fatalf("a claim around the time when the store stopped returned after %v; its caller's patience was 2 s", kit.Wait(took))
		}
	})
	return t
}

// judge looks at the claims when the store is there again.
func (t tries) judge(r *kit.Run, c *kit.Client) {
	counts := map[string]int{}
	for i, err := range t.errs {
		switch {
		case err == nil:
			counts["won"]++
			c.Want(t.reqs[i], t.answers[i], store.VerdictWon)
			if t.answers[i].Token == 0 { // or asking again tells by it
				c.Refused(another(r, kit.Grant{Claimed: t.answers[i], Req: t.reqs[i]}, "b"), takenAs(r))
			}
		case errors.Is(err, store.ErrInvalid):
			r.Fatalf("a claim %s is called invalid: %v", t.when, err)
		case errors.Is(err, store.ErrNotApplied):
			counts["not applied"]++
			b := r.Ask(t.reqs[i].Job, 0, "b")
			a := c.Claim(b)
			if a.Verdict != store.VerdictWon {
				r.Fatalf("a claim %s says that it was surely not applied, and another claim of the run is answered %v: %v", t.when, a.Verdict, err)
			}
			c.Record(kit.Grant{Claimed: a, Req: b}, store.OutcomeSuccess, "")
			continue
		default:
			counts["unknown"]++
		}
		g := c.Win(t.reqs[i])
		if g.Attempt != 1 || err == nil && g.Token != t.answers[i].Token {
			r.Fatalf("a claim %s, asked again: attempt %d, token %d; the first answer was attempt %d, token %d, error %v", t.when, g.Attempt, g.Token, t.answers[i].Attempt, t.answers[i].Token, err)
		}
		c.Record(g, store.OutcomeSuccess, "")
	}
	r.Figure("claims meanwhile", "%d won, %d not applied, %d unknown", counts["won"], counts["not applied"], counts["unknown"])
}

func pausedServer(r *kit.Run) {
	p := r.Open(3)
	for _, c := range p {
		c.Record(c.Win(r.Ask(r.Job("warm "+c.Name()), 0, "a")), store.OutcomeSuccess, "")
	}
	s := r.Server()
	resume := sync.OnceFunc(func() { act(r, "letting the store go on", s.Resume) })
	defer resume()
	t := claimAround(r, p, 12, func() {
		r.Sleep(10 * time.Millisecond)
		act(r, "freezing the store", s.Pause)
	})
	resume()
	began := time.Now()
	for _, c := range p {
		mended(r, c)
	}
	r.Figure("working again after", "%v", kit.Wait(time.Since(began)))
	r.Sleep(settle) // what was on its way has arrived
	t.judge(r, p[0])
}

func pausedLease(r *kit.Run) {
	p := r.Open(2)
	s := r.Server()
	ask := func(job string, lease time.Duration) store.ClaimRequest {
		req := r.Ask(r.Job(job), 0, "a")
		req.Lease = lease
		return req
	}
	long, short := p[0].Win(ask("long", 20*r.Lease())), p[0].Win(ask("short", 5*r.Lease()))
	resume := sync.OnceFunc(func() { act(r, "letting the store go on", s.Resume) })
	defer resume()
	act(r, "freezing the store", s.Pause)
	ctx, cancel := r.Within(2 * r.Lease())
	_, err := p[0].TryHeartbeatContext(ctx, long.Beat(20*r.Lease()))
	cancel()
	notInvalid(r, "a heartbeat", err)
	resume()
	for _, c := range p {
		mended(r, c)
	}
	stillHeld(r, p[1], long, "the store was frozen for a while")
	p[0].Renew(long, kit.Long)
	next := succeed(r, p[1:], short)
	p[1].Record(next, store.OutcomeSuccess, "")
	p[0].Record(long, store.OutcomeSuccess, "")
}

// stillHeld fails if a run is not held by its holder although its lease can't be
// over.
func stillHeld(r *kit.Run, c *kit.Client, g kit.Grant, after string) {
	a := c.Claim(g.Next("b"))
	if a.Returned.Before(g.HoldsUntil()) && (a.Verdict != store.VerdictRunning || a.Holder != g.Req.Instance) {
		r.Fatalf("%s, %v after a lease of %v was granted: another claim is answered %v", after, kit.Wait(a.Returned.Sub(g.Called)), g.Req.Lease, a.Verdict)
	}
	if a.Verdict == store.VerdictWon {
		r.Inconclusive("%s, and that took so long that a lease of %v was over", after, g.Req.Lease)
	}
}

// acknowledged are runs of which the store has said that they are granted, or
// ended.
type acknowledged struct {
	mu          sync.Mutex
	ended, open []kit.Grant
}

func (k *acknowledged) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ended) + len(k.open)
}

// gather runs one run after the other until the store stops. Calls that are not
// answered count for nothing.
func (k *acknowledged) gather(r *kit.Run, c *kit.Client, stopped <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stopped:
			return
		default:
			r.Sleep(5 * time.Millisecond)
		}
		req := r.Ask(r.Job(fmt.Sprintf("kept %d", n)), 0, "a")
		ctx, cancel := r.Within(2 * time.Second)
		a, err := c.TryClaimContext(ctx, req)
		cancel()
		if err != nil {
			continue
		}
		c.Want(req, a, store.VerdictWon)
		g := kit.Grant{Claimed: a, Req: req}
		if n%2 == 0 {
			k.mu.Lock()
			k.open = append(k.open, g)
			k.mu.Unlock()
			continue
		}
		ctx, cancel = r.Within(2 * time.Second)
		f, err := c.TryFinishContext(ctx, g.End(store.OutcomeFailed, "on purpose"))
		cancel()
		switch {
		case err != nil:
		case !f.Recorded:
			r.Fatalf("the finish of a run that was just won is lost")
		default:
			k.mu.Lock()
			k.ended = append(k.ended, g)
			k.mu.Unlock()
		}
	}
}

func crashedServer(r *kit.Run) {
	p := r.Open(3)
	s := r.Server()
	back := sync.OnceFunc(func() { act(r, "starting the store again", s.Again) })
	defer back()

	kept := &acknowledged{}
	stopped := make(chan struct{})
	var t tries
	r.Parallel(2, func(i int) {
		if i == 0 {
			kept.gather(r, p[2], stopped)
			return
		}
		defer close(stopped)
		for kept.count() < 8 {
			r.Sleep(10 * time.Millisecond)
		}
		t = claimAround(r, p[:2], 12, func() {
			r.Sleep(10 * time.Millisecond)
			act(r, "killing the store", s.Crash)
		})
	})
	ended, open := kept.ended, kept.open
	back()
	began := time.Now()
	for _, c := range p {
		restarted(r, c)
	}
	r.Figure("working again after", "%v", kit.Wait(time.Since(began)))
	for _, g := range slices.Concat(ended, open) {
		if a := p[0].Claim(another(r, g, "b")); a.Verdict == store.VerdictWon {
			r.Fatalf("a run was granted, and acknowledged, before the store was killed; after it was started again, the run is granted once more")
		}
	}
	for _, g := range ended {
		p[1].Refused(another(r, g, "b"), store.VerdictFinished)
		if r.Description().History {
			wantAttempt(r, p[1], g.Req.Job, g, store.StatusFailed, false)
		}
	}
	for _, g := range open {
		same(r, g, p[1].Claim(g.Req))
		p[2].Record(g, store.OutcomeSuccess, "")
	}
	t.judge(r, p[0])
	r.Figure("acknowledged before the kill, and still there", "%d ended, %d open", len(ended), len(open))
}

func crashedLease(r *kit.Run) {
	p := r.Open(2)
	s := r.Server()
	back := sync.OnceFunc(func() { act(r, "starting the store again", s.Again) })
	defer back()
	req := r.Ask(r.Job("j"), 0, "a")
	req.Lease = kit.Long
	g := p[0].Renew(p[0].Win(req), kit.Long)
	act(r, "killing the store", s.Crash)
	back()
	for _, c := range p {
		restarted(r, c)
	}
	stillHeld(r, p[1], g, "the store was killed and started again")
	if u := p[1].Unfinished(req.Job); len(u.Runs) != 1 || u.Runs[0].Holder != "a" || u.Runs[0].Token != g.Token || !u.Runs[0].Open {
		r.Fatalf("the store was killed and started again, and a run that was held by a with token %d is recalled as %+v", g.Token, u.Runs)
	}
	p[0].Renew(g, kit.Long)
	p[0].Record(g, store.OutcomeReleased, "")
	next := p[1].Win(g.Next("b"))
	if next.Token <= g.Token || next.Attempt != 2 {
		r.Fatalf("after the store was killed and started again: attempt %d with token %d; the one before had token %d", next.Attempt, next.Token, g.Token)
	}
	p[1].Record(next, store.OutcomeSuccess, "")
}
