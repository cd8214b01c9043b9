package rabbitmqstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Claim judges one claim.
func (b *Backend) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	return single(b.ClaimBatch(ctx, []store.ClaimRequest{q}))
}

// Finish ends one run.
func (b *Backend) Finish(ctx context.Context, q store.FinishRequest) (store.FinishAnswer, error) {
	return single(b.FinishBatch(ctx, []store.FinishRequest{q}))
}

func single[A any](rs []store.Result[A]) (A, error) { return rs[0].Answer, rs[0].Err }

// ClaimBatch judges claims in order. Those of one batch go into one message.
func (b *Backend) ClaimBatch(ctx context.Context, qs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	return batch(ctx, b.link, qs, verb[store.ClaimRequest, store.ClaimAnswer]{
		check:  (*store.ClaimRequest).Validate,
		now:    (*book).claimNow,
		entry:  claimEntry,
		answer: func(a answer) store.ClaimAnswer { return a.claim },
	})
}

// FinishBatch ends runs in order. Those of one batch go into one message.
func (b *Backend) FinishBatch(ctx context.Context, qs []store.FinishRequest) []store.Result[store.FinishAnswer] {
	return batch(ctx, b.link, qs, verb[store.FinishRequest, store.FinishAnswer]{
		check:  checkFinish,
		now:    (*book).finishNow,
		entry:  finishEntry,
		answer: func(a answer) store.FinishAnswer { return a.finish },
	})
}

func checkFinish(q *store.FinishRequest) error {
	if err := q.Validate(); err != nil {
		return err
	}
	if q.Outcome == store.OutcomeReleased {
		return fmt.Errorf("outcome released: %w: nobody could take the run over; finish it as interrupted", store.ErrUnsupported)
	}
	return nil
}

// verb is what claims and finishes differ in.
type verb[Q, A any] struct {
	check  func(*Q) error
	now    func(*book, *Q) (A, bool) // from what was read
	entry  func(*Q) entry            // for the log
	answer func(answer) A
}

// mostPerCall keeps a message below the broker's limit, whatever is in it.
const mostPerCall = 500

func batch[Q, A any](ctx context.Context, l *link, qs []Q, v verb[Q, A]) []store.Result[A] {
	results := make([]store.Result[A], len(qs))
	var entries []entry
	var places []int // of the entries among the requests
	l.withBook(func(b *book) {
		for i := range qs {
			if results[i].Err = v.check(&qs[i]); results[i].Err != nil {
				continue
			}
			var done bool
			if results[i].Answer, done = v.now(b, &qs[i]); !done {
				entries, places = append(entries, v.entry(&qs[i])), append(places, i)
			}
		}
	})
	for part := range slices.Chunk(places, mostPerCall) {
		answers, err := l.ask(ctx, entries[:len(part)])
		for k, i := range part {
			if err != nil {
				results[i].Err = err
			} else {
				results[i].Answer = v.answer(answers[k])
			}
		}
		entries = entries[len(part):]
	}
	return results
}

// History lists what is remembered of a job's runs. It reads up to a mark of
// its own first, so that what others wrote before is there.
func (b *Backend) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := q.Validate(); err != nil {
		return store.HistoryAnswer{}, err
	}
	below, err := parsePage(q.Page)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	if _, err := b.link.ask(ctx, nil); err != nil {
		return store.HistoryAnswer{}, err
	}
	var a store.HistoryAnswer
	b.link.withBook(func(b *book) { a = b.list(q.Job, below, q.Limit) })
	return a, nil
}
