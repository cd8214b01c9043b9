package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// Unfinished recalls the runs that began and did not end, of the jobs named or of
// all. It changes nothing, so it takes no lock.
func (b *Backend) Unfinished(_ context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	answer := store.UnfinishedAnswer{Now: b.now()}
	err := b.folder.heads(func(j *job) error {
		if len(q.Jobs) > 0 && !slices.Contains(q.Jobs, j.Name) {
			return nil
		}
		j.cutLeases(answer.Now)
		for _, r := range j.Unfinished {
			answer.Runs = append(answer.Runs, unfinished(j, r, answer.Now))
		}
		return nil
	})
	if err != nil {
		return store.UnfinishedAnswer{}, err
	}
	slices.SortFunc(answer.Runs, func(x, y store.UnfinishedRun) int {
		return cmp.Or(strings.Compare(x.Job, y.Job), cmp.Compare(x.Slot, y.Slot))
	})
	return answer, nil
}

func unfinished(j *job, r *run, now int64) store.UnfinishedRun {
	a := r.last()
	return store.UnfinishedRun{
		Job: j.Name, Slot: r.Slot, Attempt: a.Number, Open: a.open(), Holder: a.Instance, Token: a.Token,
		Left: a.left(now), Counted: r.Counted, Newest: j.Newest,
	}
}

// History recalls a page of a job's attempts, newest first. A page begins after a
// place, not after a count, so that runs which come and go don't shift it.
func (b *Backend) History(_ context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	after, err := parsePage(q.Page)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	j, err := b.folder.load(q.Job)
	if err != nil {
		return store.HistoryAnswer{}, err
	}
	answer := store.HistoryAnswer{Now: b.now()}
	runs := slices.Concat(j.ended, j.Unfinished)
	slices.SortFunc(runs, func(x, y *run) int { return cmp.Compare(y.Slot, x.Slot) })
	for _, r := range runs {
		for _, a := range slices.Backward(r.Attempts) {
			if q.Page != "" && after.compare(place{r.Slot, a.Number}) <= 0 {
				continue
			}
			if n := len(answer.Attempts); n == q.Limit {
				last := &answer.Attempts[n-1]
				answer.Next = place{last.Slot, last.Attempt}.String()
				return answer, nil
			}
			answer.Attempts = append(answer.Attempts, store.Attempt{
				Slot: r.Slot, Attempt: a.Number, Token: a.Token, Instance: a.Instance, Reason: a.Reason, Status: a.Status,
				HandedOver: a.HandedOver, StartedAt: a.StartedAt, EndedAt: a.EndedAt, Error: a.Error,
			})
		}
	}
	return answer, nil
}

// place is the last attempt of a page. Its text is this plugin's own.
type place struct {
	slot    int64
	attempt int
}

// compare orders places as history is listed, turned around: older is less.
func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.slot, o.slot), cmp.Compare(p.attempt, o.attempt))
}

func (p place) String() string { return fmt.Sprintf("%d.%d", p.slot, p.attempt) }

func parsePage(text string) (place, error) {
	var p place
	if text == "" {
		return p, nil
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &p.slot, &p.attempt); err != nil || p.String() != text {
		return p, &store.InvalidError{Field: "page", Value: fmt.Sprintf("%.60q", text), Rule: "empty, or what the page before said in Next"}
	}
	return p, nil
}
