package checks

import (
	"context"
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// mended returns the process once it can claim again.
func mended(r *kit.Run, c *kit.Client) *kit.Client {
	req := r.Ask(r.Job("mended "+store.NewClaimID().String()), 0, "a")
	c.Want(req, afterMend(r, c, req), store.VerdictWon)
	return c
}

// restarted is mended for a store that was killed: the connections of all verbs are
// broken then, and which verbs share them is the plugin's affair.
func restarted(r *kit.Run, c *kit.Client) {
	req := r.Ask(r.Job("restarted "+store.NewClaimID().String()), 0, "a")
	a := afterMend(r, c, req)
	c.Want(req, a, store.VerdictWon)
	g := kit.Grant{Claimed: a, Req: req}
	if r.Leases() {
		answeredAgain(r, c, "renew", func(ctx context.Context) error {
			_, err := c.TryHeartbeatContext(ctx, g.Beat(kit.Long))
			return err
		})
	}
	answeredAgain(r, c, "finish", func(ctx context.Context) error {
		_, err := c.TryFinishContext(ctx, g.End(store.OutcomeSuccess, ""))
		return err
	})
}

// answeredAgain calls until there were two answers in a row.
func answeredAgain(r *kit.Run, c *kit.Client, what string, call func(context.Context) error) {
	inARow := 0
	for end := time.Now().Add(recovery); inARow < 2; {
		ctx, cancel := r.Within(2 * time.Second)
		err := call(ctx)
		cancel()
		switch {
		case err == nil:
			inARow++
			continue
		case errors.Is(err, store.ErrInvalid):
			r.Fatalf("after its way to the store was broken and made whole, %s calls it invalid to %s: %v", c.Name(), what, err)
		case time.Now().After(end):
			r.Fatalf("%v after its way to the store was made whole, %s still can't %s: %v", recovery, c.Name(), what, err)
		}
		inARow = 0
		r.Sleep(50 * time.Millisecond)
	}
}

// afterMend asks until the process has its connections again.
func afterMend(r *kit.Run, c *kit.Client, req store.ClaimRequest) kit.Claimed {
	for end := time.Now().Add(recovery); ; r.Sleep(50 * time.Millisecond) {
		ctx, cancel := r.Within(2 * time.Second)
		a, err := c.TryClaimContext(ctx, req)
		cancel()
		switch {
		case err == nil:
			return a
		case errors.Is(err, store.ErrInvalid):
			r.Fatalf("after its way to the store was broken and made whole, %s calls a claim invalid: %v", c.Name(), err)
		case time.Now().After(end):
			r.Fatalf("%v after its way to the store was made whole, %s still can't claim: %v", recovery, c.Name(), err)
		}
	}
}

// recovery is how long a plugin may take to find back to a store that is there
// again.
const recovery = 15 * time.Second
