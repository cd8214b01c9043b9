package sqlitestore

import (
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// state is one job in the middle of one atomic step: what was read, and what
// the decision changed. It does no I/O; load.go fills it and save.go writes what
// changed.
type state struct {
	now  int64 // the store's clock, read inside the step
	job  job
	runs []*attempt // last attempts of the unfinished runs, by slot

	jobChanged bool
	inserted   *attempt
	updated    []*attempt
	trim       int // oldest ended runs to drop
}

func (s *state) granted() bool { return s.job.id != 0 }

// run returns the last attempt of an unfinished run, or nil.
func (s *state) run(slot int64) *attempt {
	for _, a := range s.runs {
		if a.slot == slot {
			return a
		}
	}
	return nil
}

// change notes that the attempt must be written.
func (s *state) change(a *attempt) {
	if !slices.Contains(s.updated, a) {
		s.updated = append(s.updated, a)
	}
}

// cutLeases shortens each lease that has more left than its length: the store's
// clock went back, and a dead runner must not stay protected until it caught up.
func (s *state) cutLeases() {
	for _, a := range s.runs {
		if a.open() && a.leaseEnd > s.now+a.lease {
			a.leaseEnd = s.now + a.lease
			s.change(a)
		}
	}
}

// interrupt records an open attempt as interrupted. One that was handed over
// stays so.
func (s *state) interrupt(a *attempt) {
	if a.open() {
		a.status, a.endedAt = store.StatusInterrupted, s.now
		s.change(a)
	}
}

// closeRun ends a run that is never granted again.
func (s *state) closeRun(a *attempt) {
	s.interrupt(a)
	s.endRun(a)
}

// endRun moves a run to the history.
func (s *state) endRun(a *attempt) {
	a.unfinished = false
	s.change(a)
	s.runs = slices.DeleteFunc(s.runs, func(b *attempt) bool { return b == a })
	s.job.ended++
	s.jobChanged = true
}

// trimHistory drops the oldest ended runs beyond the history's size.
func (s *state) trimHistory() {
	if n := s.job.ended - s.job.historySize; n > 0 {
		s.trim += n
		s.job.ended = s.job.historySize
		s.jobChanged = true
	}
}
