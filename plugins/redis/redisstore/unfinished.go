package redisstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Unfinished recalls the unfinished runs of the jobs, or, without names, of all
// jobs of the namespace. It first asks which jobs have such runs: they are few,
// however many jobs there are.
func (b *Backend) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if b.strategy.unfinished == nil {
		return store.UnfinishedAnswer{}, store.ErrUnsupported
	}
	if err := q.Validate(); err != nil {
		return store.UnfinishedAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.settings.callTimeout)
	defer cancel()
	words, err := b.pools.claims.one(ctx, call{script: b.scripts.open, keys: []string{b.keys.open()}})
	if err != nil {
		return store.UnfinishedAnswer{}, err
	}
	d := decoder{words: words}
	answer := store.UnfinishedAnswer{Now: d.number()}
	var jobs []string
	for d.more() {
		jobs = append(jobs, d.name())
	}
	if d.err != nil {
		return store.UnfinishedAnswer{}, strange(b.scripts.open, words)
	}
	slices.Sort(jobs)
	jobs = slices.Compact(jobs)
	if len(q.Jobs) > 0 {
		wanted := make(map[string]bool, len(q.Jobs))
		for _, name := range q.Jobs {
			wanted[name] = true
		}
		jobs = slices.DeleteFunc(jobs, func(job string) bool { return !wanted[job] })
	}
	for part := range slices.Chunk(jobs, recallJobs) {
		if err := b.appendUnfinished(ctx, &answer, part); err != nil {
			return store.UnfinishedAnswer{}, err
		}
	}
	return answer, nil
}

// recallJobs bounds the jobs of one pipeline.
const recallJobs = 256

func (b *Backend) appendUnfinished(ctx context.Context, answer *store.UnfinishedAnswer, jobs []string) error {
	calls := make([]call, len(jobs))
	for i, job := range jobs {
		calls[i] = b.strategy.call(b.strategy.unfinished, job)
	}
	for i, r := range b.pools.claims.send(ctx, calls, nil) {
		if r.err != nil {
			return r.err
		}
		runs, now, err := unfinishedRuns(jobs[i], r.words)
		if err != nil {
			return strange(b.strategy.unfinished, r.words)
		}
		answer.Runs, answer.Now = append(answer.Runs, runs...), max(answer.Now, now)
	}
	return nil
}

// unfinishedRuns reads the answer of lua/lease_unfinished.lua.
func unfinishedRuns(job string, words []string) ([]store.UnfinishedRun, int64, error) {
	d := decoder{words: words}
	now, newest := d.number(), d.number()
	var runs []store.UnfinishedRun
	for d.more() {
		runs = append(runs, store.UnfinishedRun{
			Job: job, Slot: d.number(), Attempt: d.count(), Token: store.Token(d.number()), Open: d.text() == "1",
			Holder: d.name(), Left: d.span(), Counted: d.count(), Newest: newest,
		})
	}
	slices.SortFunc(runs, func(a, b store.UnfinishedRun) int {
		return cmp.Compare(a.Slot, b.Slot)
	})
	return runs, now, d.err
}
