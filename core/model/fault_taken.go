package model

import (
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The faults that only claim-only stores have.

var claimOnlyFaults = map[Fault]fault{
	FaultTakenWindowHalf: {
		name: "taken-window-half", breaks: "R-MEMORY-1", kinds: claimOnly,
		doc: "a taken slot is remembered for half as long as declared, or for a minute if that is for ever",
		taken: func(do *takenSteps) {
			do.memory = func(m store.Memory) store.Memory {
				if m.Forever {
					return store.Memory{Window: time.Minute}
				}
				m.Window /= 2
				return m
			}
		},
	},
	FaultTakenCountHalf: {
		name: "taken-count-half", breaks: "R-MEMORY-1", kinds: claimOnly,
		doc: "half as many taken slots are remembered as declared, or 10 if that is for ever",
		taken: func(do *takenSteps) {
			do.memory = func(m store.Memory) store.Memory {
				if m.Forever {
					return store.Memory{Runs: 10}
				}
				if m.Runs > 0 {
					m.Runs = max(1, m.Runs/2)
				}
				return m
			}
		},
	},
	FaultTakenMemoryIsHistory: {
		name: "taken-memory-is-history", breaks: "R-MEMORY-1", kinds: claimOnly,
		doc:   "only as many taken slots are remembered as history shows",
		taken: func(do *takenSteps) { do.runs = func(_, historySize int) int { return historySize } },
	},
	FaultTakenRepeatRefused: {
		name: "taken-repeat-refused", breaks: "R-CLAIM-2", kinds: claimOnly,
		doc:   "the winner who asks again is told that the slot is taken",
		taken: func(do *takenSteps) { do.winner = func(*takenRun, store.ClaimID, string) bool { return false } },
	},
	FaultTakenAnyInstance: {
		name: "taken-any-instance", breaks: "R-CLAIM-1", kinds: claimOnly,
		doc: "the winner's claim id wins for another instance too",
		taken: func(do *takenSteps) {
			do.winner = func(r *takenRun, id store.ClaimID, _ string) bool { return r.id == id }
		},
	},
	FaultTakenNoRecord: {
		name: "taken-no-record", breaks: "R-CLAIM-11", kinds: claimOnly,
		doc: "a taken slot is not in the history before it is finished",
		taken: func(do *takenSteps) {
			do.listed = func(r *takenRun) bool { return r.Status != store.StatusRunning }
		},
	},
	FaultTakenFinishAnyone: {
		name: "taken-finish-anyone", breaks: "R-FINISH-1", kinds: claimOnly,
		doc:   "a stranger's finish is recorded",
		taken: func(do *takenSteps) { do.finish = func(*taken, *takenRun, *store.FinishRequest) bool { return true } },
	},
}
