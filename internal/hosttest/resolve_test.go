package hosttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// resolve concludes for each call without an answer if, and when, it took effect:
// from the store's history, which has the times of every grant and end, and from
// the leases that others were told of. What can't be explained by any call is an
// error: then the store did something that nobody asked for, or a call that was
// said to be surely not applied was applied.
func resolve(ops []*op, history []store.Attempt) ([]*op, error) {
	var faults []error
	for _, a := range history {
		if err := explainGrant(ops, a); err != nil {
			faults = append(faults, err)
		}
		if err := explainEnd(ops, a); err != nil {
			faults = append(faults, err)
		}
	}
	for _, a := range history {
		explainLeases(ops, a)
	}
	kept := slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return !o.answered() && o.at == 0 })
	return kept, errors.Join(faults...)
}

// open calls are those without an answer that were not yet found to have had an
// effect.
func (o *op) open() bool { return store.IsUnknown(o.err) && o.at == 0 }

// explainGrant finds the call that was granted an attempt. Each wish has an
// instance name of its own.
func explainGrant(ops []*op, a store.Attempt) error {
	for _, o := range ops {
		if o.claim != nil && o.answered() && o.claim.Instance == a.Instance && o.at == a.StartedAt {
			return nil
		}
	}
	if o := latest(ops, a.StartedAt, func(o *op) bool { return o.claim != nil && o.claim.Instance == a.Instance }); o != nil {
		o.at = a.StartedAt
		return nil
	}
	return fmt.Errorf("attempt %d of slot %d was granted to %s at %d: none of its claims can have been", a.Attempt, a.Slot, a.Instance, a.StartedAt)
}

// explainEnd finds the call that ended an attempt: its own finish, or, of an
// interrupted one, a claim.
func explainEnd(ops []*op, a store.Attempt) error {
	if a.EndedAt == 0 {
		return nil
	}
	for _, o := range ops {
		ends := o.beat == nil && o.at == a.EndedAt && (o.finish == nil || o.finish.Token == a.Token)
		if ends {
			return nil
		}
	}
	finishes := func(o *op) bool {
		return o.finish != nil && o.slot == a.Slot && o.finish.Token == a.Token && o.finish.Outcome.Status() == a.Status
	}
	o := latest(ops, a.EndedAt, finishes)
	if o == nil && a.Status == store.StatusInterrupted && !a.HandedOver {
		o = latest(ops, a.EndedAt, func(o *op) bool { return o.claim != nil && o.slot == a.Slot })
	}
	if o == nil {
		return fmt.Errorf("attempt %d of slot %d ended at %d as %v: no call can have done that", a.Attempt, a.Slot, a.EndedAt, a.Status)
	}
	o.at = a.EndedAt
	return nil
}

// explainLeases finds the heartbeats without an answer that lengthened a lease: a
// lease that others saw ends where its grant or one of its renewals put it.
func explainLeases(ops []*op, a store.Attempt) {
	var seen []int64
	put := map[int64]bool{}
	for _, o := range ops {
		switch {
		case o.beat != nil && o.beat.Token == a.Token && o.renewed:
			put[o.at+o.beat.Lease.Milliseconds()] = true
		case o.claim != nil && o.claim.Instance == a.Instance && o.at == a.StartedAt:
			put[o.at+o.claim.Lease.Milliseconds()] = true
		}
		if o.claim == nil || !o.answered() || o.won.Left == 0 {
			continue
		}
		of := o.slot
		if o.won.Verdict == store.VerdictOverlap {
			of = o.won.Slot
		}
		own := o.won.Verdict == store.VerdictWon && o.won.Token == a.Token
		if of == a.Slot && (own || o.won.Holder == a.Instance) {
			seen = append(seen, o.at+o.won.Left.Milliseconds())
		}
	}
	slices.Sort(seen)
	for _, end := range slices.Compact(seen) {
		if put[end] {
			continue
		}
		o := latest(ops, 0, func(o *op) bool {
			return o.beat != nil && o.beat.Token == a.Token && o.called-clockSlack <= end-o.beat.Lease.Milliseconds()
		})
		if o != nil { // else the model will not agree
			o.at = end - o.beat.Lease.Milliseconds()
		}
	}
}

// clockSlack is how far the store's clock, of this machine, may be from the
// caller's reading of it, in milliseconds: both are cut to whole ones.
const clockSlack = 2

// latest returns the open call that was made last, before the store's clock stood
// at a time (0: any) and for which is holds.
func latest(ops []*op, at int64, is func(*op) bool) *op {
	var found *op
	for _, o := range ops {
		if o.open() && is(o) && (at == 0 || o.called-clockSlack <= at) && (found == nil || o.call > found.call) {
			found = o
		}
	}
	return found
}
