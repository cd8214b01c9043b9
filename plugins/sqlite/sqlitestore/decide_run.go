package sqlitestore

import "github.com/anarchon-go/anarchon/core/store"

// decideHeartbeat renews the lease of an open attempt, also after it ran out:
// nobody took the run over.
func decideHeartbeat(s *state, q *store.HeartbeatRequest) store.HeartbeatAnswer {
	s.cutLeases()
	a := s.run(q.Slot)
	if a == nil || !a.open() || a.token != q.Token {
		return store.HeartbeatAnswer{Now: s.now}
	}
	lease := ms(q.Lease)
	end := max(a.leaseEnd, s.now+lease)
	// What is left of a longer lease counts as asked for, or the next call would
	// cut it: a heartbeat never shortens.
	length := max(lease, end-s.now)
	if end != a.leaseEnd || length != a.lease {
		a.leaseEnd, a.lease = end, length
		s.change(a)
	}
	return store.HeartbeatAnswer{Renewed: true, Now: s.now}
}

// decideFinish ends or hands over the attempt that the token was granted to; a
// is its record, nil if there is none. The record alone judges, whatever came
// after.
func decideFinish(s *state, q *store.FinishRequest, a *attempt) store.FinishAnswer {
	s.cutLeases()
	released := q.Outcome == store.OutcomeReleased
	switch {
	case a == nil:
		return store.FinishAnswer{Now: s.now}
	case !a.open():
		// A repeat, its first answer lost, if the record reads the same.
		same := a.status == q.Outcome.Status() && a.handedOver == released
		return store.FinishAnswer{Recorded: same, Now: s.now}
	}
	a.status, a.endedAt, a.err = q.Outcome.Status(), s.now, store.CutError(q.Error)
	s.change(a)
	if released {
		a.handedOver = true
		a.counted--
	} else {
		s.endRun(a)
		s.trimHistory()
	}
	return store.FinishAnswer{Recorded: true, Now: s.now}
}
