package natsstore

import (
	"context"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// Finish ends one run.
func (b *Backend) Finish(ctx context.Context, q store.FinishRequest) (store.FinishAnswer, error) {
	return single(b.FinishBatch(ctx, []store.FinishRequest{q}))
}

// FinishBatch ends runs, each by a publish that is stored only if the record it
// was decided on is still the last one. Reads and publishes are pipelined.
func (b *Backend) FinishBatch(ctx context.Context, qs []store.FinishRequest) []store.Result[store.FinishAnswer] {
	ctx, cancel := context.WithTimeout(ctx, b.settings.callTimeout)
	defer cancel()
	f := &finishing{b: b, qs: qs, results: make([]store.Result[store.FinishAnswer], len(qs))}
	var err error
	if f.home, err = b.home(ctx); err != nil {
		return allFailed(f.results, err)
	}
	for i := range qs {
		err := qs[i].Validate()
		if err == nil && qs[i].Outcome == store.OutcomeReleased {
			err = fmt.Errorf("%w: nats: hand over a run (outcome released); there are no leases", store.ErrUnsupported)
		}
		if err != nil {
			f.results[i].Err = err
		} else {
			f.left = append(f.left, i)
		}
	}
	for n := 0; len(f.left) > 0 && n < inFlightLooks; n++ {
		if n > 0 {
			pause(ctx, n-1)
		}
		f.step(ctx)
	}
	for _, i := range f.left {
		f.results[i].Err = notApplied("finish of slot %d of job %.60q: other messages about it kept coming; ask again", qs[i].Slot, qs[i].Job)
	}
	return f.results
}

// finishing is a batch on its way.
type finishing struct {
	b       *Backend
	home    *home
	qs      []store.FinishRequest
	results []store.Result[store.FinishAnswer]
	left    []int
}

// step reads, decides and writes once, and leaves what has to be decided again.
func (f *finishing) step(ctx context.Context) {
	var requests []request
	var sent []int
	for n, s := range f.read(ctx) {
		i := f.left[n]
		if s.err != nil {
			f.results[i].Err = s.err
			continue
		}
		write, recorded := decideFinish(s.stored, &f.qs[i])
		if write == nil {
			f.results[i].Answer.Recorded = recorded
			continue
		}
		requests = append(requests, conditional(f.subject(&f.qs[i]), s.seq, f.home.claims.Name, write.encode()))
		sent = append(sent, i)
	}
	f.left = nil
	for k, p := range f.b.publish(ctx, requests) {
		i := sent[k]
		switch {
		case p.err != nil:
			f.results[i].Err = p.err
		case p.refusal == nil:
			f.results[i].Answer.Recorded = true
		case fateOf(p.refusal) == fateTaken || fateOf(p.refusal) == fateInFlight:
			f.left = append(f.left, i)
		default:
			f.results[i].Err = refused(p.refusal)
		}
	}
}

func (f *finishing) subject(q *store.FinishRequest) string {
	return f.b.settings.layout.slot(f.home.era, q.Job, q.Slot)
}

// read finds the records of what is left. A run that was longer than the window
// has its record in the history only; the subject is free then, and the finish
// expects it to be so.
func (f *finishing) read(ctx context.Context) []found {
	firsts, elses := make([]find, len(f.left)), make([]find, len(f.left))
	for n, i := range f.left {
		subject := f.subject(&f.qs[i])
		firsts[n], elses[n] = find{f.home.claims.Name, subject}, find{f.home.history.Name, subject}
	}
	return f.b.lastOf(ctx, firsts, elses)
}

// lastOf looks up messages, and where there is none, looks up another in its
// stead. Who looks into the claims stream first and then into the history misses
// nothing: a record is copied long before the first forgets it.
func (b *Backend) lastOf(ctx context.Context, firsts, elses []find) []found {
	all := b.api.last(ctx, firsts)
	var again []find
	var at []int
	for n, f := range all {
		b.homes.doubt(f.err)
		if f.stored == nil && f.err == nil && elses[n] != firsts[n] {
			again = append(again, elses[n])
			at = append(at, n)
		}
	}
	for k, f := range b.api.last(ctx, again) {
		b.homes.doubt(f.err)
		all[at[k]] = f
	}
	return all
}
