package kit

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Long is the lease of attempts that must not run out within a check.
const Long = 10 * time.Minute

// Slack is what a time seen from here may differ from the store's: its clock
// counts milliseconds, and its rate is not quite ours.
const Slack = 10 * time.Millisecond

// Ask returns a claim of a job's i-th slot ([Run.Slot]): a first attempt, by an
// instance of that name, with a fresh id, a long lease, overlap skip, bounds
// that never make it late or early, three attempts and a history of 100.
func (r *Run) Ask(job string, i int, instance string) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: r.Slot(i), ID: store.NewClaimID(), Instance: instance, Reason: store.ReasonScheduled,
		Lease: Long, MaxEarly: 30 * 24 * time.Hour, MaxLate: 30 * 24 * time.Hour,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
}

// Grant is a won attempt.
type Grant struct {
	Claimed
	Req store.ClaimRequest
}

// Win claims and must win.
func (c *Client) Win(req store.ClaimRequest) Grant {
	a := c.Claim(req)
	c.Want(req, a, store.VerdictWon)
	return Grant{a, req}
}

// Refused claims and must get one of these verdicts.
func (c *Client) Refused(req store.ClaimRequest, verdicts ...store.Verdict) Claimed {
	a := c.Claim(req)
	c.Want(req, a, verdicts...)
	return a
}

// Want ends the check if the answer's verdict is none of these.
func (c *Client) Want(req store.ClaimRequest, a Claimed, verdicts ...store.Verdict) {
	if !slices.Contains(verdicts, a.Verdict) {
		c.run.Fatalf("%s through %s: want %v, got %s", showClaim(req), c.name, verdicts, showClaimed(a.ClaimAnswer))
	}
}

// Renew renews the grant's lease, which must be answered so.
func (c *Client) Renew(g Grant, lease time.Duration) Grant {
	req := g.Beat(lease)
	a := c.Heartbeat(req)
	if !a.Renewed {
		c.run.Fatalf("%s through %s: want renewed, got lost", showHeartbeat(req), c.name)
	}
	g.Req.Lease, g.Span, g.Now = lease, a.Span, a.Now
	return g
}

// Record ends the grant's attempt, which must be recorded.
func (c *Client) Record(g Grant, o store.Outcome, text string) Finished {
	req := g.End(o, text)
	a := c.Finish(req)
	if !a.Recorded {
		c.run.Fatalf("%s through %s: want recorded, got lost", showFinish(req), c.name)
	}
	return a
}

// BeatLost sends a heartbeat that must be refused.
func (c *Client) BeatLost(req store.HeartbeatRequest, why string) {
	if a := c.Heartbeat(req); a.Renewed {
		c.run.Fatalf("%s through %s, %s: want lost, got renewed", showHeartbeat(req), c.name, why)
	}
}

// FinishLost sends a finish that must be refused.
func (c *Client) FinishLost(req store.FinishRequest, why string) {
	if a := c.Finish(req); a.Recorded {
		c.run.Fatalf("%s through %s, %s: want lost, got recorded", showFinish(req), c.name, why)
	}
}

// Next returns a claim of the attempt after this one, by another instance.
func (g Grant) Next(instance string) store.ClaimRequest {
	req := g.Req
	req.ID, req.Instance, req.After, req.Reason = store.NewClaimID(), instance, g.Attempt, store.ReasonTakeover
	return req
}

// Beat returns a heartbeat of this attempt.
func (g Grant) Beat(lease time.Duration) store.HeartbeatRequest {
	return store.HeartbeatRequest{Job: g.Req.Job, Slot: g.Req.Slot, Token: g.Token, Lease: lease}
}

// End returns a finish of this attempt.
func (g Grant) End(o store.Outcome, text string) store.FinishRequest {
	return store.FinishRequest{Job: g.Req.Job, Slot: g.Req.Slot, Token: g.Token, Outcome: o, Error: text, ID: g.Req.ID}
}

// HoldsUntil is the earliest moment at which the lease can be over, as seen from
// here: whoever was granted the run before it was granted it too early.
func (g Grant) HoldsUntil() time.Time { return g.Called.Add(g.Req.Lease - Slack) }

// OverBy is the latest moment at which the lease can end, as seen from here:
// whoever asks later must not be refused because of it.
func (g Grant) OverBy() time.Time { return g.Returned.Add(g.Req.Lease + Slack) }
