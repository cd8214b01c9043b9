package checks

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

type timeLeft = time.Duration

// attempt returns a grant's attempt from the history that c reads.
func attempt(c *kit.Client, job string, g kit.Grant) (store.Attempt, bool) {
	for _, a := range c.History(job) {
		if a.Slot == g.Req.Slot && a.Attempt == g.Attempt {
			return a, true
		}
	}
	return store.Attempt{}, false
}

// wantAttempt fails unless the history has the grant's attempt, with that
// status.
func wantAttempt(r *kit.Run, c *kit.Client, job string, g kit.Grant, status store.Status, handedOver bool) store.Attempt {
	a, ok := attempt(c, job, g)
	switch {
	case !ok:
		r.Fatalf("the history that %s reads does not have attempt %d of slot %d, which was granted to %s", c.Name(), g.Attempt, g.Req.Slot, g.Req.Instance)
	case a.Status != status || a.HandedOver != handedOver:
		r.Fatalf("attempt %d of slot %d reads %v, handed over %v; want %v, %v", g.Attempt, g.Req.Slot, a.Status, a.HandedOver, status, handedOver)
	case a.Instance != g.Req.Instance || a.Token != g.Token || a.Reason != g.Req.Reason:
		r.Fatalf("attempt %d of slot %d reads instance %q, token %d, reason %v; want %q, %d, %v", g.Attempt, g.Req.Slot, a.Instance, a.Token, a.Reason, g.Req.Instance, g.Token, g.Req.Reason)
	}
	return a
}

// unfinishedSlots returns the slots of a job's unfinished runs, ascending.
func unfinishedSlots(c *kit.Client, job string) (slots []int64) {
	for _, u := range c.Unfinished(job).Runs {
		slots = append(slots, u.Slot)
	}
	return slots
}

// wantSlots fails unless exactly the runs of these grants are unfinished.
func wantSlots(r *kit.Run, c *kit.Client, job, when string, grants ...kit.Grant) {
	want := make([]int64, 0, len(grants))
	for _, g := range grants {
		want = append(want, g.Req.Slot)
	}
	slices.Sort(want)
	if got := unfinishedSlots(c, job); !slices.Equal(got, want) {
		r.Fatalf("%s, the slots %d of the job are unfinished; %s recalls %d", when, want, c.Name(), got)
	}
}

// wantUntouched fails unless the history of a job reads as it did.
func wantUntouched(r *kit.Run, c *kit.Client, job string, before []store.Attempt, after string) {
	if now := c.History(job); !slices.Equal(before, now) {
		r.Fatalf("%s changed the history of the job\n  from %+v\n  to   %+v", after, before, now)
	}
}
