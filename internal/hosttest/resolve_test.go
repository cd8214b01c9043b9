package hosttest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// resolve concludes for each call without an answer if, and when, it took effect:
// from the store's history, which has the times of every grant and end, and from
// the leases that others were told of. Of a heartbeat and a claim that left no such
// trace it concludes when they may have: a claim that was refused may have closed a
// run that had been handed over. What can't be explained by any call is an error: then
// the store did something that nobody asked for, or a call that was said to be
// surely not applied was applied.
func resolve(ops []*op, history []store.Attempt) ([]*op, error) {
	var faults []error
	for _, a := range history {
		if err := explainGrant(ops, a); err != nil {
			faults = append(faults, err)
		}
	}
	for _, a := range history {
		if err := explainEnd(ops, a); err != nil {
			faults = append(faults, err)
		}
	}
	for _, a := range history {
		explainLeases(ops, a)
	}
	for _, o := range ops {
		switch {
		case !o.open() || o.finish != nil:
		case o.beat != nil:
			o.maybe = renewals(ops, o)
		default:
			o.maybe = append(o.maybe, refusals(ops, o)...)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return !o.answered() && o.at == 0 && len(o.maybe) == 0 })
	return kept, errors.Join(faults...)
}

// refusals are the times at which a claim may have been refused: one for each place
// among the other calls.
func refusals(ops []*op, claim *op) []int64 {
	times := []int64{claim.called}
	for _, o := range ops {
		if o.at > claim.called && o.at <= claim.last {
			times = append(times, o.at)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// renewals are the times at which a heartbeat may have renewed a lease: one for
// each difference that it can have made to another call.
func renewals(ops []*op, beat *op) []int64 {
	lease := beat.beat.Lease.Milliseconds()
	times := []int64{beat.called}
	for _, o := range ops {
		// Not over yet at that call, or over when that call was told.
		for _, end := range []int64{o.at + 1, o.at + o.won.Left.Milliseconds()} {
			if t := end - lease; o.at != 0 && t > beat.called && t <= beat.last {
				times = append(times, t)
			}
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// open calls are those without an answer that were not yet found to have had an
// effect.
func (o *op) open() bool { return store.IsUnknown(o.err) && o.at == 0 }

// explainGrant finds the call that was granted an attempt. Each wish has an
// instance name of its own.
func explainGrant(ops []*op, a store.Attempt) error {
	asked := func(o *op) bool { return o.claim != nil && o.claim.Instance == a.Instance }
	for _, o := range ops {
		if asked(o) && o.answered() && o.won.Verdict == store.VerdictWon && o.at == a.StartedAt {
			orBefore(ops, a.StartedAt, asked)
			return nil
		}
	}
	if o := earliest(ops, a.StartedAt, asked); o != nil {
		o.at, o.won.Verdict = a.StartedAt, store.VerdictWon
		return nil
	}
	return fmt.Errorf("attempt %d of slot %d was granted to %s at %d: none of its claims can have been", a.Attempt, a.Slot, a.Instance, a.StartedAt)
}

// orBefore notes of open calls that they, too, may have done what an answered one
// is found to have done: in the same millisecond, so that the answer was that to a
// repeat.
func orBefore(ops []*op, at int64, is func(*op) bool) {
	for _, o := range ops {
		if o.open() && is(o) && o.called-clockSlack <= at {
			o.maybe = []int64{at}
		}
	}
}

// explainEnd finds the call that ended an attempt: its own finish, or, of an
// interrupted one, a claim.
func explainEnd(ops []*op, a store.Attempt) error {
	if a.EndedAt == 0 {
		return nil
	}
	finishes := func(o *op) bool {
		return o.finish != nil && o.slot == a.Slot && o.finish.Token == a.Token && o.finish.Outcome.Status() == a.Status &&
			a.HandedOver == (o.finish.Outcome == store.OutcomeReleased)
	}
	closed := a.Status == store.StatusInterrupted && !a.HandedOver
	closes := func(o *op) bool { // a grant, or a refusal that closes the run
		if !closed || o.claim == nil {
			return false
		}
		switch o.won.Verdict {
		case store.VerdictWon:
			return true
		case store.VerdictSuperseded, store.VerdictExhausted, 0: // 0: not known
			return o.slot == a.Slot
		}
		return false
	}
	for _, o := range ops {
		if o.at == a.EndedAt && (finishes(o) || closes(o)) {
			orBefore(ops, a.EndedAt, finishes)
			return nil
		}
	}
	o := earliest(ops, a.EndedAt, finishes)
	if o == nil {
		o = earliest(ops, a.EndedAt, closes)
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
		o := earliest(ops, 0, func(o *op) bool {
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

// earliest returns the open call that was made first, before the store's clock
// stood at a time (0: any) and for which is holds. A later one may have done it as
// well; taking the first excludes no order of the calls.
func earliest(ops []*op, at int64, is func(*op) bool) *op {
	var found *op
	for _, o := range ops {
		if o.open() && is(o) && (at == 0 || o.called-clockSlack <= at) && (found == nil || o.call < found.call) {
			found = o
		}
	}
	return found
}
