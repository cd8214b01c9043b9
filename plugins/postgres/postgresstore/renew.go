package postgresstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
)

func (b *Backend) askHeartbeats(ctx context.Context, qs []store.HeartbeatRequest) ([]store.Result[store.HeartbeatAnswer], error) {
	n := len(qs)
	jobs, slots, tokens, leases := make([][]byte, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range qs {
		q := &qs[i]
		jobs[i], slots[i], tokens[i], leases[i] = []byte(q.Job), q.Slot, int64(q.Token), ms(q.Lease)
	}
	results := make([]store.Result[store.HeartbeatAnswer], 0, n)
	args := []any{b.namespace(), jobs, slots, tokens, leases}
	err := b.renewals.query(ctx, b.sql.heartbeat, args, func(rows pgx.Rows) error {
		var a store.HeartbeatAnswer
		err := rows.Scan(&a.Renewed, &a.Now)
		results = append(results, store.Result[store.HeartbeatAnswer]{Answer: a})
		return err
	})
	return results, complete(len(results), n, err)
}

func (b *Backend) askFinishes(ctx context.Context, qs []store.FinishRequest) ([]store.Result[store.FinishAnswer], error) {
	n := len(qs)
	jobs, slots, tokens := make([][]byte, n), make([]int64, n), make([]int64, n)
	statuses, released, texts := make([]string, n), make([]bool, n), make([][]byte, n)
	for i := range qs {
		q := &qs[i]
		jobs[i], slots[i], tokens[i] = []byte(q.Job), q.Slot, int64(q.Token)
		statuses[i], released[i] = q.Outcome.Status().String(), q.Outcome == store.OutcomeReleased
		texts[i] = []byte(store.CutError(q.Error))
	}
	results := make([]store.Result[store.FinishAnswer], 0, n)
	args := []any{b.namespace(), jobs, slots, tokens, statuses, released, texts}
	err := b.renewals.query(ctx, b.sql.finish, args, func(rows pgx.Rows) error {
		var a store.FinishAnswer
		err := rows.Scan(&a.Recorded, &a.Now)
		results = append(results, store.Result[store.FinishAnswer]{Answer: a})
		return err
	})
	return results, complete(len(results), n, err)
}

// complete adds to the error of a call that it must have one answer per item.
func complete(got, want int, err error) error {
	if err == nil && got != want {
		return fmt.Errorf("%w: postgres: a function returned %d rows for %d items; it is none of this plugin's: restore the schema from a backup", store.ErrUnknown, got, want)
	}
	return err
}

// ms drops what is finer than the protocol's unit.
func ms(d time.Duration) int64 { return d.Milliseconds() }

// span is the inverse of ms, at most what a Duration holds.
func span(ms int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}
