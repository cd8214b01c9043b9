package coretest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// Store is a store in memory, which follows the protocol to the letter and
// remembers for ever. It is safe for concurrent use; nothing outlives it.
type Store struct {
	st   *model.Store
	down atomic.Bool
}

var _ store.Store = (*Store)(nil)

// NewStore returns an empty store of the kind, on the wall clock (in a synctest
// bubble: on its clock) unless [WithClock] gives it another. It panics if the kind is
// none.
func NewStore(kind store.Kind, options ...Option) *Store {
	var o model.Options
	switch kind {
	case store.KindLease:
	case store.KindClaimOnly:
		o.ClaimOnly = &model.ClaimOnly{}
	default:
		panic(fmt.Sprintf("coretest: %v is no kind of store; use store.KindLease or store.KindClaimOnly", kind))
	}
	for _, option := range options {
		if option.apply != nil {
			option.apply(&o)
		}
	}
	return &Store{st: model.New(o)}
}

// SetDown takes the store away from its instances, or gives it back. While it is
// down every call fails at once with [store.ErrNotApplied], as of a server that
// refuses connections. Its clock goes on.
func (s *Store) SetDown(down bool) { s.down.Store(down) }

var errDown = fmt.Errorf("%w: %w", store.ErrNotApplied, errors.New("coretest: the store is down"))

func unlessDown[Q, A any](s *Store, verb func(context.Context, Q) (A, error), ctx context.Context, req Q) (A, error) {
	if s.down.Load() {
		var none A
		return none, errDown
	}
	return verb(ctx, req)
}

// Describe works also while the store is down.
func (s *Store) Describe(ctx context.Context) (store.Description, error) { return s.st.Describe(ctx) }

// Claim is a verb of [store.Store].
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return unlessDown(s, s.st.Claim, ctx, req)
}

// Heartbeat is a verb of [store.Store].
func (s *Store) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return unlessDown(s, s.st.Heartbeat, ctx, req)
}

// Finish is a verb of [store.Store].
func (s *Store) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return unlessDown(s, s.st.Finish, ctx, req)
}

// Unfinished is a verb of [store.Store].
func (s *Store) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return unlessDown(s, s.st.Unfinished, ctx, req)
}

// History is a verb of [store.Store].
func (s *Store) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return unlessDown(s, s.st.History, ctx, req)
}
