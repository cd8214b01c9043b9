package model

import "github.com/anarchon-go/anarchon/core/store"

// Heartbeat renews the lease of an open attempt, also after it ran out: nobody
// took the run over, so its runner may go on. Anything else is lost and changes
// nothing.
func (j *Job) Heartbeat(now int64, req store.HeartbeatRequest) store.HeartbeatAnswer {
	do := j.steps()
	do.cutLeases(j, now)
	r := do.renewable(j, req.Slot, req.Token, now)
	if r == nil {
		return store.HeartbeatAnswer{Now: now}
	}
	lease := ms(req.Lease)
	do.renew(r, now, do.leaseEnd(now, lease, r.slot), lease)
	return store.HeartbeatAnswer{Renewed: true, Now: now}
}

// renewableRun returns the run whose open attempt has the token.
func renewableRun(j *Job, slot int64, token store.Token, _ int64) *run {
	if r := find(j.unfinished, slot); r != nil && r.open && r.last.Token == token {
		return r
	}
	return nil
}

// renew never shortens a lease. What is left of a longer one counts as asked
// for, or the next call would cut it.
func renew(r *run, now, end, lease int64) {
	r.end = max(r.end, end)
	r.length = max(lease, r.end-now)
}
