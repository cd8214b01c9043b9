package store

import "context"

// Store is what core needs from a backend: four verbs (Recall has two forms,
// [Store.Unfinished] and [Store.History]) and a description of itself.
//
// All methods are safe for concurrent use. The context bounds the call; a call
// that was cut off after it was sent may still take effect, which is
// [ErrUnknown]. Errors are classed as described at [ErrInvalid],
// [ErrNotApplied] and [ErrUnknown]; an error of none of these classes is treated
// as unknown. A verdict is never an error.
type Store interface {
	// Describe says what this store, so configured, can do. Its answer does not
	// change while the store is open.
	Describe(ctx context.Context) (Description, error)

	// Claim asks for a run. Asking again with the same [ClaimID] is safe and is
	// the only right answer to [ErrUnknown].
	Claim(ctx context.Context, req ClaimRequest) (ClaimAnswer, error)

	// Heartbeat renews the lease of an open attempt. Claim-only backends answer
	// [ErrUnsupported].
	Heartbeat(ctx context.Context, req HeartbeatRequest) (HeartbeatAnswer, error)

	// Finish ends an attempt, or hands it over ([OutcomeReleased]).
	Finish(ctx context.Context, req FinishRequest) (FinishAnswer, error)

	// Unfinished recalls the runs that have begun and not ended. Claim-only
	// backends answer [ErrUnsupported].
	Unfinished(ctx context.Context, req UnfinishedRequest) (UnfinishedAnswer, error)

	// History recalls the attempts of one job, newest first.
	History(ctx context.Context, req HistoryRequest) (HistoryAnswer, error)
}

// Result is one item's answer in a batch. Err is nil or of one of the three
// classes, and concerns this item alone: a bad item does not fail its
// neighbours.
type Result[A any] struct {
	Answer A
	Err    error
}
