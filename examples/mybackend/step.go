package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// step is the atomic step that every deciding verb is: under the lock, read the
// job, read the clock, decide, and replace the job's file if the decision changed
// it. decide is pure apart from the job that it changes; its error ends the step
// and nothing is written.
//
// If the process is killed before the rename in write nothing has happened, and
// after it everything has; the lock is free in both cases.
func (b *Backend) step(ctx context.Context, name string, decide func(j *job, now int64) error) error {
	unlock, err := lock(ctx, b.folder.dir)
	if err != nil {
		return err
	}
	defer unlock()
	j, err := b.folder.load(name)
	if err != nil {
		return err
	}
	before, err := j.encode()
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrNotApplied, err)
	}
	ids := j.ids()
	// Only now: a clock read before the lock would be as old as the wait for it.
	if err := decide(j, b.now()); err != nil {
		return err
	}
	after, err := j.encode()
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrNotApplied, err)
	}
	if bytes.Equal(before, after) {
		return nil
	}
	if err := b.folder.linkIDs(j, ids); err != nil {
		return err
	}
	if err := write(b.folder.path(name), after); err != nil {
		return err
	}
	b.folder.unlinkIDs(j, ids)
	return nil
}
