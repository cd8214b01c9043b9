package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Bends of calls that go together. A collector makes batches as a host does: of
// the calls that come within a millisecond.

type collector[Q, A any] struct {
	serve func(reqs []Q) []store.Result[A]

	mu      sync.Mutex
	waiting []pending[Q, A]
}

type pending[Q, A any] struct {
	req    Q
	answer chan store.Result[A]
}

func (c *collector[Q, A]) call(req Q) (A, error) {
	p := pending[Q, A]{req, make(chan store.Result[A], 1)}
	c.mu.Lock()
	c.waiting = append(c.waiting, p)
	if len(c.waiting) == 1 {
		go c.flush()
	}
	c.mu.Unlock()
	r := <-p.answer
	return r.Answer, r.Err
}

func (c *collector[Q, A]) flush() {
	time.Sleep(time.Millisecond)
	c.mu.Lock()
	batch := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	reqs := make([]Q, len(batch))
	for i, p := range batch {
		reqs[i] = p.req
	}
	for i, r := range c.serve(reqs) {
		batch[i].answer <- r
	}
}

// each serves the items of a batch in order.
func each[Q, A any](reqs []Q, serve func(context.Context, Q) (A, error)) []store.Result[A] {
	results := make([]store.Result[A], len(reqs))
	for i, req := range reqs {
		results[i].Answer, results[i].Err = serve(context.Background(), req)
	}
	return results
}

type shifted struct {
	store.Store
	lane collector[store.ClaimRequest, store.ClaimAnswer]
}

func newShifted(good store.Store) store.Store {
	s := &shifted{Store: good}
	s.lane.serve = func(reqs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
		results := each(reqs, good.Claim)
		return append(results[1:], results[0])
	}
	return s
}

func (s *shifted) Claim(_ context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return s.lane.call(req)
}

type allOrNothing struct {
	store.Store
	lane collector[store.ClaimRequest, store.ClaimAnswer]
}

func newAllOrNothing(good store.Store) store.Store {
	s := &allOrNothing{Store: good}
	s.lane.serve = func(reqs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
		results := each(reqs, good.Claim)
		for _, r := range results {
			if errors.Is(r.Err, store.ErrInvalid) {
				for i := range results {
					results[i] = store.Result[store.ClaimAnswer]{Err: r.Err}
				}
				break
			}
		}
		return results
	}
	return s
}

func (s *allOrNothing) Claim(_ context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return s.lane.call(req)
}

type oneOutcome struct {
	store.Store
	lane collector[store.FinishRequest, store.FinishAnswer]
}

func newOneOutcome(good store.Store) store.Store {
	s := &oneOutcome{Store: good}
	s.lane.serve = func(reqs []store.FinishRequest) []store.Result[store.FinishAnswer] {
		for i := range reqs {
			reqs[i].Outcome = reqs[0].Outcome
		}
		return each(reqs, good.Finish)
	}
	return s
}

func (s *oneOutcome) Finish(_ context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return s.lane.call(req)
}

// Bends of processes that end.

// session gives up, when its process ends, what the process holds.
type session struct {
	store.Store
	mu   sync.Mutex
	held []store.FinishRequest
}

func newSession(good store.Store) *session { return &session{Store: good} }

func (s *session) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if err == nil && a.Verdict == store.VerdictWon {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = append(s.held, store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeReleased})
	}
	return a, err
}

// End tells that the process has ended.
func (s *session) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, req := range s.held {
		s.Store.Finish(context.Background(), req)
	}
	s.held = nil
}

// claimInTwoSteps grants a run first, and writes down in a second step to which
// claim id.
func claimInTwoSteps() bend {
	var mu sync.Mutex
	written := map[store.ClaimID]store.ClaimAnswer{}
	return func(good store.Store) store.Store {
		return claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
			mu.Lock()
			a, again := written[req.ID]
			mu.Unlock()
			if again {
				return a, nil
			}
			id := req.ID
			req.ID = store.NewClaimID()
			a, err := good.Claim(ctx, req)
			if err != nil || a.Verdict != store.VerdictWon {
				return a, err
			}
			select {
			case <-ctx.Done():
				return a, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
			case <-time.After(2 * time.Millisecond):
			}
			mu.Lock()
			defer mu.Unlock()
			written[id] = a
			return a, nil
		}}
	}
}
