//go:build cgo

package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Unfinished recalls the unfinished runs of the jobs, or, without names, of all
// jobs of the namespace.
func (b *Backend) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if err := q.Validate(); err != nil {
		return store.UnfinishedAnswer{}, err
	}
	answer, tooLong, err := b.readUnfinished(ctx, q.Jobs)
	if err != nil || len(tooLong) == 0 {
		return answer, err
	}
	// The store's clock went back: like every call, this one cuts the leases.
	err = b.write.transact(ctx, func(sql *writing) error {
		p := &step{sql: sql, namespace: []byte(b.settings.namespace)}
		for _, name := range tooLong {
			s, _, err := p.load(name, store.ClaimID{})
			if err != nil {
				return err
			}
			s.cutLeases()
			if err := p.save(s, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return store.UnfinishedAnswer{}, err
	}
	answer, _, err = b.readUnfinished(ctx, q.Jobs)
	return answer, err
}

// readUnfinished also names the jobs with a lease that has more left than its
// length.
func (b *Backend) readUnfinished(ctx context.Context, jobs []string) (answer store.UnfinishedAnswer, tooLong []string, err error) {
	wanted := make(map[string]bool, len(jobs))
	for _, name := range jobs {
		wanted[name] = true
	}
	reset := func() { answer, tooLong = store.UnfinishedAnswer{}, nil }
	err = b.read.each(ctx, b.read.unfinished, []any{[]byte(b.settings.namespace)}, reset, func(rows *sql.Rows) error {
		run, lease, err := scanUnfinished(rows, &answer.Now)
		if err != nil || run == nil || len(jobs) > 0 && !wanted[run.Job] {
			return err
		}
		answer.Runs = append(answer.Runs, *run)
		if run.Left > lease {
			tooLong = append(tooLong, run.Job)
		}
		return nil
	})
	slices.SortFunc(answer.Runs, func(a, b store.UnfinishedRun) int {
		return cmp.Or(strings.Compare(a.Job, b.Job), cmp.Compare(a.Slot, b.Slot))
	})
	return answer, tooLong, err
}

// scanUnfinished returns a nil run if the row has the store's now only.
func scanUnfinished(rows *sql.Rows, now *int64) (*store.UnfinishedRun, time.Duration, error) {
	var name, status, instance sql.NullString
	var slot, number, token, lease, leaseEnd, counted, newest sql.NullInt64
	err := rows.Scan(now, &name, &slot, &number, &status, &instance, &token, &lease, &leaseEnd, &counted, &newest)
	if err != nil || !name.Valid {
		return nil, 0, err
	}
	a := attempt{slot: slot.Int64, leaseEnd: leaseEnd.Int64}
	if err := parse(&a.status, status.String); err != nil {
		return nil, 0, err
	}
	return &store.UnfinishedRun{
		Job: name.String, Slot: slot.Int64, Attempt: int(number.Int64), Open: a.open(), Holder: instance.String,
		Token: store.Token(token.Int64), Left: a.left(*now), Counted: int(counted.Int64), Newest: newest.Int64,
	}, span(lease.Int64), nil
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
	reset := func() { answer = store.HistoryAnswer{} }
	args := []any{[]byte(b.settings.namespace), []byte(q.Job), from.slot, from.attempt, q.Limit + 1}
	err = b.read.each(ctx, b.read.history, args, reset, func(rows *sql.Rows) error {
		a, err := scanHistory(rows, &answer.Now)
		if err == nil && a != nil {
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
		answer.Next = place{last.Slot, last.Attempt}.String()
	}
	return answer, nil
}

// scanHistory returns nil if the row has the store's now only.
func scanHistory(rows *sql.Rows, now *int64) (*store.Attempt, error) {
	var slot, number, token, started, ended sql.NullInt64
	var instance, reason, status, text sql.NullString
	var handedOver sql.NullBool
	err := rows.Scan(now, &slot, &number, &token, &instance, &reason, &status, &handedOver, &started, &ended, &text)
	if err != nil || !slot.Valid {
		return nil, err
	}
	a := &store.Attempt{
		Slot: slot.Int64, Attempt: int(number.Int64), Token: store.Token(token.Int64), Instance: instance.String,
		HandedOver: handedOver.Bool, StartedAt: started.Int64, EndedAt: ended.Int64, Error: text.String,
	}
	return a, errors.Join(parse(&a.Reason, reason.String), parse(&a.Status, status.String))
}
