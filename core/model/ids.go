package model

import (
	"fmt"
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

func (x *idIndex) add(id store.ClaimID, key jobKey, jobs map[jobKey]rules) {
	if x.of == nil {
		x.of = map[store.ClaimID]jobKey{}
	}
	x.of[id] = key
	if len(x.of) <= x.sweepAt {
		return
	}
	for id, key := range x.of {
		if !remembers(jobs[key], id) {
			delete(x.of, id)
		}
	}
	x.sweepAt = max(1024, 2*len(x.of))
}

// checkJob refuses an id that another job of the namespace remembers
// (R-CLAIM-3); a job checks its own slots and instances itself.
func checkJob(s *Store, key jobKey, id store.ClaimID) error {
	used, found := s.ids.of[id]
	if !found || used == key || used.namespace != key.namespace || !remembers(s.jobs[used], id) {
		return nil
	}
	return invalidID(id, fmt.Sprintf("a fresh one: this one was used for job %q", used.job))
}

// remembers reports whether the id is that of the last attempt of an unfinished
// run.
func remembers(r rules, id store.ClaimID) bool {
	j, ok := r.(*Job)
	return ok && slices.ContainsFunc(j.unfinished, func(r *run) bool { return r.id == id })
}
