package storekit

import (
	"context"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

// Describe implements [store.Store].
func (c *Client) Describe(ctx context.Context) (store.Description, error) {
	const verb = "describe"
	ctx, end, err := c.begin(ctx, verb)
	if err != nil {
		return store.Description{}, err
	}
	defer end()
	var resp *pb.DescribeResponse
	err = c.retrying(ctx, verb, func(ctx context.Context) error {
		return c.exchange(ctx, verb, false, func(ctx context.Context, svc pb.StoreServiceClient) (err error) {
			resp, err = svc.Describe(ctx, &pb.DescribeRequest{})
			return err
		})
	})
	switch {
	case err != nil:
		return store.Description{}, err
	case resp.GetError() != nil:
		return store.Description{}, c.remote(verb, resp.GetError())
	case resp.GetDescription() == nil:
		return store.Description{}, c.broken(verb, wire.ErrNothing(verb))
	}
	d, err := wire.ToDescription(resp.GetDescription())
	if err != nil {
		return store.Description{}, c.broken(verb, err)
	}
	c.leases.Store(d.Kind == store.KindLease)
	return d, nil
}

// Claim implements [store.Store].
func (c *Client) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := through(ctx, c, c.claims, "claim", req, req.Validate())
	if err != nil {
		return a, err
	}
	// A claim-only backend knows no leases, and may grant slots in any order. Until
	// the plugin was described, nobody knows which it is.
	if !c.leases.Load() {
		return a, nil
	}
	if err := c.grants.check(req, a); err != nil {
		return store.ClaimAnswer{}, c.broken("claim", err)
	}
	return a, nil
}

// Heartbeat implements [store.Store].
func (c *Client) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return through(ctx, c, c.heartbeats, "heartbeat", req, req.Validate())
}

// Finish implements [store.Store].
func (c *Client) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return through(ctx, c, c.finishes, "finish", req, req.Validate())
}

// through sends one request through its lane.
func through[R, A any](ctx context.Context, c *Client, l *lane[R, A], verb string, req R, invalid error) (answer A, err error) {
	if invalid != nil {
		return answer, fmt.Errorf("plugin %s: %s: %w", c.name, verb, invalid)
	}
	ctx, end, err := c.begin(ctx, verb)
	if err != nil {
		return answer, err
	}
	defer end()
	err = c.retrying(ctx, verb, func(ctx context.Context) error {
		r := l.ask(ctx, req)
		answer = r.Answer
		if left, ok := r.Err.(*leftError); ok {
			return c.fail(verb, left.class, left.why)
		}
		return r.Err
	})
	return answer, err
}

func (c *Client) sendClaims(ctx context.Context, reqs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	return batch(ctx, c, "claim", reqs, wire.Claim,
		func(ctx context.Context, svc pb.StoreServiceClient, items []*pb.Claim) ([]*pb.ClaimResult, error) {
			resp, err := svc.Claim(ctx, &pb.ClaimRequest{Claims: items})
			return resp.GetResults(), err
		},
		(*pb.ClaimResult).GetAnswer, wire.ToClaimAnswer)
}

func (c *Client) sendHeartbeats(ctx context.Context, reqs []store.HeartbeatRequest) []store.Result[store.HeartbeatAnswer] {
	return batch(ctx, c, "heartbeat", reqs, wire.Heartbeat,
		func(ctx context.Context, svc pb.StoreServiceClient, items []*pb.Heartbeat) ([]*pb.HeartbeatResult, error) {
			resp, err := svc.Heartbeat(ctx, &pb.HeartbeatRequest{Heartbeats: items})
			return resp.GetResults(), err
		},
		(*pb.HeartbeatResult).GetAnswer, wire.ToHeartbeatAnswer)
}

func (c *Client) sendFinishes(ctx context.Context, reqs []store.FinishRequest) []store.Result[store.FinishAnswer] {
	return batch(ctx, c, "finish", reqs, wire.Finish,
		func(ctx context.Context, svc pb.StoreServiceClient, items []*pb.Finish) ([]*pb.FinishResult, error) {
			resp, err := svc.Finish(ctx, &pb.FinishRequest{Finishes: items})
			return resp.GetResults(), err
		},
		(*pb.FinishResult).GetAnswer, wire.ToFinishAnswer)
}

// batch sends requests in one call and reads as many results.
func batch[R, A any, P any, PR interface {
	comparable
	GetError() *pb.Error
}, PA comparable](
	ctx context.Context, c *Client, verb string, reqs []R,
	encode func(R) P,
	call func(context.Context, pb.StoreServiceClient, []P) ([]PR, error),
	answerOf func(PR) PA, decode func(PA) (A, error),
) []store.Result[A] {
	results := make([]store.Result[A], len(reqs))
	items := make([]P, len(reqs))
	for i, r := range reqs {
		items[i] = encode(r)
	}
	var answers []PR
	err := c.exchange(ctx, verb, true, func(ctx context.Context, svc pb.StoreServiceClient) (err error) {
		answers, err = call(ctx, svc, items)
		return err
	})
	if err == nil && len(answers) != len(reqs) {
		err = c.broken(verb, fmt.Errorf("it returned %d results for %d requests", len(answers), len(reqs)))
	}
	var none PA
	for i := range results {
		switch {
		case err != nil:
			results[i].Err = err
		case answers[i].GetError() != nil:
			results[i].Err = c.remote(verb, answers[i].GetError())
		case answerOf(answers[i]) == none:
			results[i].Err = c.broken(verb, wire.ErrNothing(verb))
		default:
			a, err := decode(answerOf(answers[i]))
			if err != nil {
				results[i].Err = c.broken(verb, err)
				continue
			}
			results[i].Answer = a
		}
	}
	return results
}

// Unfinished implements [store.Store]. More names than one message holds are
// asked for in several calls; Now is then the first one's.
func (c *Client) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if err := req.Validate(); err != nil {
		return store.UnfinishedAnswer{}, fmt.Errorf("plugin %s: recall: %w", c.name, err)
	}
	var all store.UnfinishedAnswer
	for i, jobs := range chunks(req.Jobs, maxMessage/4) {
		result, err := c.recall(ctx, wire.Unfinished(store.UnfinishedRequest{Jobs: jobs}))
		if err != nil {
			return store.UnfinishedAnswer{}, err
		}
		if result.GetUnfinished() == nil {
			return store.UnfinishedAnswer{}, c.broken("recall", wire.ErrNothing("recall"))
		}
		a, err := wire.ToUnfinishedAnswer(result.GetUnfinished())
		if err != nil {
			return store.UnfinishedAnswer{}, c.broken("recall", err)
		}
		all.Runs = append(all.Runs, a.Runs...)
		if i == 0 {
			all.Now = a.Now
		}
	}
	return all, nil
}

// chunks splits names into lists of at most so many bytes; no names are one
// chunk.
func chunks(names []string, most int) [][]string {
	out := [][]string{nil}
	size := 0
	for _, n := range names {
		if size += len(n) + 8; size > most {
			out, size = append(out, nil), len(n)+8
		}
		out[len(out)-1] = append(out[len(out)-1], n)
	}
	return out
}

// History implements [store.Store]. A page may hold fewer attempts than asked for
// although more follow: Next tells.
func (c *Client) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := req.Validate(); err != nil {
		return store.HistoryAnswer{}, fmt.Errorf("plugin %s: recall: %w", c.name, err)
	}
	result, err := c.recall(ctx, wire.History(req))
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	if result.GetHistory() == nil {
		return store.HistoryAnswer{}, c.broken("recall", wire.ErrNothing("recall"))
	}
	a, err := wire.ToHistoryAnswer(result.GetHistory())
	if err == nil && len(a.Attempts) > req.Limit {
		err = fmt.Errorf("it returned %d attempts where %d were asked for", len(a.Attempts), req.Limit)
	}
	if err != nil {
		return store.HistoryAnswer{}, c.broken("recall", err)
	}
	return a, nil
}

// recall asks one question.
func (c *Client) recall(ctx context.Context, item *pb.Recall) (*pb.RecallResult, error) {
	const verb = "recall"
	ctx, end, err := c.begin(ctx, verb)
	if err != nil {
		return nil, err
	}
	defer end()
	var resp *pb.RecallResponse
	err = c.retrying(ctx, verb, func(ctx context.Context) error {
		return c.exchange(ctx, verb, false, func(ctx context.Context, svc pb.StoreServiceClient) (err error) {
			resp, err = svc.Recall(ctx, &pb.RecallRequest{Recalls: []*pb.Recall{item}})
			return err
		})
	})
	switch {
	case err != nil:
		return nil, err
	case len(resp.GetResults()) != 1:
		return nil, c.broken(verb, fmt.Errorf("it returned %d results for 1 request", len(resp.GetResults())))
	case resp.GetResults()[0].GetError() != nil:
		return nil, c.remote(verb, resp.GetResults()[0].GetError())
	}
	return resp.GetResults()[0], nil
}
