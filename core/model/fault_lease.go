package model

import (
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// The faults of leases, heartbeats and finishes.

var leaseFaults = map[Fault]fault{
	FaultLeaseHalf: {
		name: "lease-half", breaks: "R-LEASE-1", kinds: lease,
		doc: "a lease ends after half its length",
		job: func(do *steps) { do.leaseEnd = func(now, lease, _ int64) int64 { return now + lease/2 } },
	},
	FaultLeaseSeconds: {
		name: "lease-seconds", breaks: "R-LEASE-1", kinds: lease,
		doc: "a lease is cut to whole seconds",
		job: func(do *steps) { do.leaseEnd = func(now, lease, _ int64) int64 { return now + lease/1000*1000 } },
	},
	FaultLeaseFromSlot: {
		name: "lease-from-slot", breaks: "R-LEASE-1", kinds: lease,
		doc: "the lease of a grant counts from its slot, not from the grant",
		job: func(do *steps) {
			do.leaseEnd = func(now, lease, slot int64) int64 { return min(now, slot) + lease }
			do.renew = func(r *run, now, _, lease int64) { renew(r, now, now+lease, lease) }
		},
	},
	FaultLeaseDoubled: {
		name: "lease-doubled", breaks: "R-LEASE-2", kinds: lease,
		doc: "a lease ends after twice its length",
		job: func(do *steps) {
			do.leaseEnd = func(now, lease, _ int64) int64 { return now + 2*lease }
			do.cutLeases = func(*Job, int64) {}
		},
	},
	FaultLeaseForEver: {
		name: "lease-for-ever", breaks: "R-LEASE-2", kinds: lease,
		doc: "a lease never ends: the run of a dead runner is never taken over",
		job: func(do *steps) { do.held = func(_ *Job, r *run, _, _ int64) bool { return r.open } },
	},
	FaultLeaseAskers: {
		name: "lease-askers", breaks: "R-LEASE-3", kinds: lease,
		doc: "a lease is judged by the length that the asker uses",
		job: func(do *steps) {
			do.held = func(_ *Job, r *run, now, asked int64) bool { return r.open && now < r.end-r.length+asked }
			do.inTheWay = func(_ *Job, other, _ *run, now, asked int64, skip bool) bool {
				return other.open && now < other.end-other.length+asked && (skip || other.skip)
			}
		},
	},
	FaultLeaseRenewsItself: {
		name: "lease-renews-itself", breaks: "R-LEASE-6", kinds: lease,
		doc: "a refused claim renews the lease that it was refused for",
		job: func(do *steps) {
			do.held = func(_ *Job, r *run, now, _ int64) bool {
				if !r.live(now) {
					return false
				}
				renew(r, now, now+r.length, r.length)
				return true
			}
		},
	},
	FaultLeaseNotCut: {
		name: "lease-not-cut", breaks: "R-LEASE-2", kinds: lease,
		doc: "when the store's clock goes back, leases last longer by as much",
		job: func(do *steps) { do.cutLeases = func(*Job, int64) {} },
	},
	FaultHeartbeatShortens: {
		name: "heartbeat-shortens", breaks: "R-LEASE-5", kinds: lease,
		doc: "a heartbeat with a shorter lease shortens what is left",
		job: func(do *steps) { do.renew = func(r *run, _, end, lease int64) { r.end, r.length = end, lease } },
	},
	FaultHeartbeatIdle: {
		name: "heartbeat-idle", breaks: "R-LEASE-1", kinds: lease,
		doc: "a heartbeat is answered renewed and renews nothing",
		job: func(do *steps) { do.renew = func(*run, int64, int64, int64) {} },
	},
	FaultHeartbeatNotWhenOver: {
		name: "heartbeat-not-when-over", breaks: "R-LEASE-4", kinds: lease,
		doc: "a heartbeat after the lease ran out is refused, though nobody took the run over",
		job: renewable(func(j *Job, slot int64, token store.Token, now int64) *run {
			if r := renewableRun(j, slot, token, now); r != nil && r.live(now) {
				return r
			}
			return nil
		}),
	},
	FaultHeartbeatNotWhenOlder: {
		name: "heartbeat-not-when-older", breaks: "R-LEASE-4", kinds: lease,
		doc: "a heartbeat after the lease ran out is refused if a newer slot was granted: the run can neither go on nor end",
		job: renewable(func(j *Job, slot int64, token store.Token, now int64) *run {
			if r := renewableRun(j, slot, token, now); r != nil && (r.live(now) || !truth.superseded(j, slot)) {
				return r
			}
			return nil
		}),
	},
	FaultHeartbeatRevivesEnded: {
		name: "heartbeat-revives-ended", breaks: "R-TOKEN-3", kinds: lease,
		doc: "a heartbeat of a run that was closed opens it again",
		job: renewable(func(j *Job, slot int64, token store.Token, now int64) *run {
			r := find(j.ended, slot)
			if r == nil || r.last.Token != token || r.last.Status != store.StatusInterrupted {
				return renewableRun(j, slot, token, now)
			}
			return reopen(j, r)
		}),
	},
	FaultHeartbeatRevivesReleased: {
		name: "heartbeat-revives-released", breaks: "R-TOKEN-3", kinds: lease,
		doc: "a heartbeat that arrives after the hand-over takes the run back",
		job: renewable(func(j *Job, slot int64, token store.Token, now int64) *run {
			r := find(j.unfinished, slot)
			if r == nil || r.open || r.last.Token != token {
				return renewableRun(j, slot, token, now)
			}
			r.open, r.last.Status, r.last.HandedOver, r.last.EndedAt = true, store.StatusRunning, false, 0
			r.counted++
			return r
		}),
	},
	FaultHeartbeatAnyToken: {
		name: "heartbeat-any-token", breaks: "R-TOKEN-3", kinds: lease,
		doc: "a heartbeat renews the run's open attempt whatever its token: a stale runner is told to go on",
		job: renewable(func(j *Job, slot int64, _ store.Token, _ int64) *run {
			if r := find(j.unfinished, slot); r != nil && r.open {
				return r
			}
			return nil
		}),
	},
	FaultTokenLower: {
		name: "token-lower", breaks: "R-TOKEN-3", kinds: lease,
		doc: "a token below the run's current one is accepted for it",
		job: looseToken(func(token, current store.Token) bool { return token < current }),
	},
	FaultTokenHigher: {
		name: "token-higher", breaks: "R-TOKEN-3", kinds: lease,
		doc: "a token above the run's current one is accepted for it",
		job: looseToken(func(token, current store.Token) bool { return token > current }),
	},
	FaultTokenAnySlot: {
		name: "token-any-slot", breaks: "R-TOKEN-3", kinds: lease,
		doc: "a token works for every slot of its job",
		job: func(do *steps) {
			do.renewable = func(j *Job, slot int64, token store.Token, now int64) *run {
				return renewableRun(j, slotOf(j, token, slot), token, now)
			}
			do.attempt = func(j *Job, slot int64, token store.Token) (*run, *store.Attempt) {
				return findAttempt(j, slotOf(j, token, slot), token)
			}
		},
	},
}

func renewable(step func(j *Job, slot int64, token store.Token, now int64) *run) func(*steps) {
	return func(do *steps) { do.renewable = step }
}

// looseToken takes a token for the one of the run's open attempt.
func looseToken(passes func(token, current store.Token) bool) func(*steps) {
	loose := func(j *Job, slot int64, token store.Token) store.Token {
		if r := find(j.unfinished, slot); r != nil && r.open && passes(token, r.last.Token) {
			return r.last.Token
		}
		return token
	}
	return func(do *steps) {
		do.renewable = func(j *Job, slot int64, token store.Token, now int64) *run {
			return renewableRun(j, slot, loose(j, slot, token), now)
		}
		do.attempt = func(j *Job, slot int64, token store.Token) (*run, *store.Attempt) {
			return findAttempt(j, slot, loose(j, slot, token))
		}
	}
}

// reopen moves an ended run back to the unfinished ones, its last attempt open.
func reopen(j *Job, r *run) *run {
	r = unend(j, r)
	r.open, r.last.Status, r.last.EndedAt = true, store.StatusRunning, 0
	return r
}

// slotOf returns the slot that a token was granted for, or else.
func slotOf(j *Job, token store.Token, or int64) int64 {
	slot := or
	j.attempts(func(a *store.Attempt) bool {
		if a.Token == token {
			slot = a.Slot
		}
		return a.Token != token
	})
	return slot
}

// unend moves an ended run back to the unfinished ones. Ended runs are shared
// with clones, so it moves a copy.
func unend(j *Job, r *run) *run {
	i := slices.Index(j.ended, r)
	j.ended = slices.Concat(j.ended[:i], j.ended[i+1:])
	r = r.clone()
	j.unfinished = insert(j.unfinished, r)
	return r
}
