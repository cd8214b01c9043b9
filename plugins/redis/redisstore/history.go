package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/anarchon-go/anarchon/core/store"
)

// historyRuns bounds the runs that one step reads: a page of thousands would
// hold the server up. A page may be shorter than asked for; the next one
// follows.
const historyRuns = 500

// History recalls a page of a job's attempts. A page begins after a place, not
// after a count, so that runs which come and go don't shift it.
func (b *Backend) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := q.Validate(); err != nil {
		return store.HistoryAnswer{}, err
	}
	after, err := parsePlace(q.Page)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	from := "+inf"
	if q.Page != "" {
		from = strconv.FormatInt(after.slot, 10)
	}
	// One more than fits tells that there are more; and of the first run maybe
	// nothing is left, because the page before showed it.
	limit := min(q.Limit, historyRuns)
	ctx, cancel := context.WithTimeout(ctx, b.settings.callTimeout)
	defer cancel()
	words, err := b.pools.claims.one(ctx, b.strategy.call(b.strategy.history, q.Job, from, limit+2))
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	d := decoder{words: words}
	answer := store.HistoryAnswer{Now: d.number()}
	for d.more() {
		attempts, err := parseAttempts(d.number(), d.text())
		if err != nil {
			return store.HistoryAnswer{}, damaged(q.Job, err)
		}
		for _, a := range attempts {
			if a.Slot < after.slot || a.Slot == after.slot && a.Attempt < after.attempt {
				answer.Attempts = append(answer.Attempts, a)
			}
		}
	}
	if d.err != nil {
		return store.HistoryAnswer{}, strange(b.strategy.history, words)
	}
	slices.SortFunc(answer.Attempts, func(a, b store.Attempt) int {
		return cmp.Or(cmp.Compare(b.Slot, a.Slot), cmp.Compare(b.Attempt, a.Attempt))
	})
	if len(answer.Attempts) > limit {
		answer.Attempts = answer.Attempts[:limit]
		last := &answer.Attempts[limit-1]
		answer.Next = place{last.Slot, last.Attempt}.String()
	}
	return answer, nil
}

// damaged is the error of a read that found a record it can't read. Reading
// changes nothing.
func damaged(job string, err error) error {
	return errorOf(store.ErrNotApplied, "read job "+strconv.Quote(job), err, "; it was changed by hand or by another program: restore a backup")
}
