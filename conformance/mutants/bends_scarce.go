package mutants

import (
	"context"
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// Bends that only show when the store has run out of something.

func scarceBends() []Mutant {
	const lease, claimOnly = store.KindLease, store.KindClaimOnly
	const none = model.NoFault
	return []Mutant{
		twisted("full-is-won", "a claim is answered won although the store had no room for it", lease, none, "R-ERROR-5", "server/full",
			front(func(behind store.Store) store.Store { return claimFailsAs{behind, store.VerdictWon} })),
		{
			Name: "full-is-won", Says: "a claim of a run that is not known is answered won, without a token, although the store had no room for it",
			Kind: claimOnly, Breaks: "R-ERROR-5", Check: "server/full",
			Open: func(s Setting) kit.Subject {
				s.ClaimOnly.NoFence = true
				m := Model(claimOnly, none, s).(*subject.Memory)
				m.Front = func(behind store.Store) store.Store { return unfencedWon{behind} }
				return m
			},
		},
		twisted("full-is-lost", "a heartbeat that a full store does not write is answered lost", lease, none, "R-ERROR-5", "server/full",
			front(func(behind store.Store) store.Store { return unrenewedLost{behind} })),
		forgetful("full-makes-room", "a full store drops what it has to make room", claimOnly, "R-ERROR-5", "server/full",
			func(m *subject.Memory, forget func()) { m.Full = forget }),
		twisted("no-connection-is-refused", "a claim that gets no connection is answered finished", claimOnly, none, "R-ERROR-5", "server/no-connections",
			front(func(behind store.Store) store.Store { return claimFailsAs{behind, store.VerdictFinished} })),
		twisted("gives-up-at-once", "a plugin that was once refused a connection asks for no other", lease, none, "R-ERROR-5", "server/no-connections",
			front(func(behind store.Store) store.Store { return &connectsOnce{Store: behind} })),
	}
}

// claimFailsAs gives claims that were surely not applied a verdict.
type claimFailsAs struct {
	store.Store
	verdict store.Verdict
}

func (s claimFailsAs) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if errors.Is(err, store.ErrNotApplied) {
		a = store.ClaimAnswer{Verdict: s.verdict, Now: time.Now().UnixMilli()}
		if s.verdict == store.VerdictWon {
			a.Attempt, a.Token, a.Left = 1, store.Token(a.Now), req.Lease
		}
		return a, nil
	}
	return a, err
}

// unfencedWon gives claims that were surely not applied a grant without a token, if the
// history of their job is empty.
type unfencedWon struct{ store.Store }

func (s unfencedWon) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if !errors.Is(err, store.ErrNotApplied) {
		return a, err
	}
	h, unread := s.Store.History(ctx, store.HistoryRequest{Job: req.Job, Limit: 1})
	if unread != nil || len(h.Attempts) > 0 {
		return a, err
	}
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Now: h.Now}, nil
}

// unrenewedLost gives heartbeats that were not applied the answer lost.
type unrenewedLost struct{ store.Store }

func (s unrenewedLost) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	a, err := s.Store.Heartbeat(ctx, req)
	if errors.Is(err, store.ErrNotApplied) {
		return store.HeartbeatAnswer{Now: time.Now().UnixMilli()}, nil
	}
	return a, err
}
