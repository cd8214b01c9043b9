//go:build cgo

package sqlitestore

import (
	"context"
	"errors"

	"github.com/anarchon-go/anarchon/core/store"
)

// Claim judges one claim in a transaction of its own.
func (b *Backend) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	return single(b.ClaimBatch(ctx, []store.ClaimRequest{q}))
}

// Heartbeat renews one lease in a transaction of its own.
func (b *Backend) Heartbeat(ctx context.Context, q store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return single(b.HeartbeatBatch(ctx, []store.HeartbeatRequest{q}))
}

// Finish ends one attempt in a transaction of its own.
func (b *Backend) Finish(ctx context.Context, q store.FinishRequest) (store.FinishAnswer, error) {
	return single(b.FinishBatch(ctx, []store.FinishRequest{q}))
}

// ClaimBatch judges claims in order in one transaction: one wait for the disk
// for all of them.
func (b *Backend) ClaimBatch(ctx context.Context, qs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	return batch(ctx, b, qs, (*store.ClaimRequest).Validate, (*step).claim)
}

// HeartbeatBatch renews leases in order in one transaction.
func (b *Backend) HeartbeatBatch(ctx context.Context, qs []store.HeartbeatRequest) []store.Result[store.HeartbeatAnswer] {
	return batch(ctx, b, qs, (*store.HeartbeatRequest).Validate, (*step).heartbeat)
}

// FinishBatch ends attempts in order in one transaction.
func (b *Backend) FinishBatch(ctx context.Context, qs []store.FinishRequest) []store.Result[store.FinishAnswer] {
	return batch(ctx, b, qs, (*store.FinishRequest).Validate, (*step).finish)
}

func single[A any](rs []store.Result[A]) (A, error) { return rs[0].Answer, rs[0].Err }

// batch judges each item in its own step of one transaction, so that a bad one
// does not fail its neighbours. If the transaction as a whole fails, all items
// without an error of their own share its fate.
func batch[Q, A any](ctx context.Context, b *Backend, qs []Q, validate func(*Q) error, judge func(*step, *Q) (A, error)) []store.Result[A] {
	results := make([]store.Result[A], len(qs))
	err := b.write.transact(ctx, func(sql *writing) error {
		p := &step{sql: sql, namespace: []byte(b.settings.namespace)}
		for i := range qs {
			err := validate(&qs[i])
			if err == nil {
				results[i].Answer, err = judge(p, &qs[i])
			}
			if errors.Is(err, errTransaction) {
				return err
			}
			if err != nil {
				results[i] = store.Result[A]{Err: notApplied("judge", err)}
			}
		}
		return nil
	})
	if err != nil {
		for i := range results {
			if results[i].Err == nil {
				results[i] = store.Result[A]{Err: err}
			}
		}
	}
	return results
}

func (p *step) claim(q *store.ClaimRequest) (store.ClaimAnswer, error) {
	s, owner, err := p.load(q.Job, q.ID)
	if err != nil {
		return store.ClaimAnswer{}, err
	}
	var ended *attempt
	if s.run(q.Slot) == nil {
		if ended, err = p.lastOf(s, q.Slot); err != nil {
			return store.ClaimAnswer{}, err
		}
	}
	answer, err := decideClaim(s, q, owner, ended)
	if err != nil {
		return store.ClaimAnswer{}, err
	}
	return answer, p.save(s, q.Job)
}

func (p *step) heartbeat(q *store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	s, _, err := p.load(q.Job, store.ClaimID{})
	if err != nil {
		return store.HeartbeatAnswer{}, err
	}
	return decideHeartbeat(s, q), p.save(s, q.Job)
}

func (p *step) finish(q *store.FinishRequest) (store.FinishAnswer, error) {
	s, _, err := p.load(q.Job, store.ClaimID{})
	if err != nil {
		return store.FinishAnswer{}, err
	}
	a, err := p.byToken(s, q.Slot, q.Token)
	if err != nil {
		return store.FinishAnswer{}, err
	}
	return decideFinish(s, q, a), p.save(s, q.Job)
}
