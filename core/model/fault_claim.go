package model

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The faults of claims up to rule 6: identity (rule 1), memory (rules 2 to 4),
// lateness (rule 5), overlap (rule 6).

var repeatFaults = map[Fault]fault{
	FaultClaimNotAtomic: {
		name: "claim-not-atomic", breaks: "R-CLAIM-1", kinds: both,
		doc:   "a claim reads, thinks for a millisecond, and writes over what others wrote meanwhile",
		store: func(do *storeSteps) { do.claim = readThenWrite },
	},
	FaultRepeatRefused: {
		name: "repeat-refused", breaks: "R-CLAIM-2", kinds: lease,
		doc: "the winner who asks again is told that the run is held",
		job: func(do *steps) { do.repeated = func(*Job, int64, store.ClaimID, string) *run { return nil } },
	},
	FaultRepeatNewToken: {
		name: "repeat-new-token", breaks: "R-CLAIM-2", kinds: lease,
		doc: "the winner who asks again gets the attempt with a new token",
		job: func(do *steps) {
			do.repeat = func(j *Job, r *run, now, _ int64) store.ClaimAnswer {
				r.last.Token = truth.token(j, now, r.last.Attempt)
				j.lastToken = r.last.Token
				return won(r, now)
			}
		},
	},
	FaultRepeatRenews: {
		name: "repeat-renews", breaks: "R-CLAIM-2", kinds: lease,
		doc: "asking again renews the lease",
		job: func(do *steps) {
			do.repeat = func(_ *Job, r *run, now, lease int64) store.ClaimAnswer {
				renew(r, now, now+lease, lease)
				return won(r, now)
			}
		},
	},
	FaultRepeatFullLease: {
		name: "repeat-full-lease", breaks: "R-CLAIM-2", kinds: lease,
		doc: "asking again is answered with the whole lease, not with what is left",
		job: func(do *steps) {
			do.repeat = func(_ *Job, r *run, now, lease int64) store.ClaimAnswer {
				a := won(r, now)
				a.Left = span(lease)
				return a
			}
		},
	},
	FaultRepeatWhenOver: {
		name: "repeat-when-over", breaks: "R-CLAIM-2", kinds: lease,
		doc: "asking again is answered won also when the attempt was finished, handed over or closed",
		job: func(do *steps) {
			do.repeated = func(j *Job, slot int64, id store.ClaimID, _ string) *run {
				for _, r := range slices.Concat(j.unfinished, j.ended) {
					if r.slot == slot && r.id == id {
						return r
					}
				}
				return nil
			}
		},
	},
	FaultRepeatByInstance: {
		name: "repeat-by-instance", breaks: "R-CLAIM-5", kinds: lease,
		doc: "a claim counts as repeated if the holder's instance asks, whatever the claim id",
		job: func(do *steps) {
			do.repeated = func(j *Job, slot int64, _ store.ClaimID, instance string) *run {
				if r := find(j.unfinished, slot); r != nil && r.open && r.last.Instance == instance {
					return r
				}
				return nil
			}
		},
	},
	FaultIDAnyInstance: {
		name: "id-any-instance", breaks: "R-CLAIM-3", kinds: lease,
		doc: "a claim id works for another instance too: it gets the winner's grant",
		job: func(do *steps) {
			do.checkID = func(j *Job, slot int64, id store.ClaimID, _ string) error {
				if r := find(j.unfinished, slot); r != nil && r.id == id {
					return nil
				}
				return checkID(j, slot, id, "")
			}
		},
	},
	FaultIDAnySlot: {
		name: "id-any-slot", breaks: "R-CLAIM-3", kinds: lease,
		doc: "a claim id that won one slot is taken for another slot of the job",
		job: func(do *steps) {
			do.checkID = func(j *Job, slot int64, id store.ClaimID, instance string) error {
				if find(j.unfinished, slot) == nil {
					return nil
				}
				return checkID(j, slot, id, instance)
			}
		},
	},
	FaultIDAnyJob: {
		name: "id-any-job", breaks: "R-CLAIM-3", kinds: lease,
		doc:   "a claim id that won a run of one job is taken for another job",
		store: func(do *storeSteps) { do.checkID = func(*Store, jobKey, store.ClaimID) error { return nil } },
	},
}

var memoryFaults = map[Fault]fault{
	FaultFailedAgain: {
		name: "failed-again", breaks: "R-FINISH-5", kinds: lease,
		doc: "a failed run is tried again",
		job: func(do *steps) { do.find = reopenFailed },
	},
	FaultFinishedStatus: {
		name: "finished-status", breaks: "R-CLAIM-4", kinds: lease,
		doc: "a claim of any run that ended is told that it succeeded",
		job: func(do *steps) {
			do.ended = func(j *Job, slot int64) (store.Status, bool) {
				_, over := ended(j, slot)
				return store.StatusSuccess, over
			}
		},
	},
	FaultMemoryIsHistory: {
		name: "memory-is-history", breaks: "R-CLAIM-4", kinds: lease,
		doc: "a run is known to be over only while history holds it, which drops first what ended first",
		job: func(do *steps) {
			do.trim = trimFirstEnded
			do.ended = func(j *Job, slot int64) (store.Status, bool) {
				r := find(j.ended, slot)
				if r == nil {
					return 0, false
				}
				return r.last.Status, true
			}
		},
	},
	FaultMemoryExpires: {
		name: "memory-expires", breaks: "R-MEMORY-1", kinds: lease,
		doc: "a job without unfinished runs is forgotten a minute after its last grant",
		job: func(do *steps) {
			do.cutLeases = func(j *Job, now int64) {
				cutLeases(j, now)
				if n := len(j.ended); n > 0 && len(j.unfinished) == 0 && now-j.ended[n-1].last.StartedAt >= ms(time.Minute) {
					*j = Job{fault: j.fault}
				}
			}
		},
	},
	FaultSupersededNever: {
		name: "superseded-never", breaks: "R-CLAIM-6", kinds: lease,
		doc: "a slot is granted after a newer one",
		job: func(do *steps) { do.superseded = func(*Job, int64) bool { return false } },
	},
	FaultSupersededStaysOpen: {
		name: "superseded-stays-open", breaks: "R-CLAIM-6", kinds: lease,
		doc: "a superseded run is not closed and reads running for ever",
		job: func(do *steps) { do.closeSuperseded = func(*Job, *run, int64) {} },
	},
	FaultSupersededFirst: {
		name: "superseded-first", breaks: "R-CLAIM-5", kinds: lease,
		doc: "a newer slot counts before a live lease: asking for an old run closes it under its runner",
		job: func(do *steps) {
			do.held = func(j *Job, r *run, now, _ int64) bool { return r.live(now) && !truth.superseded(j, r.slot) }
		},
	},
}

var lateFaults = map[Fault]fault{
	FaultLateNever: {
		name: "late-never", breaks: "R-LATE-1", kinds: both,
		doc: "no claim is too late",
		job: func(do *steps) { do.late = func(int64, int64, int64, *run) bool { return false } },
	},
	FaultLateNoTolerance: {
		name: "late-no-tolerance", breaks: "R-LATE-1", kinds: both,
		doc: "late is judged without the 10 s of tolerance",
		job: func(do *steps) {
			do.late = func(now, slot, maxLate int64, r *run) bool { return r == nil && now-slot > maxLate }
		},
	},
	FaultLateTakeover: {
		name: "late-takeover", breaks: "R-LATE-3", kinds: lease,
		doc: "a takeover is refused as late",
		job: func(do *steps) {
			do.late = func(now, slot, maxLate int64, _ *run) bool { return truth.late(now, slot, maxLate, nil) }
		},
	},
	FaultEarlyNever: {
		name: "early-never", breaks: "R-LATE-2", kinds: both,
		doc: "no claim is too early",
		job: func(do *steps) { do.early = func(int64, int64, int64, int64, *run) bool { return false } },
	},
	FaultEarlyAsLate: {
		name: "early-as-late", breaks: "R-LATE-2", kinds: both,
		doc: "a claim may be as early as it may be late",
		job: func(do *steps) {
			do.early = func(now, slot, _, maxLate int64, r *run) bool {
				return truth.early(now, slot, maxLate+lateToleranceMs, 0, r)
			}
		},
	},
}

var overlapFaults = map[Fault]fault{
	FaultOverlapNotAtomic: {
		name: "overlap-not-atomic", breaks: "R-OVERLAP-1", kinds: lease,
		doc:   "whether another run is in the way is looked up a millisecond before the claim is decided",
		store: func(do *storeSteps) { do.claim = overlapFirst },
	},
	FaultOverlapNever: {
		name: "overlap-never", breaks: "R-OVERLAP-1", kinds: lease,
		doc: "nothing is ever in the way",
		job: inTheWay(func(*Job, *run, *run, int64, int64, bool) bool { return false }),
	},
	FaultOverlapNewestOnly: {
		name: "overlap-newest-only", breaks: "R-OVERLAP-1", kinds: lease,
		doc: "only the newest run can be in the way, not an older one that runs longer",
		job: inTheWay(func(j *Job, other, _ *run, now, _ int64, skip bool) bool {
			return other.slot == j.newest && other.live(now) && (skip || other.skip)
		}),
	},
	FaultOverlapHolderIgnored: {
		name: "overlap-holder-ignored", breaks: "R-OVERLAP-1", kinds: lease,
		doc: "a claim that allows overlap is granted beside a holder that said skip",
		job: inTheWay(func(_ *Job, other, _ *run, now, _ int64, skip bool) bool { return other.live(now) && skip }),
	},
	FaultOverlapClaimerIgnored: {
		name: "overlap-claimer-ignored", breaks: "R-OVERLAP-1", kinds: lease,
		doc: "a claim that says skip is granted beside a holder that allows overlap",
		job: inTheWay(func(_ *Job, other, _ *run, now, _ int64, _ bool) bool { return other.live(now) && other.skip }),
	},
	FaultOverlapFirstOnly: {
		name: "overlap-first-only", breaks: "R-OVERLAP-1", kinds: lease,
		doc: "a takeover is granted whatever else runs",
		job: inTheWay(func(_ *Job, other, r *run, now, _ int64, skip bool) bool {
			return r == nil && other.live(now) && (skip || other.skip)
		}),
	},
	FaultOverlapDead: {
		name: "overlap-dead", breaks: "R-OVERLAP-2", kinds: lease,
		doc: "a run whose lease is over, or that was handed over, is in the way until it ends",
		job: inTheWay(func(_ *Job, other, _ *run, _, _ int64, skip bool) bool { return skip || other.skip }),
	},
	FaultOverlapOtherJobs: {
		name: "overlap-other-jobs", breaks: "R-OVERLAP-2", kinds: lease,
		doc:   "a run of another job is in the way",
		store: func(do *storeSteps) { do.claim = overlapAnyJob },
	},
	FaultOverlapAlways: {
		name: "overlap-always", breaks: "R-OVERLAP-3", kinds: lease,
		doc: "runs never overlap, even if all say allow",
		job: inTheWay(func(_ *Job, other, _ *run, now, _ int64, _ bool) bool { return other.live(now) }),
	},
}

func inTheWay(step func(j *Job, other, r *run, now, askersLease int64, skip bool) bool) func(*steps) {
	return func(do *steps) { do.inTheWay = step }
}

// reopenFailed finds a failed run as if it had been handed over.
func reopenFailed(j *Job, slot int64) *run {
	r := find(j.ended, slot)
	if r == nil || r.last.Status != store.StatusFailed {
		return find(j.unfinished, slot)
	}
	return unend(j, r)
}

// trimFirstEnded drops what ended first, not the oldest slot.
func trimFirstEnded(j *Job) {
	for len(j.ended) > j.historySize {
		first := 0
		for i, r := range j.ended {
			if r.last.EndedAt < j.ended[first].last.EndedAt {
				first = i
			}
		}
		j.ended = slices.Concat(j.ended[:first], j.ended[first+1:])
	}
}
