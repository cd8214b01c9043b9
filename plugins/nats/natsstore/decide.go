package natsstore

import "github.com/anarchon-go/anarchon/core/store"

// decideClaim answers a claim of a slot that was taken before.
func decideClaim(s *stored, q *store.ClaimRequest) store.ClaimAnswer {
	if s.ID == q.ID.String() && s.Instance == q.Instance && s.Status == store.StatusRunning {
		return won(s.tok)
	}
	// The claim before this one that was granted is the one that took the slot.
	return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: s.Status, Fingerprint: s.Fingerprint}
}

func won(t store.Token) store.ClaimAnswer {
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: t}
}

// decideFinish says what a finish does to the record of its slot, nil if none is
// known: it writes the record returned, or changes nothing and is recorded
// already or lost.
func decideFinish(s *stored, q *store.FinishRequest) (write *record, recorded bool) {
	switch {
	case s == nil || s.tok != q.Token:
		return nil, false
	case s.Status != store.StatusRunning:
		return nil, s.Status == q.Outcome.Status()
	}
	r := *s.record
	r.Status, r.Error = q.Outcome.Status(), store.CutError(q.Error)
	r.Token, r.StartedAt = s.tok, s.startedAt()
	return &r, true
}
