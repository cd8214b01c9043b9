package model

import (
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// idIndex finds the job of a namespace that a claim id was granted to, so that it
// can be refused with another one. Entries of ids that no job remembers any more
// are swept when the index has doubled.
type idIndex struct {
	of      map[ownID]string // the job's name
	sweepAt int
}

// ownID is a claim id in its namespace: they don't see each other's.
type ownID struct {
	namespace string
	id        store.ClaimID
}

func (x *idIndex) add(id store.ClaimID, key jobKey, jobs map[jobKey]rules) {
	if x.of == nil {
		x.of = map[ownID]string{}
	}
	x.of[ownID{key.namespace, id}] = key.job
	if len(x.of) <= x.sweepAt {
		return
	}
	for own, job := range x.of {
		if !remembers(jobs[jobKey{own.namespace, job}], own.id) {
			delete(x.of, own)
		}
	}
	x.sweepAt = max(1024, 2*len(x.of))
}

// checkJob refuses an id that another job of the namespace remembers
// (R-CLAIM-3); a job checks its own slots and instances itself.
func checkJob(s *Store, key jobKey, id store.ClaimID) error {
	used, found := s.ids.of[ownID{key.namespace, id}]
	if !found || used == key.job || !remembers(s.jobs[jobKey{key.namespace, used}], id) {
		return nil
	}
	return invalidID(id, fmt.Sprintf("a fresh one: this one was used for job %q", used))
}

// remembers reports whether the id is that of the last attempt of an unfinished
// run.
func remembers(r rules, id store.ClaimID) bool {
	j, ok := r.(*Job)
	return ok && slices.ContainsFunc(j.unfinished, func(r *run) bool { return r.id == id })
}
