package model

import "github.com/anarchon-go/anarchon/core/store"

// The faults of attempts (rules 7 and 8) and tokens.

var attemptFaults = map[Fault]fault{
	FaultAfterIgnored: {
		name: "after-ignored", breaks: "R-CLAIM-7", kinds: lease,
		doc: "a copy of a claim that arrives late is granted a second time",
		job: func(do *steps) { do.follows = func(*run, int) bool { return true } },
	},
	FaultMaxAttemptsPlusOne: {
		name: "max-attempts-plus-one", breaks: "R-CLAIM-10", kinds: lease,
		doc: "a run gets one attempt more than it may",
		job: func(do *steps) { do.exhausted = func(r *run, _ int) bool { return r.counted > r.max } },
	},
	FaultMaxAttemptsMinusOne: {
		name: "max-attempts-minus-one", breaks: "R-CLAIM-10", kinds: lease,
		doc: "a run gets one attempt less than it may, but one",
		job: func(do *steps) { do.exhausted = func(r *run, _ int) bool { return r.counted >= max(1, r.max-1) } },
	},
	FaultMaxAttemptsAskers: {
		name: "max-attempts-askers", breaks: "R-CLAIM-10", kinds: lease,
		doc: "the asker's max attempts decides, not that of the run's first claim",
		job: func(do *steps) { do.exhausted = func(r *run, askersMax int) bool { return r.counted >= askersMax } },
	},
	FaultReleaseCounts: {
		name: "release-counts", breaks: "R-CLAIM-10", kinds: lease,
		doc: "a handed-over attempt counts: a rolling deploy uses a run's attempts up",
		job: func(do *steps) {
			do.handOver = func(j *Job, r *run, now int64) {
				handOver(j, r, now)
				r.counted++
			}
		},
	},
	FaultCrashFree: {
		name: "crash-free", breaks: "R-CLAIM-10", kinds: lease,
		doc: "an attempt whose runner died does not count: a run that kills its runners is started for ever",
		job: func(do *steps) { do.exhausted = func(*run, int) bool { return false } },
	},
	FaultExhaustedStaysOpen: {
		name: "exhausted-stays-open", breaks: "R-CLAIM-10", kinds: lease,
		doc: "an exhausted run is not closed",
		job: func(do *steps) { do.closeExhausted = func(*Job, *run, int64) {} },
	},
	FaultReleaseNumberAgain: {
		name: "release-number-again", breaks: "R-CLAIM-8", kinds: lease,
		doc: "the attempt after a hand-over has the number of the one before",
		job: func(do *steps) {
			do.nextAttempt = func(r *run) int {
				if r.last.HandedOver {
					return r.last.Attempt
				}
				return truth.nextAttempt(r)
			}
		},
	},
	FaultPreviousStaysRunning: {
		name: "previous-stays-running", breaks: "R-CLAIM-8", kinds: lease,
		doc: "the attempt that was taken over reads running for ever",
		job: func(do *steps) { do.endPrevious = func(*run, int64) {} },
	},
	FaultOlderStayOpen: {
		name: "older-stay-open", breaks: "R-CLAIM-9", kinds: lease,
		doc: "a grant leaves older runs unfinished, though nothing can grant them any more",
		job: func(do *steps) { do.closeOlder = func(*Job, int64, int64) {} },
	},
	FaultOlderLiveClosed: {
		name: "older-live-closed", breaks: "R-CLAIM-9", kinds: lease,
		doc: "a grant closes older runs that are still held",
		job: func(do *steps) {
			do.closeOlder = func(j *Job, slot, now int64) {
				for len(j.unfinished) > 0 && j.unfinished[0].slot < slot {
					j.close(j.unfinished[0], now)
				}
			}
		},
	},
	FaultTokenSame: {
		name: "token-same", breaks: "R-TOKEN-1", kinds: lease,
		doc: "two grants within a millisecond, or after the store's clock went back, get the same token",
		job: func(do *steps) {
			do.token = func(j *Job, now int64, _ int) store.Token { return max(j.lastToken, store.Token(now), 1) }
		},
	},
	FaultTokenKept: {
		name: "token-kept", breaks: "R-TOKEN-1", kinds: lease,
		doc: "a takeover keeps the run's token: the stale runner's calls work",
		job: func(do *steps) {
			do.token = func(j *Job, now int64, attempt int) store.Token {
				if attempt > 1 {
					return j.lastToken
				}
				return truth.token(j, now, attempt)
			}
		},
	},
	FaultTokenPerRun: {
		name: "token-per-run", breaks: "R-TOKEN-1", kinds: lease,
		doc: "each run counts its tokens from 1",
		job: func(do *steps) {
			do.token = func(_ *Job, _ int64, attempt int) store.Token { return store.Token(attempt) }
		},
	},
	FaultTokenByHistory: {
		name: "token-by-history", breaks: "R-TOKEN-1", kinds: lease,
		doc: "a token is one more than the attempts held: it stops rising once history is trimmed",
		job: func(do *steps) {
			do.token = func(j *Job, _ int64, _ int) store.Token {
				n := store.Token(1)
				j.attempts(func(*store.Attempt) bool { n++; return true })
				return n
			}
		},
	},
	FaultTokenCounter: {
		name: "token-counter", breaks: "R-TOKEN-2", kinds: lease,
		doc: "tokens count from 1 without regard to the clock: a restore from backup repeats them",
		job: func(do *steps) { do.token = func(j *Job, _ int64, _ int) store.Token { return j.lastToken + 1 } },
	},
	FaultTokenClock: {
		name: "token-clock", breaks: "R-TOKEN-1", kinds: lease,
		doc: "a token is the store's clock, which stands still and goes back",
		job: func(do *steps) { do.token = func(_ *Job, now int64, _ int) store.Token { return store.Token(now) } },
	},
}
