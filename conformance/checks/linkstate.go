package checks

import (
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// Checks of links that are cut, slow, or many.

func cutLink(r *kit.Run) {
	c, way := r.OpenLinked()
	other := r.Open(1)[0]
	outcomes := map[string]int{}
	for round := range 3 {
		reqs := make([]store.ClaimRequest, 6)
		errs := make([]error, len(reqs))
		answers := make([]kit.Claimed, len(reqs))
		for i := range reqs {
			reqs[i] = r.Ask(r.Job(fmt.Sprintf("j%d-%d", round, i)), 0, "a")
		}
		pause := time.Duration(r.IntN(2000)) * time.Microsecond
		r.Parallel(len(reqs)+1, func(i int) {
			if i == len(reqs) {
				r.Sleep(pause)
				way.Cut()
				return
			}
			if i > 2 { // others come while it is cut
				r.Sleep(time.Duration(i) * 5 * time.Millisecond)
			}
			ctx, cancel := r.Within(2 * time.Second)
			defer cancel()
			answers[i], errs[i] = c.TryClaimContext(ctx, reqs[i])
		})
		for i, err := range errs {
			switch {
			case err == nil:
				outcomes["won"]++
				c.Want(reqs[i], answers[i], store.VerdictWon)
			case errors.Is(err, store.ErrInvalid):
				r.Fatalf("a claim whose connection was cut is called invalid: %v", err)
			case errors.Is(err, store.ErrNotApplied):
				outcomes["not applied"]++
				b := r.Ask(reqs[i].Job, 0, "b")
				if got := other.Claim(b); got.Verdict != store.VerdictWon {
					r.Fatalf("a claim whose connection was cut says that it was surely not applied, and another claim of the run is answered %v: %v", got.Verdict, err)
				}
				reqs[i] = b
			default:
				outcomes["unknown"]++
			}
		}
		way.Mend()
		start := time.Now()
		mended(r, c)
		r.Figure("working again after", "%v", kit.Wait(time.Since(start)))
		for _, req := range reqs {
			g := c.Win(req)
			if g.Attempt != 1 {
				r.Fatalf("a claim whose connection was cut, asked again: attempt %d; want 1", g.Attempt)
			}
			other.Record(g, store.OutcomeSuccess, "")
		}
	}
	r.Figure("claims cut", "%d won, %d not applied, %d unknown", outcomes["won"], outcomes["not applied"], outcomes["unknown"])
}

func slowLink(r *kit.Run) {
	c, way := r.OpenLinked()
	near := r.Open(2)
	c.Record(c.Win(r.Ask(r.Job("warm"), 0, "a")), store.OutcomeSuccess, "")
	const far = 100 * time.Millisecond
	way.Delay(far)
	for n := range 3 {
		job := r.Job(fmt.Sprintf("j%d", n))
		var got [2]kit.Claimed
		reqs := [2]store.ClaimRequest{r.Ask(job, 0, "far"), r.Ask(job, 0, "near")}
		r.Parallel(2, func(i int) {
			if i == 0 {
				got[0] = c.Claim(reqs[0])
				return
			}
			if n > 0 { // at about the time at which the other one arrives, or after it
				r.Sleep(time.Duration(n) * far)
			}
			got[1] = near[0].Claim(reqs[1])
		})
		if won := got[0].Verdict == store.VerdictWon; won == (got[1].Verdict == store.VerdictWon) {
			r.Fatalf("of two claims at once, one over a slow way, want one that won; got %v and %v", got[0].Verdict, got[1].Verdict)
		}
	}
	if !r.Leases() {
		return
	}
	req := r.Ask(r.Job("lease"), 0, "a")
	req.Lease = 2 * r.Lease()
	a := c.Win(req)
	if a.Returned.Sub(a.Called) < 2*far {
		r.Inconclusive("a call over a way that takes %v each way was answered after %v", far, a.Returned.Sub(a.Called))
	}
	holds := a.HoldsUntil().Add(far) // it can't have arrived sooner
	for {
		b := near[1].Claim(a.Next("b"))
		if b.Verdict == store.VerdictWon {
			if b.Returned.Before(holds) {
				r.Fatalf("a lease of %v was granted over a way that takes %v each way, and was over %v after the claim was sent; it counts from when the claim arrived", req.Lease, far, kit.Wait(b.Returned.Sub(a.Called)))
			}
			return
		}
		if b.Called.After(a.OverBy()) {
			r.Fatalf("a lease of %v still holds %v after it was granted", req.Lease, kit.Wait(b.Called.Sub(a.Returned)))
		}
		r.Sleep(5 * time.Millisecond)
	}
}

// fewMore is how many connections more than at first a plugin may have after many
// calls: those that it makes anew before the old ones have ended.
const fewMore = 8

func connections(r *kit.Run) {
	c, way := r.OpenLinked()
	round := func(n int) {
		r.Parallel(20, func(i int) {
			c.Record(c.Win(r.Ask(r.Job(fmt.Sprintf("j%d-%d", n, i)), 0, "a")), store.OutcomeSuccess, "")
		})
	}
	round(0)
	first := way.Connections()
	if first == 0 {
		r.Inconclusive("the plugin has no connection over the link that it was given")
	}
	for n := range 4 {
		round(n + 1)
		r.Parallel(10, func(i int) {
			ctx, cancel := r.Within(time.Duration(i) * time.Millisecond)
			defer cancel()
			_, _ = c.TryClaimContext(ctx, r.Ask(r.Job(fmt.Sprintf("cut off %d-%d", n, i)), 0, "a"))
		})
	}
	mended(r, c)
	await(r, func() string {
		if now := way.Connections(); now > first+fewMore {
			return fmt.Sprintf("after 280 calls the plugin has %d connections to its store; after the first 40 it had %d", now, first)
		}
		return ""
	})
	now := way.Connections()
	r.Close(c)
	await(r, func() string {
		if left := way.Connections(); left > 0 {
			return fmt.Sprintf("the plugin was closed, and %d of its connections are still there", left)
		}
		return ""
	})
	r.Figure("connections of a process", "%d at first, %d after 280 calls", first, now)
}

// await waits until wrong says nothing more, and fails with what it says.
func await(r *kit.Run, wrong func() string) {
	for end := time.Now().Add(5 * time.Second); ; r.Sleep(20 * time.Millisecond) {
		what := wrong()
		if what == "" {
			return
		}
		if time.Now().After(end) {
			r.Fatalf("%s", what)
		}
	}
}
