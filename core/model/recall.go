package model

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// Unfinished returns the runs that have begun and not ended, by slot. The job's
// name is the caller's to fill in.
func (j *Job) Unfinished(now int64) []store.UnfinishedRun {
	return j.appendUnfinished(nil, "", now)
}

func (j *Job) appendUnfinished(runs []store.UnfinishedRun, name string, now int64) []store.UnfinishedRun {
	do := j.steps()
	do.cutLeases(j, now)
	for _, r := range j.unfinished {
		if do.listed(r, now) {
			u := do.describe(j, r, now)
			u.Job = name
			runs = append(runs, u)
		}
	}
	return runs
}

func describe(j *Job, r *run, now int64) store.UnfinishedRun {
	return store.UnfinishedRun{
		Slot: r.slot, Attempt: r.last.Attempt, Open: r.open, Holder: r.last.Instance,
		Token: r.last.Token, Left: span(r.left(now)), Counted: r.counted, Newest: j.newest,
	}
}

// History returns a page of the job's attempts, newest first: by slot, then by
// attempt. An unfinished run's attempts are among them. The error is a
// [store.InvalidError]: the page is none of this model's.
func (j *Job) History(now int64, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return page(j.steps(), now, req, j.attempts)
}

// page picks the request's page from all attempts.
func page(do *steps, now int64, req store.HistoryRequest, attempts iter.Seq[*store.Attempt]) (store.HistoryAnswer, error) {
	after, err := do.parsePage(req.Page)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	page := store.HistoryAnswer{Now: now}
	for a := range do.shown(attempts) {
		if !do.precedes(after, a) {
			continue
		}
		if len(page.Attempts) == req.Limit {
			last := &page.Attempts[req.Limit-1]
			page.Next = cursor{last.Slot, last.Attempt}.String()
			break
		}
		page.Attempts = append(page.Attempts, *a)
	}
	return page, nil
}

// attempts yields all attempts held, newest first.
func (j *Job) attempts(yield func(*store.Attempt) bool) {
	u, e := len(j.unfinished)-1, len(j.ended)-1
	for u >= 0 || e >= 0 {
		var r *run
		if e < 0 || u >= 0 && j.unfinished[u].slot > j.ended[e].slot {
			r, u = j.unfinished[u], u-1
		} else {
			r, e = j.ended[e], e-1
		}
		if !yield(&r.last) {
			return
		}
		for i := len(r.earlier) - 1; i >= 0; i-- {
			if !yield(&r.earlier[i]) {
				return
			}
		}
	}
}

// cursor is the last attempt of the page before; the zero value is before all.
// Naming the place, not a count, keeps pages whole while runs come and go.
type cursor struct {
	slot    int64
	attempt int // from 1; 0 is the beginning
}

func (c cursor) precedes(a *store.Attempt) bool {
	return c.attempt == 0 || a.Slot < c.slot || a.Slot == c.slot && a.Attempt < c.attempt
}

func (c cursor) String() string { return fmt.Sprintf("%d/%d", c.slot, c.attempt) }

func parsePage(s string) (cursor, error) {
	if s == "" {
		return cursor{}, nil
	}
	slot, attempt, _ := strings.Cut(s, "/")
	var c cursor
	var err1, err2 error
	c.slot, err1 = strconv.ParseInt(slot, 10, 64)
	c.attempt, err2 = strconv.Atoi(attempt)
	if err1 != nil || err2 != nil || c.attempt < 1 || c.String() != s {
		return cursor{}, &store.InvalidError{Field: "page", Value: fmt.Sprintf("%.60q", s), Rule: "empty, or what the page before said in Next"}
	}
	return c, nil
}
