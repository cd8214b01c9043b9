package main

import (
	"context"

	"github.com/anarchon-go/anarchon/core/store"
)

// Heartbeat renews the lease of an open attempt, in one atomic step.
func (b *Backend) Heartbeat(ctx context.Context, q store.HeartbeatRequest) (answer store.HeartbeatAnswer, err error) {
	err = b.step(ctx, q.Job, func(j *job, now int64) error {
		answer = store.HeartbeatAnswer{Renewed: j.heartbeat(now, &q), Now: now}
		return nil
	})
	if err != nil {
		return store.HeartbeatAnswer{}, err
	}
	return answer, nil
}

// heartbeat does not ask whether the lease is over: if nobody took the run over,
// its runner may go on. A lease is never shortened; what is left of a longer one
// counts as asked for, or the next call would cut it.
func (j *job) heartbeat(now int64, q *store.HeartbeatRequest) bool {
	j.cutLeases(now)
	r := find(j.Unfinished, q.Slot)
	if r == nil || !r.last().open() || r.last().Token != q.Token {
		return false
	}
	a := r.last()
	a.LeaseEnd = max(a.LeaseEnd, now+ms(q.Lease))
	a.Lease = max(ms(q.Lease), a.LeaseEnd-now)
	return true
}
