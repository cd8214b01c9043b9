package model

import (
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// idIndex finds the job that a claim id was granted to, so that it can be
// refused with another one. Entries of ids that no job remembers any more are
// swept when the index has doubled.
type idIndex struct {
	of      map[store.ClaimID]jobKey
	sweepAt int
}

// owner returns the job that remembers the id, if it is another job than key of
// the same namespace.
func (x *idIndex) owner(id store.ClaimID, key jobKey, jobs map[jobKey]rules) (string, bool) {
	used, found := x.of[id]
	if !found || used == key || used.namespace != key.namespace || !holds(jobs[used], id) {
		return "", false
	}
	return used.job, true
}

func (x *idIndex) add(id store.ClaimID, key jobKey, jobs map[jobKey]rules) {
	if x.of == nil {
		x.of = map[store.ClaimID]jobKey{}
	}
	x.of[id] = key
	if len(x.of) <= x.sweepAt {
		return
	}
	for id, key := range x.of {
		if !holds(jobs[key], id) {
			delete(x.of, id)
		}
	}
	x.sweepAt = max(1024, 2*len(x.of))
}

func (j *Job) used() bool { return j.granted }

// holds reports whether a job remembers the id: it is that of the last attempt
// of an unfinished run.
func holds(r rules, id store.ClaimID) bool {
	j, ok := r.(*Job)
	return ok && slices.ContainsFunc(j.unfinished, func(r *run) bool { return r.id == id })
}
