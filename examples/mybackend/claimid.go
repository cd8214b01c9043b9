package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// A claim id that an unfinished run holds must not come for another wish, of any
// job: it could answer the one with the other's grant. So that a claim need not read
// all jobs, each held id is a symbolic link to its job's file. Links are hints: they
// are made before the file is written and removed after, so one may be left over,
// and what the file says decides.

func (f folder) link(id string) string { return filepath.Join(f.dir, id+".id") }

// holds returns the run that holds a claim id.
func (j *job) holds(id string) *run {
	for _, r := range j.Unfinished {
		if r.last().Claim == id {
			return r
		}
	}
	return nil
}

// checkID refuses a claim id that is held for another job, slot or instance.
func (f folder) checkID(j *job, q *store.ClaimRequest) error {
	id := q.ID.String()
	used := &store.InvalidError{Field: "claim id", Value: id, Rule: "a fresh one: this one is used for another job, slot or instance"}
	if r := j.holds(id); r != nil {
		if r.Slot != q.Slot || r.last().Instance != q.Instance {
			return used
		}
		return nil // this very wish
	}
	target, err := os.Readlink(f.link(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: looking a claim id up: %w", store.ErrNotApplied, err)
	}
	other, err := f.loadFile(filepath.Join(f.dir, target))
	if err == nil && other.holds(id) != nil {
		return used
	}
	return err
}

// ids are the claim ids that the job holds.
func (j *job) ids() []string {
	var ids []string
	for _, r := range j.Unfinished {
		ids = append(ids, r.last().Claim)
	}
	return ids
}

// linkIDs makes the links that a decision asks for, before it is written.
func (f folder) linkIDs(j *job, before []string) error {
	for _, id := range j.ids() {
		if slices.Contains(before, id) {
			continue
		}
		_ = os.Remove(f.link(id)) // one that was left over, if any
		if err := os.Symlink(filepath.Base(f.path(j.Name)), f.link(id)); err != nil {
			return fmt.Errorf("%w: linking a claim id: %w", store.ErrNotApplied, err)
		}
	}
	return nil
}

// unlinkIDs removes those that nobody holds any more, after it was written. What
// fails is left over.
func (f folder) unlinkIDs(j *job, before []string) {
	after := j.ids()
	for _, id := range before {
		if !slices.Contains(after, id) {
			_ = os.Remove(f.link(id))
		}
	}
}
