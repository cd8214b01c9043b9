package sqlitestore

import (
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// decideClaim judges a claim by the rules of docs/protocol.md, in their order.
//
// idOwner is another job in which the claim id is remembered, empty if there is
// none. ended is the last attempt of this run if the run ended and is still in
// the history. An error is a [store.InvalidError], and then s is unchanged.
func decideClaim(s *state, q *store.ClaimRequest, idOwner string, ended *attempt) (store.ClaimAnswer, error) {
	if err := checkClaimID(s, q, idOwner); err != nil {
		return store.ClaimAnswer{}, err
	}
	s.cutLeases()

	// Rule 1: the answer was lost. The lease is told as it is, maybe 0: a full
	// one would promise protection that the store does not give.
	if a := s.run(q.Slot); a != nil && a.open() && a.claim == q.ID {
		w := won(s, a)
		w.Fingerprint, w.Now = s.job.fingerprint, s.now
		return w, nil
	}

	before := s.job
	answer := judgeClaim(s, q, ended)
	answer.Fingerprint, answer.Now = before.fingerprint, s.now
	if s.granted() || s.inserted != nil {
		s.job.fingerprint, s.job.historySize = q.Fingerprint, q.HistorySize
		s.trimHistory()
		s.jobChanged = s.jobChanged || s.job != before
	}
	return answer, nil
}

// checkClaimID refuses an id that an unfinished run holds for another wish.
func checkClaimID(s *state, q *store.ClaimRequest, idOwner string) error {
	invalid := func(rule string) error {
		return &store.InvalidError{Field: "claim id", Value: q.ID.String(), Rule: rule}
	}
	if idOwner != "" {
		return invalid(fmt.Sprintf("a fresh one: this one was used for job %q", idOwner))
	}
	for _, a := range s.runs {
		switch {
		case a.claim != q.ID:
		case a.slot != q.Slot:
			return invalid(fmt.Sprintf("a fresh one: this one was used for slot %d of the job", a.slot))
		case a.instance != q.Instance:
			return invalid(fmt.Sprintf("a fresh one: this one was used by instance %q", a.instance))
		}
	}
	return nil
}

// judgeClaim applies rules 2 to 8.
func judgeClaim(s *state, q *store.ClaimRequest, ended *attempt) store.ClaimAnswer {
	run := s.run(q.Slot)

	// Rule 2: it ended. The newest granted slot is known for ever, so if no
	// unfinished run of it is held, it ended and its record is gone.
	switch {
	case run == nil && ended != nil:
		return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: ended.status}
	case run == nil && s.granted() && q.Slot == s.job.newest:
		return store.ClaimAnswer{Verdict: store.VerdictFinished}
	}

	// Rule 3: it is held. A newer slot does not stop a live runner.
	if run != nil && run.live(s.now) {
		return store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: run.number, Holder: run.instance, Left: run.left(s.now)}
	}

	// Rule 4: a newer slot was granted.
	if s.granted() && q.Slot < s.job.newest {
		if run != nil {
			s.closeRun(run)
		}
		return store.ClaimAnswer{Verdict: store.VerdictSuperseded, Slot: s.job.newest}
	}

	// Rule 5: lateness, of a first attempt only.
	if run == nil {
		if late := s.now - q.Slot; late > ms(q.MaxLate)+ms(store.LateTolerance) {
			return store.ClaimAnswer{Verdict: store.VerdictLate, By: span(late)}
		}
		if early := q.Slot - s.now; early > ms(q.MaxEarly) {
			return store.ClaimAnswer{Verdict: store.VerdictEarly, By: span(early)}
		}
	}

	// Rule 6: another run of the job is held, of any slot, and one of the two
	// bears no company.
	for _, a := range s.runs {
		if a != run && a.live(s.now) && (q.Overlap == store.OverlapSkip || a.overlap == store.OverlapSkip) {
			return store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: a.slot, Holder: a.instance, Left: a.left(s.now)}
		}
	}

	// Rule 7: a claim is for the attempt after the one that it names, so a late
	// copy is not granted again; and a run has so many attempts.
	switch {
	case run == nil && q.After != 0:
		return store.ClaimAnswer{Verdict: store.VerdictRunning}
	case run != nil && q.After != run.number:
		return store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: run.number, Holder: run.instance}
	case run != nil && run.counted >= run.max:
		s.closeRun(run)
		return store.ClaimAnswer{Verdict: store.VerdictExhausted, Attempt: run.counted}
	}

	return grant(s, q, run)
}

// grant is rule 8: the attempt after last, or the first of a new run if last is
// nil.
func grant(s *state, q *store.ClaimRequest, last *attempt) store.ClaimAnswer {
	a := &attempt{
		slot: q.Slot, number: 1, claim: q.ID, instance: q.Instance, reason: q.Reason, overlap: q.Overlap,
		lease: ms(q.Lease), leaseEnd: s.now + ms(q.Lease), max: q.MaxAttempts, counted: 1,
		unfinished: true, status: store.StatusRunning, startedAt: s.now,
	}
	if last != nil {
		a.number, a.max, a.counted = last.number+1, last.max, last.counted+1
		s.interrupt(last)
		last.unfinished = false
		s.change(last)
	}
	for _, older := range slices.Clone(s.runs) {
		if older.slot < a.slot && !older.live(s.now) {
			s.closeRun(older) // rule 4 bars it for ever
		}
	}
	a.token = max(s.job.lastToken+1, store.Token(s.now))
	s.inserted = a
	s.job.lastToken = a.token
	if !s.granted() || s.job.newest < a.slot {
		s.job.newest = a.slot
	}
	s.jobChanged = true
	return won(s, a)
}

func won(s *state, a *attempt) store.ClaimAnswer {
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: a.number, Token: a.token, Left: a.left(s.now)}
}
