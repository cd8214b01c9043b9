package storekit

import (
	"context"
	"log/slog"

	"github.com/anarchon-go/anarchon/core/store"
)

// Backend is what a plugin's author implements. Embed [Unimplemented]: it makes
// a verb that is added later break nobody, and answers the verbs that a
// claim-only backend does not have.
//
// The life of a backend: the factory given to [Serve] makes it, Info is asked
// (before or after Configure, at any time), Configure once, Describe, then the
// verbs from many goroutines at once, Close once. The SDK validates every
// request and every option before it calls, recovers a panic into an error,
// and loops over the items of a batch unless the backend implements
// [ClaimBatcher], [HeartbeatBatcher] or [FinishBatcher].
//
// The rules of the verbs are in package store and docs/protocol.md. The three
// that authors get wrong: decide in one atomic step in the store; use the
// store's clock; return store.ErrNotApplied only if nothing can have happened.
type Backend interface {
	// Info says what the plugin is. It does no I/O.
	Info() Info

	// Configure opens the store. cfg has been checked against Info().Options and
	// holds every default. It prepares the store's format if none is there, and
	// fails with store.ErrStoreFormat, touching nothing, on a newer one.
	Configure(ctx context.Context, cfg Config) error

	store.Store

	// Close gives everything back. No verb is called during or after it.
	Close(ctx context.Context) error

	mustEmbedUnimplemented()
}

// Env is what a backend gets from its surroundings.
type Env struct {
	// Logger writes to the host's log. Never nil.
	Logger *slog.Logger
}

// Factory makes a backend that is not configured yet. It does no I/O.
type Factory func(env Env) Backend

// ClaimBatcher is implemented by backends that serve many claims in one go. The
// items are judged in order, each in its own atomic step with its own now; the
// results are as many as the requests, in their order. A bad item does not fail
// its neighbours.
type ClaimBatcher interface {
	ClaimBatch(ctx context.Context, reqs []store.ClaimRequest) []store.Result[store.ClaimAnswer]
}

// HeartbeatBatcher is [ClaimBatcher] for heartbeats.
type HeartbeatBatcher interface {
	HeartbeatBatch(ctx context.Context, reqs []store.HeartbeatRequest) []store.Result[store.HeartbeatAnswer]
}

// FinishBatcher is [ClaimBatcher] for finishes.
type FinishBatcher interface {
	FinishBatch(ctx context.Context, reqs []store.FinishRequest) []store.Result[store.FinishAnswer]
}

// Unimplemented answers every verb with store.ErrUnsupported. Backends embed it.
type Unimplemented struct{}

func (Unimplemented) Configure(context.Context, Config) error { return store.ErrUnsupported }
func (Unimplemented) Describe(context.Context) (store.Description, error) {
	return store.Description{}, store.ErrUnsupported
}
func (Unimplemented) Claim(context.Context, store.ClaimRequest) (store.ClaimAnswer, error) {
	return store.ClaimAnswer{}, store.ErrUnsupported
}
func (Unimplemented) Heartbeat(context.Context, store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return store.HeartbeatAnswer{}, store.ErrUnsupported
}
func (Unimplemented) Finish(context.Context, store.FinishRequest) (store.FinishAnswer, error) {
	return store.FinishAnswer{}, store.ErrUnsupported
}
func (Unimplemented) Unfinished(context.Context, store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return store.UnfinishedAnswer{}, store.ErrUnsupported
}
func (Unimplemented) History(context.Context, store.HistoryRequest) (store.HistoryAnswer, error) {
	return store.HistoryAnswer{}, store.ErrUnsupported
}
func (Unimplemented) Close(context.Context) error { return nil }
func (Unimplemented) mustEmbedUnimplemented()     {}
