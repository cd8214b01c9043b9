package model

import (
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

var finishFaults = map[Fault]fault{
	FaultFinishStale: {
		name: "finish-stale", breaks: "R-FINISH-3", kinds: lease,
		doc: "the finish of a runner that was taken over ends the run of its successor",
		job: func(do *steps) {
			do.attempt = func(j *Job, slot int64, token store.Token) (*run, *store.Attempt) {
				r, a := findAttempt(j, slot, token)
				if a != nil && r.open {
					a = &r.last
				}
				return r, a
			}
		},
	},
	FaultFinishAfterClose: {
		name: "finish-after-close", breaks: "R-FINISH-3", kinds: lease,
		doc: "a run that was closed as interrupted takes the outcome that its runner sends afterwards",
		job: func(do *steps) {
			do.endsAs = func(j *Job, r *run, a *store.Attempt, o store.Outcome) bool {
				if a.Status != store.StatusInterrupted || a.HandedOver || a != &r.last || o == store.OutcomeReleased {
					return endsAs(j, r, a, o)
				}
				overwrite(j, r, o)
				return true
			}
		},
	},
	FaultFinishTwice: {
		name: "finish-twice", breaks: "R-FINISH-2", kinds: both,
		doc: "a second finish with another outcome replaces the first",
		job: func(do *steps) {
			do.endsAs = func(j *Job, r *run, a *store.Attempt, o store.Outcome) bool {
				if a.Status == store.StatusInterrupted || a != &r.last || o == store.OutcomeReleased {
					return endsAs(j, r, a, o)
				}
				overwrite(j, r, o)
				return true
			}
		},
		taken: func(do *takenSteps) {
			do.endedAs = func(r *takenRun, o store.Outcome) bool { r.Status = o.Status(); return true }
		},
	},
	FaultFinishRepeatLost: {
		name: "finish-repeat-lost", breaks: "R-FINISH-2", kinds: both,
		doc:   "a repeated finish is answered lost: a runner whose answer was lost thinks that its work was",
		job:   func(do *steps) { do.endsAs = func(*Job, *run, *store.Attempt, store.Outcome) bool { return false } },
		taken: func(do *takenSteps) { do.endedAs = func(*takenRun, store.Outcome) bool { return false } },
	},
	FaultFinishLastOnly: {
		name: "finish-last-only", breaks: "R-FINISH-2", kinds: lease,
		doc: "a repeated hand-over is answered lost once the run was taken over",
		job: func(do *steps) {
			do.endsAs = func(j *Job, r *run, a *store.Attempt, o store.Outcome) bool {
				return a == &r.last && endsAs(j, r, a, o)
			}
		},
	},
	FaultFinishNotWhenOver: {
		name: "finish-not-when-over", breaks: "R-FINISH-1", kinds: lease,
		doc: "a finish after the lease ran out is refused, though nobody took the run over",
		job: func(do *steps) {
			do.isOpen = func(r *run, a *store.Attempt, now int64) bool { return truth.isOpen(r, a, now) && r.live(now) }
		},
	},
	FaultFinishForgotten: {
		name: "finish-forgotten", breaks: "R-FINISH-1", kinds: both,
		doc: "a finish is answered recorded and is not written",
		job: func(do *steps) {
			do.isOpen = func(*run, *store.Attempt, int64) bool { return false }
			do.endsAs = func(_ *Job, r *run, a *store.Attempt, o store.Outcome) bool {
				return truth.isOpen(r, a, 0) || endsAs(nil, r, a, o)
			}
		},
		taken: func(do *takenSteps) { do.record = func(*takenRun, store.Outcome, int64, string) {} },
	},
	FaultReleaseEndsRun: {
		name: "release-ends-run", breaks: "R-FINISH-4", kinds: lease,
		doc: "a hand-over ends the run: nobody takes it over",
		job: func(do *steps) {
			do.handOver = func(j *Job, r *run, now int64) {
				handOver(j, r, now)
				j.endRun(r)
			}
		},
	},
	FaultReleaseKeepsLease: {
		name: "release-keeps-lease", breaks: "R-FINISH-4", kinds: lease,
		doc: "a handed-over run stays protected until its lease would have ended",
		job: func(do *steps) {
			do.held = func(_ *Job, r *run, now, _ int64) bool { return now < r.end }
		},
	},
	FaultReleaseNotMarked: {
		name: "release-not-marked", breaks: "R-FINISH-4", kinds: lease,
		doc: "history does not tell a handed-over attempt from a crashed one",
		job: func(do *steps) {
			do.handOver = func(j *Job, r *run, now int64) {
				handOver(j, r, now)
				r.last.HandedOver = false
			}
		},
	},
	FaultErrorLost: {
		name: "error-lost", breaks: "R-FINISH-1", kinds: both,
		doc: "the error text is not kept",
		job: cutError(func(string) string { return "" }),
	},
	FaultErrorUncut: {
		name: "error-uncut", breaks: "R-FINISH-6", kinds: both,
		doc: "an error text is kept whatever its length",
		job: cutError(func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }),
	},
	FaultErrorBytes: {
		name: "error-bytes", breaks: "R-FINISH-6", kinds: both,
		doc: "an error text is cut at 2000 bytes, in the middle of a character if need be",
		job: cutError(func(s string) string { return s[:min(len(s), store.MaxErrorLength)] }),
	},
}

func cutError(step func(string) string) func(*steps) {
	return func(do *steps) { do.cutError = step }
}

// overwrite gives an ended run another outcome.
func overwrite(j *Job, r *run, o store.Outcome) {
	r = unend(j, r)
	r.last.Status = o.Status()
	j.endRun(r)
}
