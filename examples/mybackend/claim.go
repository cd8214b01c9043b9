package main

import (
	"context"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Claim decides whether an instance may execute a run, in one atomic step.
func (b *Backend) Claim(ctx context.Context, q store.ClaimRequest) (answer store.ClaimAnswer, err error) {
	err = b.step(ctx, q.Job, func(j *job, now int64) error {
		if err := b.folder.checkID(j, &q); err != nil {
			return err
		}
		fingerprint := j.Fingerprint
		answer = j.claim(now, &q)
		answer.Fingerprint, answer.Now = fingerprint, now
		return nil
	})
	if err != nil {
		return store.ClaimAnswer{}, err
	}
	return answer, nil
}

// claim judges by the rules of docs/protocol.md, in their order: the first that
// applies answers. Each is there because leaving it out breaks a promise.
func (j *job) claim(now int64, q *store.ClaimRequest) store.ClaimAnswer {
	j.cutLeases(now)
	r := find(j.Unfinished, q.Slot)

	// 1. The same wish again, and its attempt is open: the answer was lost. The
	// lease is told as it is, and nothing changes.
	if r != nil && r.last().open() && r.last().Claim == q.ID.String() {
		return r.won(now)
	}

	// 2. The run ended. The newest granted slot is known for ever, so if no
	// unfinished run of it is there, it ended and its record was trimmed.
	if r == nil {
		if ended := find(j.ended, q.Slot); ended != nil {
			return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: ended.last().Status}
		}
		if j.granted() && q.Slot == j.Newest {
			return store.ClaimAnswer{Verdict: store.VerdictFinished}
		}
	}

	// 3. The run is held.
	if r != nil && r.last().live(now) {
		return r.running(now)
	}

	// 4. A newer slot was granted: this one never runs again.
	if j.granted() && q.Slot < j.Newest {
		if r != nil {
			j.end(r, now)
			j.trim()
		}
		return store.ClaimAnswer{Verdict: store.VerdictSuperseded, Slot: j.Newest}
	}

	// 5. Too late or too early, for a first attempt only.
	if late := now - q.Slot; r == nil && late > ms(q.MaxLate)+ms(store.LateTolerance) {
		return store.ClaimAnswer{Verdict: store.VerdictLate, By: span(late)}
	}
	if early := q.Slot - now; r == nil && early > ms(q.MaxEarly) {
		return store.ClaimAnswer{Verdict: store.VerdictEarly, By: span(early)}
	}

	// 6. Another run of the job is held, and one of the two bears no company.
	for _, other := range j.Unfinished {
		a := other.last()
		if other != r && a.live(now) && (q.Overlap == store.OverlapSkip || a.Overlap == store.OverlapSkip) {
			return store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: other.Slot, Holder: a.Instance, Left: a.left(now)}
		}
	}

	// 7. A claim is for the attempt after the one that it names, so that a copy
	// which arrives late is not granted again; and a run has so many attempts.
	switch {
	case r == nil && q.After != 0:
		return store.ClaimAnswer{Verdict: store.VerdictRunning}
	case r != nil && q.After != r.last().Number:
		return r.running(now)
	case r != nil && r.Counted >= r.Max:
		j.end(r, now)
		j.trim()
		return store.ClaimAnswer{Verdict: store.VerdictExhausted, Attempt: r.Counted}
	}

	// 8. Granted.
	return j.grant(r, now, q)
}

// grant is rule 8: the next attempt of r, or the first of a new run if r is nil.
func (j *job) grant(r *run, now int64, q *store.ClaimRequest) store.ClaimAnswer {
	if r == nil {
		r = &run{Slot: q.Slot, Max: q.MaxAttempts}
		j.Unfinished = insert(j.Unfinished, r)
	} else {
		r.last().interrupt(now)
	}
	for _, older := range slices.Clone(j.Unfinished) {
		if older.Slot < r.Slot && !older.last().live(now) {
			j.end(older, now) // rule 4 bars it for ever
		}
	}
	// Tokens rise for ever, and after a restore from a backup too: the clock went on.
	j.LastToken = max(j.LastToken+1, store.Token(now))
	j.Newest = r.Slot // rule 4: it is not lower
	j.HistorySize, j.Fingerprint = q.HistorySize, q.Fingerprint
	j.trim()

	r.Counted++
	r.Attempts = append(r.Attempts, &attempt{
		Number: len(r.Attempts) + 1, Token: j.LastToken, Claim: q.ID.String(), Instance: q.Instance, Reason: q.Reason,
		Overlap: q.Overlap, Lease: ms(q.Lease), LeaseEnd: now + ms(q.Lease), Status: store.StatusRunning, StartedAt: now,
	})
	return r.won(now)
}

func (r *run) won(now int64) store.ClaimAnswer {
	a := r.last()
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: a.Number, Token: a.Token, Left: a.left(now)}
}

func (r *run) running(now int64) store.ClaimAnswer {
	a := r.last()
	return store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: a.Number, Holder: a.Instance, Left: a.left(now)}
}
