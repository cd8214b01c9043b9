package kit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Client calls one process of the subject for a check. Each call is bounded in
// time, written down for the failure's text, and looked at: an answer that no
// store may give to anything ends the check.
//
// The plain methods end the check on an error, but for one that says that the
// call was surely not applied: a store may say so at any time, and is asked
// again a few times. The Try methods return errors. A call that was not answered
// in time is an outcome of its own ([Error]), with both.
type Client struct {
	run     *Run
	process Process
	name    string
}

// Name is how the calls of a failure name the process.
func (c *Client) Name() string { return c.name }

// Span is when a call was made and when it returned, on this process's clock.
// What the store did, it did in between.
type Span struct{ Called, Returned time.Time }

// Claimed is the answer to a claim.
type Claimed struct {
	store.ClaimAnswer
	Span
}

// Beaten is the answer to a heartbeat.
type Beaten struct {
	store.HeartbeatAnswer
	Span
}

// Finished is the answer to a finish.
type Finished struct {
	store.FinishAnswer
	Span
}

// Listed is the answer to a recall of unfinished runs.
type Listed struct {
	store.UnfinishedAnswer
	Span
}

// Page is a page of history.
type Page struct {
	store.HistoryAnswer
	Span
}

// TryClaim claims and returns the error.
func (c *Client) TryClaim(req store.ClaimRequest) (Claimed, error) {
	return c.TryClaimContext(c.run.ctx, req)
}

// TryClaimContext is TryClaim within a context of the check's own; its end is no
// fault of the subject.
func (c *Client) TryClaimContext(ctx context.Context, req store.ClaimRequest) (Claimed, error) {
	a, span, err := call(ctx, c, func() string { return showClaim(req) }, showClaimed, func(ctx context.Context) (store.ClaimAnswer, error) {
		return c.process.Claim(ctx, req)
	})
	c.has("Claim", true, err)
	if err == nil {
		c.sane(checkClaimed(req, a, c.run.Leases()))
	}
	return Claimed{a, span}, err
}

// Claim claims.
func (c *Client) Claim(req store.ClaimRequest) Claimed {
	return insist(c, "claim", func() (Claimed, error) { return c.TryClaim(req) })
}

// TryHeartbeat renews and returns the error.
func (c *Client) TryHeartbeat(req store.HeartbeatRequest) (Beaten, error) {
	return c.TryHeartbeatContext(c.run.ctx, req)
}

// TryHeartbeatContext is TryHeartbeat within a context of the check's own.
func (c *Client) TryHeartbeatContext(ctx context.Context, req store.HeartbeatRequest) (Beaten, error) {
	a, span, err := call(ctx, c, func() string { return showHeartbeat(req) }, showBeaten, func(ctx context.Context) (store.HeartbeatAnswer, error) {
		return c.process.Heartbeat(ctx, req)
	})
	c.has("Heartbeat", c.run.Leases(), err)
	return Beaten{a, span}, err
}

// Heartbeat renews.
func (c *Client) Heartbeat(req store.HeartbeatRequest) Beaten {
	return insist(c, "heartbeat", func() (Beaten, error) { return c.TryHeartbeat(req) })
}

// TryFinish finishes and returns the error.
func (c *Client) TryFinish(req store.FinishRequest) (Finished, error) {
	return c.TryFinishContext(c.run.ctx, req)
}

// TryFinishContext is TryFinish within a context of the check's own.
func (c *Client) TryFinishContext(ctx context.Context, req store.FinishRequest) (Finished, error) {
	a, span, err := call(ctx, c, func() string { return showFinish(req) }, showFinished, func(ctx context.Context) (store.FinishAnswer, error) {
		return c.process.Finish(ctx, req)
	})
	c.has("Finish", c.run.Leases() || req.Outcome != store.OutcomeReleased, err)
	return Finished{a, span}, err
}

// Finish finishes.
func (c *Client) Finish(req store.FinishRequest) Finished {
	return insist(c, "finish", func() (Finished, error) { return c.TryFinish(req) })
}

// TryUnfinished recalls unfinished runs and returns the error.
func (c *Client) TryUnfinished(jobs ...string) (Listed, error) {
	a, span, err := call(c.run.ctx, c, func() string { return fmt.Sprintf("unfinished of %d jobs", len(jobs)) }, showListed, func(ctx context.Context) (store.UnfinishedAnswer, error) {
		return c.process.Unfinished(ctx, store.UnfinishedRequest{Jobs: jobs})
	})
	c.has("Unfinished", c.run.Leases(), err)
	if err == nil {
		c.sane(checkListed(a))
	}
	return Listed{a, span}, err
}

// Unfinished recalls unfinished runs; without names, of all jobs.
func (c *Client) Unfinished(jobs ...string) Listed {
	return insist(c, "recall of unfinished runs", func() (Listed, error) { return c.TryUnfinished(jobs...) })
}

// TryHistory reads a page of history and returns the error.
func (c *Client) TryHistory(req store.HistoryRequest) (Page, error) {
	a, span, err := call(c.run.ctx, c, func() string { return showHistory(req) }, showPage, func(ctx context.Context) (store.HistoryAnswer, error) {
		return c.process.History(ctx, req)
	})
	c.has("History", c.run.Description().History, err)
	if err == nil {
		c.sane(checkPage(req, a))
	}
	return Page{a, span}, err
}

// HistoryPage reads a page of history.
func (c *Client) HistoryPage(req store.HistoryRequest) Page {
	return insist(c, "history", func() (Page, error) { return c.TryHistory(req) })
}

// History reads the newest attempts of a job, as many as can be read at once.
func (c *Client) History(job string) []store.Attempt {
	return c.HistoryPage(store.HistoryRequest{Job: job, Limit: store.MaxHistory}).Attempts
}

// Describe asks the process to describe the store.
func (c *Client) Describe() store.Description {
	return insist(c, "describe", func() (store.Description, error) {
		d, _, err := call(c.run.ctx, c, func() string { return "describe" }, func(d store.Description) string { return d.Product }, c.process.Describe)
		return d, err
	})
}

// has remembers that the subject does not have a verb that it needs.
func (c *Client) has(verb string, needed bool, err error) {
	if needed && errors.Is(err, store.ErrUnsupported) {
		c.run.lacksVerb(verb)
	}
}

// insist asks until there is an answer, as long as the error says that nothing
// was done, and ends the check on any other.
func insist[A any](c *Client, verb string, ask func() (A, error)) A {
	const most = 5
	for n := 1; ; n++ {
		a, err := ask()
		if err == nil {
			return a
		}
		if n == most || !errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrInvalid) {
			c.run.Fatalf("%s through %s: an error where an answer is due: %v", verb, c.name, err)
		}
		c.run.Sleep(time.Duration(n) * 10 * time.Millisecond)
	}
}

// sane ends the check on an answer that no store may give.
func (c *Client) sane(fault string) {
	if fault != "" {
		c.run.Fatalf("an answer of %s that no store may give: %s", c.name, fault)
	}
}

// call makes one call of a check, within the check's context and the time that
// a call may take.
func call[A any](ctx context.Context, c *Client, what func() string, show func(A) string, f func(ctx context.Context) (A, error)) (A, Span, error) {
	r := c.run
	limit := r.suite.CallLimit
	bound, cancel := context.WithTimeoutCause(ctx, limit, errCallLimit)
	defer cancel()
	span := Span{Called: time.Now()}
	a, err := bounded(bound, func() (A, error) { return f(bound) })
	span.Returned = time.Now()

	answer := ""
	if err != nil {
		answer = "error: " + err.Error()
	} else {
		answer = show(a)
	}
	r.trace.add(c.name, what(), answer, span)

	switch {
	case err == nil:
	case errors.Is(err, errHang):
		r.Inconclusive("%s through %s: %v", what(), c.name, err)
	case errors.Is(err, errPanic):
		r.Inconclusive("%s through %s: %v", what(), c.name, err)
	case r.ctx.Err() != nil:
		r.Inconclusive("%v, in %s through %s: %v", context.Cause(r.ctx), what(), c.name, err)
	case errors.Is(err, context.DeadlineExceeded) && !over(ctx):
		r.Inconclusive("%s through %s was not answered in %v: %v", what(), c.name, Wait(span.Returned.Sub(span.Called)), err)
	}
	return a, span, err
}

// over reports whether the caller's own context ended the call. On a machine that is
// overloaded the answer "deadline exceeded" of the other side may be here before the
// timer of the context has fired.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

// errCallLimit says that a call took longer than any call may.
var errCallLimit = errors.New("the call took longer than any call may")
