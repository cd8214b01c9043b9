package mutants

import (
	"context"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Bends of claims.

// forgetsAfterLease grants a taken slot again once its claim's lease is over.
func forgetsAfterLease() bend {
	type run struct {
		job  string
		slot int64
	}
	var mu sync.Mutex
	ends := map[run]time.Time{}
	return func(good store.Store) store.Store {
		return claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
			mu.Lock()
			defer mu.Unlock()
			a, err := good.Claim(ctx, req)
			k := run{req.Job, req.Slot}
			switch {
			case err != nil:
			case a.Verdict == store.VerdictWon && ends[k].IsZero():
				ends[k] = time.Now().Add(req.Lease)
			case a.Verdict == store.VerdictFinished && !ends[k].IsZero() && time.Now().After(ends[k]):
				a.Verdict, a.Attempt, a.Token = store.VerdictWon, 1, store.Token(a.Now)
			}
			return a, err
		}}
	}
}

// claims answers claims by a function.
type claims struct {
	store.Store
	claim func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error)
}

func (s claims) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return s.claim(ctx, req)
}

// takeoverNotAtomic looks if a later attempt is free, and grants it a
// millisecond later to all who looked.
func takeoverNotAtomic() bend {
	return func(good store.Store) store.Store {
		return claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
			if req.After == 0 {
				return good.Claim(ctx, req)
			}
			u, err := good.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{req.Job}})
			if err != nil {
				return store.ClaimAnswer{}, err
			}
			free := false
			for _, run := range u.Runs {
				free = free || run.Slot == req.Slot && run.Left == 0 && run.Attempt == req.After
			}
			time.Sleep(time.Millisecond)
			a, err := good.Claim(ctx, req)
			if free && err == nil && a.Verdict == store.VerdictRunning {
				return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: a.Attempt, Token: store.Token(a.Now), Left: a.Left, Now: a.Now}, nil
			}
			return a, err
		}}
	}
}

// wonFromCache remembers in the plugin what it has won, until it ends it.
type wonFromCache struct {
	store.Store
	mu  sync.Mutex
	won map[store.ClaimID]store.ClaimAnswer
}

func (s *wonFromCache) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.won[req.ID]; ok {
		return a, nil
	}
	a, err := s.Store.Claim(ctx, req)
	if err == nil && a.Verdict == store.VerdictWon {
		if s.won == nil {
			s.won = map[store.ClaimID]store.ClaimAnswer{}
		}
		s.won[req.ID] = a
	}
	return a, err
}

// copyWinsAgain follows whatever attempt is the last when the instance is the
// same.
type copyWinsAgain struct{ store.Store }

func (s copyWinsAgain) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if err == nil && a.Verdict == store.VerdictRunning && a.Left == 0 && a.Holder == req.Instance {
		req.After = a.Attempt
		return s.Store.Claim(ctx, req)
	}
	return a, err
}

// earlyRecorded leaves the record of a claim that it refuses.
type earlyRecorded struct{ store.Store }

func (s earlyRecorded) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if err == nil && a.Verdict == store.VerdictEarly {
		req.MaxEarly = store.MaxBound
		s.Store.Claim(ctx, req)
	}
	return a, err
}

// renewer renews, for a process, what it holds: in the background, or at each of
// its calls.
type renewer struct {
	store.Store
	background bool
	life       context.Context
	stop       context.CancelFunc

	mu   sync.Mutex
	held map[store.Token]store.HeartbeatRequest
}

func newRenewer(good store.Store, background bool) *renewer {
	life, stop := context.WithCancel(context.Background())
	return &renewer{Store: good, background: background, life: life, stop: stop, held: map[store.Token]store.HeartbeatRequest{}}
}

// End tells that the process has ended.
func (r *renewer) End() { r.stop() }

func (r *renewer) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	r.touch(ctx)
	a, err := r.Store.Claim(ctx, req)
	if err == nil && a.Verdict == store.VerdictWon {
		beat := store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Lease: req.Lease}
		r.mu.Lock()
		r.held[a.Token] = beat
		r.mu.Unlock()
		if r.background {
			go r.renew(beat)
		}
	}
	return a, err
}

func (r *renewer) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	r.touch(ctx)
	return r.Store.Heartbeat(ctx, req)
}

// touch renews all that the process holds.
func (r *renewer) touch(ctx context.Context) {
	if r.background {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for token, beat := range r.held {
		if a, err := r.Store.Heartbeat(ctx, beat); err != nil || !a.Renewed {
			delete(r.held, token)
		}
	}
}

// renew renews one attempt until it is lost or the process ends.
func (r *renewer) renew(beat store.HeartbeatRequest) {
	for {
		select {
		case <-r.life.Done():
			return
		case <-time.After(beat.Lease / 3):
		}
		if a, err := r.Store.Heartbeat(r.life, beat); err != nil || !a.Renewed {
			return
		}
	}
}
