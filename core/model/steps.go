package model

import (
	"iter"

	"github.com/anarchon-go/anarchon/core/store"
)

// steps are the small decisions that the rules are made of. The truth is below;
// a fault replaces one or two of them, so that the rules themselves stay free of
// switches.
type steps struct {
	// Claim.
	find            func(j *Job, slot int64) *run // among the unfinished runs
	checkID         func(j *Job, slot int64, id store.ClaimID, instance string) error
	repeated        func(j *Job, slot int64, id store.ClaimID, instance string) *run
	repeat          func(j *Job, r *run, now, lease int64) store.ClaimAnswer
	ended           func(j *Job, slot int64) (store.Status, bool)
	held            func(j *Job, r *run, now, askersLease int64) bool
	superseded      func(j *Job, slot int64) bool
	closeSuperseded func(j *Job, r *run, now int64)
	late            func(now, slot, maxLate int64, r *run) bool
	early           func(now, slot, maxEarly, maxLate int64, r *run) bool
	inTheWay        func(j *Job, other, r *run, now, askersLease int64, skip bool) bool
	follows         func(r *run, after int) bool
	exhausted       func(r *run, askersMax int) bool
	closeExhausted  func(j *Job, r *run, now int64)
	endPrevious     func(r *run, now int64)
	closeOlder      func(j *Job, slot, now int64)
	nextAttempt     func(r *run) int
	token           func(j *Job, now int64, attempt int) store.Token
	historySize     func(j *Job, asked int) int

	// Leases.
	leaseEnd  func(now, lease, slot int64) int64
	cutLeases func(j *Job, now int64)
	renewable func(j *Job, slot int64, token store.Token, now int64) *run
	renew     func(r *run, now, end, lease int64)

	// Finish.
	attempt  func(j *Job, slot int64, token store.Token) (*run, *store.Attempt)
	isOpen   func(r *run, a *store.Attempt, now int64) bool
	endsAs   func(j *Job, r *run, a *store.Attempt, o store.Outcome) bool
	handOver func(j *Job, r *run, now int64)
	cutError func(s string) string
	trim     func(j *Job)

	// Recall.
	listed    func(r *run, now int64) bool
	describe  func(j *Job, r *run, now int64) store.UnfinishedRun
	shown     func(newestFirst iter.Seq[*store.Attempt]) iter.Seq[*store.Attempt]
	parsePage func(s string) (cursor, error)
	precedes  func(c cursor, a *store.Attempt) bool
}

var truth = steps{
	find:       func(j *Job, slot int64) *run { return find(j.unfinished, slot) },
	checkID:    checkID,
	repeated:   repeated,
	repeat:     func(_ *Job, r *run, now, _ int64) store.ClaimAnswer { return won(r, now) },
	ended:      ended,
	held:       func(_ *Job, r *run, now, _ int64) bool { return r.live(now) },
	superseded: func(j *Job, slot int64) bool { return j.granted && slot < j.newest },

	closeSuperseded: (*Job).close,
	late: func(now, slot, maxLate int64, r *run) bool {
		return r == nil && now-slot > maxLate+lateToleranceMs
	},
	early: func(now, slot, maxEarly, _ int64, r *run) bool {
		return r == nil && slot-now > maxEarly
	},
	inTheWay: func(_ *Job, other, _ *run, now, _ int64, skip bool) bool {
		return other.live(now) && (skip || other.skip)
	},
	follows: func(r *run, after int) bool { return after == lastAttempt(r) },
	exhausted: func(r *run, _ int) bool {
		return r.counted >= r.max
	},
	closeExhausted: (*Job).close,
	endPrevious:    (*run).interrupt,
	closeOlder:     closeOlder,
	nextAttempt:    func(r *run) int { return r.last.Attempt + 1 },
	token: func(j *Job, now int64, _ int) store.Token {
		return max(j.lastToken+1, store.Token(now))
	},
	historySize: func(_ *Job, asked int) int { return asked },

	leaseEnd:  func(now, lease, _ int64) int64 { return now + lease },
	cutLeases: cutLeases,
	renewable: renewableRun,
	renew:     renew,

	attempt:  findAttempt,
	isOpen:   func(r *run, a *store.Attempt, _ int64) bool { return r.open && a == &r.last },
	endsAs:   endsAs,
	handOver: handOver,
	cutError: store.CutError,
	trim:     trim,

	listed:    func(*run, int64) bool { return true },
	describe:  describe,
	shown:     func(all iter.Seq[*store.Attempt]) iter.Seq[*store.Attempt] { return all },
	parsePage: parsePage,
	precedes:  cursor.precedes,
}

// live reports whether the lease protects the run now.
func (r *run) live(now int64) bool { return r.open && now < r.end }

func lastAttempt(r *run) int {
	if r == nil {
		return 0
	}
	return r.last.Attempt
}

// checkID refuses an id that is remembered for another slot or instance.
func checkID(j *Job, slot int64, id store.ClaimID, instance string) error {
	for _, r := range j.unfinished {
		switch {
		case r.id != id:
		case r.slot != slot:
			return invalidID(id, "a fresh one: this one was used for another slot of the job")
		case r.last.Instance != instance:
			return invalidID(id, "a fresh one: this one was used by another instance")
		}
	}
	return nil
}

// repeated returns the run whose open attempt was granted to this claim id.
func repeated(j *Job, slot int64, id store.ClaimID, _ string) *run {
	if r := find(j.unfinished, slot); r != nil && r.open && r.id == id {
		return r
	}
	return nil
}

// ended reports whether a run that is not unfinished ended, and how if that is
// remembered.
func ended(j *Job, slot int64) (store.Status, bool) {
	if r := find(j.ended, slot); r != nil {
		return r.last.Status, true
	}
	return 0, j.granted && slot == j.newest
}

func closeOlder(j *Job, slot, now int64) {
	for i := 0; i < len(j.unfinished); {
		if r := j.unfinished[i]; r.slot < slot && !r.live(now) {
			j.close(r, now)
		} else {
			i++
		}
	}
}

// cutLeases shortens a lease that has more left than its length: the store's
// clock went back, and it must not protect a dead runner until it caught up.
func cutLeases(j *Job, now int64) {
	for _, r := range j.unfinished {
		r.end = min(r.end, now+r.length)
	}
}

// trim drops the oldest slots of the history. The newest ended run stays, since
// the size is at least 1; unfinished runs are not here.
func trim(j *Job) {
	if n := len(j.ended) - j.historySize; n > 0 {
		j.ended = j.ended[n:]
	}
}
