package redisstore

import (
	"context"
	"fmt"

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

func single[A any](rs []store.Result[A]) (A, error) { return rs[0].Answer, rs[0].Err }

// ClaimBatch judges claims in order, in one pipeline: one way to the server and
// back for all of them.
func (b *Backend) ClaimBatch(ctx context.Context, qs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	confirm := b.confirm.ask()
	results := batch(ctx, b, b.pools.claims, qs, confirm, (*store.ClaimRequest).Validate, b.strategy.claimCall,
		func(q *store.ClaimRequest, s *script, words []string) (store.ClaimAnswer, error) {
			return claimAnswer(q, s, words)
		})
	if confirm != nil {
		grants := 0
		for i := range results {
			if results[i].Answer.Verdict == store.VerdictWon {
				grants++
			}
		}
		confirm.report(grants)
	}
	return results
}

// HeartbeatBatch renews leases in order, in one pipeline.
func (b *Backend) HeartbeatBatch(ctx context.Context, qs []store.HeartbeatRequest) []store.Result[store.HeartbeatAnswer] {
	return batch(ctx, b, b.pools.duties, qs, nil, b.checkHeartbeat, b.strategy.heartbeatCall,
		func(_ *store.HeartbeatRequest, s *script, words []string) (store.HeartbeatAnswer, error) {
			renewed, now, err := yes(s, words, "renewed", "lost")
			return store.HeartbeatAnswer{Renewed: renewed, Now: now}, err
		})
}

// FinishBatch ends attempts in order, in one pipeline.
func (b *Backend) FinishBatch(ctx context.Context, qs []store.FinishRequest) []store.Result[store.FinishAnswer] {
	return batch(ctx, b, b.pools.duties, qs, nil, b.checkFinish, b.strategy.finishCall,
		func(_ *store.FinishRequest, s *script, words []string) (store.FinishAnswer, error) {
			recorded, now, err := yes(s, words, "recorded", "lost")
			return store.FinishAnswer{Recorded: recorded, Now: now}, err
		})
}

func (b *Backend) checkHeartbeat(q *store.HeartbeatRequest) error {
	if b.strategy.heartbeat == nil {
		return store.ErrUnsupported
	}
	return q.Validate()
}

func (b *Backend) checkFinish(q *store.FinishRequest) error {
	if q.Outcome == store.OutcomeReleased && b.strategy.kind == store.KindClaimOnly {
		return fmt.Errorf("outcome released: %w: nobody could take the run over; finish it as interrupted", store.ErrUnsupported)
	}
	return q.Validate()
}

// batch checks each item, sends those that are right in one pipeline, and reads
// their answers.
func batch[Q, A any](
	ctx context.Context, b *Backend, p *pool, qs []Q, confirm *confirmation,
	check func(*Q) error, toCall func(*Q) call, answer func(*Q, *script, []string) (A, error),
) []store.Result[A] {
	ctx, cancel := context.WithTimeout(ctx, b.settings.callTimeout)
	defer cancel()
	results := make([]store.Result[A], len(qs))
	calls := make([]call, 0, len(qs))
	from := make([]int, 0, len(qs))
	for i := range qs {
		if results[i].Err = check(&qs[i]); results[i].Err == nil {
			calls, from = append(calls, toCall(&qs[i])), append(from, i)
		}
	}
	if len(calls) == 0 {
		return results
	}
	for n, r := range p.send(ctx, calls, confirm) {
		i := from[n]
		if results[i].Err = r.err; r.err == nil {
			results[i].Answer, results[i].Err = answer(&qs[i], calls[n].script, r.words)
		}
	}
	return results
}
