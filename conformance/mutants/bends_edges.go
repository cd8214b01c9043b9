package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Bends at the edges: what is read, what is refused, what was cut off.

// replica reads history as it was a little while ago.
type replica struct {
	store.Store
	mu   sync.Mutex
	seen map[store.HistoryRequest]snapshot
}

type snapshot struct {
	at     time.Time
	answer store.HistoryAnswer
}

func (s *replica) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.seen[req]; ok && time.Since(old.at) < 20*time.Millisecond {
		return old.answer, nil
	}
	a, err := s.Store.History(ctx, req)
	if err == nil {
		if s.seen == nil {
			s.seen = map[store.HistoryRequest]snapshot{}
		}
		s.seen[req] = snapshot{time.Now(), a}
	}
	return a, err
}

type unknownFails struct{ store.Store }

func (s unknownFails) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	a, err := s.Store.History(ctx, req)
	if err == nil && len(a.Attempts) == 0 {
		return a, errors.New("no such job")
	}
	return a, err
}

type unknownRunFails struct{ store.Store }

func (s unknownRunFails) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	a, err := s.Store.Heartbeat(ctx, req)
	if err != nil || a.Renewed {
		return a, err
	}
	h, err := s.History(ctx, store.HistoryRequest{Job: req.Job, Limit: store.MaxHistory})
	for _, t := range h.Attempts {
		if t.Slot == req.Slot {
			return a, err
		}
	}
	return a, errors.New("no such run")
}

type recallsAll struct{ store.Store }

func (s recallsAll) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if err := req.Validate(); err != nil {
		return store.UnfinishedAnswer{}, err
	}
	return s.Store.Unfinished(ctx, store.UnfinishedRequest{})
}

type cutHolder struct{ store.Store }

func (s cutHolder) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	a.Holder = a.Holder[:min(len(a.Holder), 64)]
	return a, err
}

type badOutcome struct{ store.Store }

func (s badOutcome) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	if req.Outcome == 0 || req.Outcome > store.OutcomeReleased {
		req.Outcome = store.OutcomeInterrupted
	}
	return s.Store.Finish(ctx, req)
}

type badLease struct{ store.Store }

func (s badLease) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	if req.Lease < time.Millisecond || req.Lease > store.MaxLease {
		req.Lease = time.Millisecond
	}
	return s.Store.Heartbeat(ctx, req)
}

type badLimit struct{ store.Store }

func (s badLimit) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	if req.Limit == 0 {
		req.Limit = 1
		a, err := s.Store.History(ctx, req)
		a.Attempts = nil
		return a, err
	}
	return s.Store.History(ctx, req)
}

// cutOffNotApplied takes the time of its caller's patience for the time within
// which a claim takes effect.
type cutOffNotApplied struct{ store.Store }

func (s cutOffNotApplied) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(context.WithoutCancel(ctx), req)
	if err != nil {
		return a, err
	}
	select {
	case <-ctx.Done():
		return store.ClaimAnswer{}, fmt.Errorf("%w: %w", store.ErrNotApplied, ctx.Err())
	case <-time.After(3 * time.Millisecond):
		return a, nil
	}
}

type cancelledInvalid struct{ store.Store }

func (s cancelledInvalid) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if err := ctx.Err(); err != nil {
		return store.ClaimAnswer{}, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return s.Store.Claim(ctx, req)
}
