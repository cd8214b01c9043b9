package postgresstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
)

// Unfinished recalls the unfinished runs of the jobs, or, without names, of all
// jobs of the namespace.
func (b *Backend) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if err := q.Validate(); err != nil {
		return store.UnfinishedAnswer{}, err
	}
	var jobs [][]byte // nil is null: all
	for _, name := range q.Jobs {
		jobs = append(jobs, []byte(name))
	}
	var answer store.UnfinishedAnswer
	err := b.claims.query(ctx, b.sql.unfinished, []any{b.namespace(), jobs}, func(rows pgx.Rows) error {
		var run store.UnfinishedRun
		var job, holder []byte
		var left int64
		err := rows.Scan(&job, &run.Slot, &run.Attempt, &run.Open, &holder, &run.Token, &left, &run.Counted, &run.Newest, &answer.Now)
		if err != nil || job == nil {
			return err
		}
		run.Job, run.Holder, run.Left = string(job), string(holder), span(left)
		answer.Runs = append(answer.Runs, run)
		return nil
	})
	if err != nil {
		return store.UnfinishedAnswer{}, err
	}
	slices.SortFunc(answer.Runs, func(a, b store.UnfinishedRun) int {
		return cmp.Or(strings.Compare(a.Job, b.Job), cmp.Compare(a.Slot, b.Slot))
	})
	return answer, nil
}

// History recalls a page of a job's attempts. A page begins after a place, not
// after a count, so that runs which come and go don't shift it.
func (b *Backend) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := q.Validate(); err != nil {
		return store.HistoryAnswer{}, err
	}
	from, err := parsePlace(q.Page)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	var answer store.HistoryAnswer
	args := []any{b.namespace(), []byte(q.Job), from.slot, from.attempt, int64(q.Limit) + 1}
	err = b.claims.query(ctx, b.sql.history, args, func(rows pgx.Rows) error {
		a, err := scanHistory(rows, &answer.Now)
		if a != nil {
			answer.Attempts = append(answer.Attempts, *a)
		}
		return err
	})
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	if len(answer.Attempts) > q.Limit {
		answer.Attempts = answer.Attempts[:q.Limit]
		last := &answer.Attempts[q.Limit-1]
		answer.Next = place{last.Slot, int32(last.Attempt)}.String()
	}
	return answer, nil
}

// scanHistory returns nil if the row has the store's now only.
func scanHistory(rows pgx.Rows, now *int64) (*store.Attempt, error) {
	var slot, token, started, ended *int64
	var number *int
	var instance, text []byte
	var reason, status *string
	var handedOver *bool
	err := rows.Scan(now, &slot, &number, &token, &instance, &reason, &status, &handedOver, &started, &ended, &text)
	if err != nil || slot == nil {
		return nil, err
	}
	a := &store.Attempt{
		Slot: *slot, Attempt: *number, Token: store.Token(*token), Instance: string(instance),
		HandedOver: *handedOver, StartedAt: *started, EndedAt: *ended, Error: string(text),
	}
	return a, errors.Join(a.Reason.UnmarshalText([]byte(*reason)), a.Status.UnmarshalText([]byte(*status)))
}
