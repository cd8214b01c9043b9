package model

import "github.com/anarchon-go/anarchon/core/store"

// Claim decides whether the request's instance may execute the run, by the
// rules 1 to 8 in this order. The error is a [store.InvalidError]: the claim
// id belongs to another slot or instance; nothing changed.
func (j *Job) Claim(now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	do := j.steps()
	if err := do.checkID(j, req.Slot, req.ID, req.Instance); err != nil {
		return store.ClaimAnswer{}, err
	}
	do.cutLeases(j, now)

	// 1. (R-CLAIM-2) The same wish again, and its attempt is still open: the
	// answer was lost, or a copy arrived late. The lease is told as it is, maybe
	// 0, because a full one would promise protection that the store does not give.
	if r := do.repeated(j, req.Slot, req.ID, req.Instance); r != nil {
		a := do.repeat(j, r, now, ms(req.Lease))
		a.Fingerprint, a.Now = j.fingerprint, now
		return a, nil
	}

	a := j.judge(do, now, &req)
	a.Fingerprint, a.Now = j.fingerprint, now
	if j.granted {
		j.fingerprint = req.Fingerprint
		j.historySize = do.historySize(j, req.HistorySize)
		do.trim(j)
	}
	return a, nil
}

// ClaimSeen is Claim for a checker that saw a store grant this token: a store may
// hand out greater tokens than rule 8 asks for. A grant's token is the one seen,
// or, if the rules do not allow it, the least that they allow.
func (j *Job) ClaimSeen(now int64, req store.ClaimRequest, token store.Token) (store.ClaimAnswer, error) {
	j.leastToken = token
	defer func() { j.leastToken = 0 }()
	return j.Claim(now, req)
}

// judge applies rules 2 to 8.
func (j *Job) judge(do *steps, now int64, req *store.ClaimRequest) store.ClaimAnswer {
	slot, lease, skip := req.Slot, ms(req.Lease), req.Overlap == store.OverlapSkip
	r := do.find(j, slot)

	// 2. (R-CLAIM-4) The run ended. The newest granted slot is known to have been
	// granted for ever, so a run of it that is not held ended too: its record was
	// trimmed or lost.
	if r == nil {
		if status, ended := do.ended(j, slot); ended {
			return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: status}
		}
	}

	// 3. (R-CLAIM-5) The run is held. This comes before rule 4: a newer slot does
	// not stop a live runner.
	if r != nil && do.held(j, r, now, lease) {
		return store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: r.last.Attempt, Holder: r.last.Instance, Left: span(r.left(now))}
	}

	// 4. (R-CLAIM-6) A newer slot was granted: a stale run after it helps nobody.
	// What is left of this one is closed, or it would read unfinished for ever.
	if do.superseded(j, slot) {
		if r != nil {
			do.closeSuperseded(j, r, now)
		}
		return store.ClaimAnswer{Verdict: store.VerdictSuperseded, Slot: j.newest}
	}

	// 5. (R-LATE-1 to 3) Lateness is asked of a first attempt only: a run that has
	// begun must be able to go on, however long ago it was due.
	if do.late(now, slot, ms(req.MaxLate), r) {
		return store.ClaimAnswer{Verdict: store.VerdictLate, By: span(now - slot)}
	}
	if do.early(now, slot, ms(req.MaxEarly), ms(req.MaxLate), r) {
		return store.ClaimAnswer{Verdict: store.VerdictEarly, By: span(slot - now)}
	}

	// 6. (R-OVERLAP-1 to 3) Another run of the job is held, and one of the two
	// said skip. Any slot: an older one may run longer than a newer one.
	for _, other := range j.unfinished {
		if other != r && do.inTheWay(j, other, r, now, lease, skip) {
			return store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: other.slot, Holder: other.last.Instance, Left: span(other.left(now))}
		}
	}

	// 7. (R-CLAIM-7, R-CLAIM-10) A claim is made for one attempt: it names the one
	// it follows. So a copy that arrives late, when that attempt was granted and
	// lost already, is not granted again.
	if !do.follows(r, req.After) {
		a := store.ClaimAnswer{Verdict: store.VerdictRunning}
		if r != nil {
			a.Attempt, a.Holder = r.last.Attempt, r.last.Instance
		}
		return a
	}
	if r != nil && do.exhausted(r, req.MaxAttempts) {
		do.closeExhausted(j, r, now)
		return store.ClaimAnswer{Verdict: store.VerdictExhausted, Attempt: r.counted}
	}

	// 8. (R-CLAIM-8, R-CLAIM-9) Granted.
	return j.grant(do, r, now, req)
}

// grant is rule 8: the next attempt of r, or the first of a new run if r is nil.
func (j *Job) grant(do *steps, r *run, now int64, req *store.ClaimRequest) store.ClaimAnswer {
	if r == nil {
		r = &run{slot: req.Slot, max: req.MaxAttempts}
		j.unfinished = insert(j.unfinished, r)
	} else {
		do.endPrevious(r, now)
		r.earlier = append(r.earlier, r.last)
	}
	// The older runs can't be granted any more (rule 4). One that is still held
	// may yet finish.
	do.closeOlder(j, r.slot, now)

	lease := ms(req.Lease)
	attempt := do.nextAttempt(r)
	token := max(do.token(j, now, attempt), j.leastToken)
	r.counted++
	r.id, r.open, r.skip = req.ID, true, req.Overlap == store.OverlapSkip
	r.end, r.length = do.leaseEnd(now, lease, r.slot), lease
	r.last = store.Attempt{
		Slot: r.slot, Attempt: attempt, Token: token, Instance: req.Instance, Reason: req.Reason,
		Status: store.StatusRunning, StartedAt: now,
	}
	if !j.granted || j.newest < r.slot {
		j.granted, j.newest = true, r.slot
	}
	j.lastToken = max(j.lastToken, token)
	return won(r, now)
}

func won(r *run, now int64) store.ClaimAnswer {
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: r.last.Attempt, Token: r.last.Token, Left: span(r.left(now))}
}

var lateToleranceMs = ms(store.LateTolerance)

// invalidID says how a claim id was misused.
func invalidID(id store.ClaimID, rule string) error {
	return &store.InvalidError{Field: "claim id", Value: id.String(), Rule: rule}
}
