package main

import (
	"context"

	"github.com/anarchon-go/anarchon/core/store"
)

// Finish ends an attempt or hands it over, in one atomic step.
func (b *Backend) Finish(ctx context.Context, q store.FinishRequest) (answer store.FinishAnswer, err error) {
	err = b.step(ctx, q.Job, func(j *job, now int64) error {
		answer = store.FinishAnswer{Recorded: j.finish(now, &q), Now: now}
		return nil
	})
	if err != nil {
		return store.FinishAnswer{}, err
	}
	return answer, nil
}

// finish is judged by the record of the attempt that the token was granted to,
// whatever came after it.
func (j *job) finish(now int64, q *store.FinishRequest) bool {
	j.cutLeases(now)
	r := find(j.Unfinished, q.Slot)
	if r == nil {
		r = find(j.ended, q.Slot)
	}
	a := r.withToken(q.Token)
	if a == nil {
		return false
	}
	released := q.Outcome == store.OutcomeReleased
	if !a.open() {
		// Ended the same way already: the answer was lost, and this is a repeat.
		return a.Status == q.Outcome.Status() && a.HandedOver == released
	}
	a.Status, a.EndedAt, a.Error, a.HandedOver = q.Outcome.Status(), now, store.CutError(q.Error), released
	if released {
		r.Counted-- // a stopping instance must not use the run's attempts up
		return true
	}
	j.end(r, now)
	j.trim()
	return true
}

func (r *run) withToken(t store.Token) *attempt {
	if r == nil {
		return nil
	}
	for _, a := range r.Attempts {
		if a.Token == t {
			return a
		}
	}
	return nil
}
