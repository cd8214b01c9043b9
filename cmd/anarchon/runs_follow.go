package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// attemptKey names an attempt in a store.
type attemptKey struct {
	job     string
	slot    int64
	attempt int
}

// watch shows each attempt when it begins and when it ends, until ctx is done. Without
// names it watches the jobs that have unfinished runs, from when it sees the first.
func (o runsOptions) watch(ctx context.Context, out io.Writer, s store.Store, d store.Description) error {
	if len(o.jobs) == 0 && d.Kind != store.KindLease {
		return usageError{errors.New("a claim-only backend does not list unfinished runs; name the jobs to follow")}
	}
	jobs := slices.Clone(o.jobs)
	seen := map[attemptKey]store.Status{}
	tick := time.NewTicker(o.pause)
	defer tick.Stop()
	worked, failing := false, false
	for {
		err := o.look(ctx, out, s, d, &jobs, seen)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !worked:
			return err
		case err != nil && !failing:
			fmt.Fprintln(os.Stderr, "anarchon: still trying:", err)
		}
		failing, worked = err != nil, true
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look shows what changed since the look before, oldest first.
func (o runsOptions) look(ctx context.Context, out io.Writer, s store.Store, d store.Description, jobs *[]string, seen map[attemptKey]store.Status) error {
	if len(o.jobs) == 0 {
		ans, err := s.Unfinished(ctx, store.UnfinishedRequest{})
		if err != nil {
			return fmt.Errorf("unfinished runs: %w", err)
		}
		for _, r := range ans.Runs {
			if !slices.Contains(*jobs, r.Job) {
				*jobs = append(*jobs, r.Job)
			}
		}
	}
	for _, job := range *jobs {
		attempts, err := attemptsOf(ctx, s, job, o.limit)
		if err != nil {
			return err
		}
		for _, a := range slices.Backward(attempts) {
			key := attemptKey{job, a.Slot, a.Attempt}
			if seen[key] == a.Status {
				continue
			}
			seen[key] = a.Status
			if err := o.printChange(out, job, a); err != nil {
				return err
			}
		}
		forget(seen, job, attempts, o.limit)
	}
	return nil
}

// forget drops what is older than what was read, so that a follower that runs for
// months does not grow.
func forget(seen map[attemptKey]store.Status, job string, read []store.Attempt, limit int) {
	if len(read) < limit {
		return
	}
	oldest := read[len(read)-1].Slot
	for key := range seen {
		if key.job == job && key.slot < oldest {
			delete(seen, key)
		}
	}
}

func (o runsOptions) printChange(out io.Writer, job string, a store.Attempt) error {
	if o.json {
		return json.NewEncoder(out).Encode(jsonOfAttempt(job, a))
	}
	line := fmt.Sprintf("%s  %s  slot %s, attempt %d on %s, %s", when(max(a.StartedAt, a.EndedAt), o.loc), plain(job), when(a.Slot, o.loc), a.Attempt, cell(a.Instance, 40), statusText(a))
	if a.Status == store.StatusRunning && a.Reason != store.ReasonScheduled {
		line += fmt.Sprintf(" (%s)", a.Reason)
	}
	if took := tookText(a); took != "" {
		line += " after " + took
	}
	if a.Error != "" {
		line += ": " + cell(a.Error, 200)
	}
	_, err := fmt.Fprintln(out, line)
	return err
}
