package postgresstore

import (
	"context"

	"github.com/anarchon-go/anarchon/core/store"
)

// Claim judges one claim.
func (b *Backend) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	return single(b.ClaimBatch(ctx, []store.ClaimRequest{q}))
}

// Heartbeat renews one lease.
func (b *Backend) Heartbeat(ctx context.Context, q store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return single(b.HeartbeatBatch(ctx, []store.HeartbeatRequest{q}))
}

// Finish ends one attempt.
func (b *Backend) Finish(ctx context.Context, q store.FinishRequest) (store.FinishAnswer, error) {
	return single(b.FinishBatch(ctx, []store.FinishRequest{q}))
}

// ClaimBatch judges claims in order in one transaction: one round trip and one
// wait for the disk for all of them.
func (b *Backend) ClaimBatch(ctx context.Context, qs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	return batch(ctx, qs, (*store.ClaimRequest).Validate, b.askClaims)
}

// HeartbeatBatch renews leases in order in one transaction.
func (b *Backend) HeartbeatBatch(ctx context.Context, qs []store.HeartbeatRequest) []store.Result[store.HeartbeatAnswer] {
	return batch(ctx, qs, (*store.HeartbeatRequest).Validate, b.askHeartbeats)
}

// FinishBatch ends attempts in order in one transaction.
func (b *Backend) FinishBatch(ctx context.Context, qs []store.FinishRequest) []store.Result[store.FinishAnswer] {
	return batch(ctx, qs, (*store.FinishRequest).Validate, b.askFinishes)
}

func single[A any](rs []store.Result[A]) (A, error) { return rs[0].Answer, rs[0].Err }

// asker sends requests, all valid, in one transaction.
type asker[Q, A any] func(ctx context.Context, qs []Q) ([]store.Result[A], error)

// batch has the valid requests judged, and answers the others itself.
func batch[Q, A any](ctx context.Context, qs []Q, validate func(*Q) error, ask asker[Q, A]) []store.Result[A] {
	results := make([]store.Result[A], len(qs))
	valid := make([]Q, 0, len(qs))
	places := make([]int, 0, len(qs))
	for i := range qs {
		if results[i].Err = validate(&qs[i]); results[i].Err == nil {
			valid, places = append(valid, qs[i]), append(places, i)
		}
	}
	for k, r := range judge(ctx, valid, ask) {
		results[places[k]] = r
	}
	return results
}

// judge asks for all at once. If the data of one of them rolls the transaction
// back, it asks for each half, and so on, until that one is alone: nothing was
// applied, so nothing is asked twice. That is cheaper than a savepoint for each.
func judge[Q, A any](ctx context.Context, qs []Q, ask asker[Q, A]) []store.Result[A] {
	if len(qs) == 0 {
		return nil
	}
	results, err := ask(ctx, qs)
	if err == nil {
		return results
	}
	if half := len(qs) / 2; half > 0 && concernsItem(err) {
		return append(judge(ctx, qs[:half], ask), judge(ctx, qs[half:], ask)...)
	}
	results = make([]store.Result[A], len(qs))
	for i := range results {
		results[i].Err = err
	}
	return results
}
