package model

import "github.com/anarchon-go/anarchon/core/store"

// Finish ends an attempt or hands it over. It is judged by the record of the
// attempt that the token was granted to, whatever came after: open, it is
// recorded; ended with the same outcome already, it is recorded and nothing
// changes, since the answer may have been lost; else, or if the record was
// trimmed, it is lost.
func (j *Job) Finish(now int64, req store.FinishRequest) store.FinishAnswer {
	do := j.steps()
	do.cutLeases(j, now)
	r, a := do.attempt(j, req.Slot, req.Token)
	switch {
	case a == nil:
		return store.FinishAnswer{Now: now}
	case !do.isOpen(r, a, now):
		return store.FinishAnswer{Recorded: do.endsAs(j, r, a, req.Outcome), Now: now}
	}
	a.Status, a.EndedAt, a.Error = req.Outcome.Status(), now, do.cutError(req.Error)
	if req.Outcome == store.OutcomeReleased {
		do.handOver(j, r, now)
	} else {
		j.endRun(r)
		do.trim(j)
	}
	return store.FinishAnswer{Recorded: true, Now: now}
}

// handOver gives the lease back: the run stays unfinished, and the attempt does
// not count.
func handOver(_ *Job, r *run, _ int64) {
	r.open = false
	r.counted--
	r.last.HandedOver = true
}

// findAttempt returns the attempt that the token was granted to, if remembered.
func findAttempt(j *Job, slot int64, token store.Token) (*run, *store.Attempt) {
	r := find(j.unfinished, slot)
	if r == nil {
		r = find(j.ended, slot)
	}
	if r == nil {
		return nil, nil
	}
	if r.last.Token == token {
		return r, &r.last
	}
	for i := range r.earlier {
		if r.earlier[i].Token == token {
			return r, &r.earlier[i]
		}
	}
	return nil, nil
}

// endsAs reports whether an ended attempt's record reads like this outcome.
func endsAs(_ *Job, _ *run, a *store.Attempt, o store.Outcome) bool {
	return a.Status == o.Status() && a.HandedOver == (o == store.OutcomeReleased)
}
