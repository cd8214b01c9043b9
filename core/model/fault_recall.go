package model

import (
	"iter"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// The faults of what is kept and shown: history and recall.

var historyFaults = map[Fault]fault{
	FaultTrimUnfinished: {
		name: "trim-unfinished", breaks: "R-MEMORY-2", kinds: lease,
		doc: "unfinished runs count as history and are trimmed with it",
		job: func(do *steps) {
			do.trim = func(j *Job) {
				for len(j.unfinished) > 1 && len(j.unfinished)+len(j.ended) > j.historySize {
					j.unfinished = slices.Delete(j.unfinished, 0, 1)
				}
				trim(j)
			}
		},
	},
	FaultTrimAcrossJobs: {
		name: "trim-across-jobs", breaks: "R-MEMORY-3", kinds: lease,
		doc:   "history size bounds all jobs together: a busy one trims a quiet one, and what is trimmed is forgotten",
		store: func(do *storeSteps) { do.trimmed = trimAll },
	},
	FaultTrimNever: {
		name: "trim-never", breaks: "R-HISTORY-2", kinds: lease,
		doc: "history is not trimmed",
		job: func(do *steps) { do.trim = func(*Job) {} },
	},
	FaultTrimNewest: {
		name: "trim-newest", breaks: "R-HISTORY-2", kinds: lease,
		doc: "history drops the newest slots and keeps the oldest",
		job: func(do *steps) {
			do.trim = func(j *Job) { j.ended = slices.Clip(j.ended[:min(len(j.ended), j.historySize)]) }
		},
	},
	FaultTrimFirstEnded: {
		name: "trim-first-ended", breaks: "R-HISTORY-2", kinds: lease,
		doc: "history drops what ended first, not the oldest slot",
		job: func(do *steps) { do.trim = trimFirstEnded },
	},
	FaultTrimOneMore: {
		name: "trim-one-more", breaks: "R-HISTORY-2", kinds: lease,
		doc: "history keeps one run less than asked for, but one",
		job: func(do *steps) {
			do.trim = func(j *Job) {
				if n := len(j.ended) - max(1, j.historySize-1); n > 0 {
					j.ended = j.ended[n:]
				}
			}
		},
	},
	FaultHistorySizeFirst: {
		name: "history-size-first", breaks: "R-HISTORY-2", kinds: lease,
		doc: "the history size of the job's first claim holds for ever",
		job: func(do *steps) {
			do.historySize = func(j *Job, asked int) int {
				if j.historySize > 0 {
					return j.historySize
				}
				return asked
			}
		},
	},
	FaultHistoryOldestFirst: {
		name: "history-oldest-first", breaks: "R-HISTORY-1", kinds: both,
		doc: "history starts with the oldest attempt",
		job: show(func(all []store.Attempt) []store.Attempt { slices.Reverse(all); return all }),
	},
	FaultHistoryRunningHidden: {
		name: "history-running-hidden", breaks: "R-HISTORY-1", kinds: both,
		doc: "history does not show what is still running",
		job: show(func(all []store.Attempt) []store.Attempt {
			return slices.DeleteFunc(all, func(a store.Attempt) bool { return a.Status == store.StatusRunning })
		}),
	},
	FaultHistoryLastOnly: {
		name: "history-last-only", breaks: "R-HISTORY-1", kinds: lease,
		doc: "history shows only the last attempt of a run",
		job: show(func(all []store.Attempt) []store.Attempt {
			return slices.CompactFunc(all, func(a, b store.Attempt) bool { return a.Slot == b.Slot })
		}),
	},
	FaultHistorySeconds: {
		name: "history-seconds", breaks: "R-HISTORY-1", kinds: both,
		doc: "history shows times cut to the second",
		job: show(func(all []store.Attempt) []store.Attempt {
			for i := range all {
				all[i].StartedAt -= all[i].StartedAt % 1000
				all[i].EndedAt -= all[i].EndedAt % 1000
			}
			return all
		}),
	},
	FaultHistoryPageGap: {
		name: "history-page-gap", breaks: "R-HISTORY-1", kinds: lease,
		doc: "where a page of history ends inside a run, the rest of the run is left out",
		job: func(do *steps) {
			do.precedes = func(c cursor, a *store.Attempt) bool { return c.attempt == 0 || a.Slot < c.slot }
		},
	},
	FaultHistoryPageAny: {
		name: "history-page-any", breaks: "R-ERROR-1", kinds: both,
		doc: "a page string that nobody gave out shows the first page",
		job: func(do *steps) {
			do.parsePage = func(s string) (cursor, error) {
				c, _ := parsePage(s)
				return c, nil
			}
		},
	},
}

var recallFaults = map[Fault]fault{
	FaultRecallReleasedHidden: {
		name: "recall-released-hidden", breaks: "R-RECALL-1", kinds: lease,
		doc: "recall misses handed-over runs: nobody sees the hand-over",
		job: func(do *steps) { do.listed = func(r *run, _ int64) bool { return r.open } },
	},
	FaultRecallOverHidden: {
		name: "recall-over-hidden", breaks: "R-RECALL-1", kinds: lease,
		doc: "recall misses runs whose lease is over: nobody takes them over",
		job: func(do *steps) { do.listed = func(r *run, now int64) bool { return !r.open || r.live(now) } },
	},
	FaultRecallNumberCounts: {
		name: "recall-number-counts", breaks: "R-RECALL-1", kinds: lease,
		doc: "recall gives the attempt's number for the attempts that count",
		job: recall(func(u *store.UnfinishedRun, r *run) { u.Counted = r.last.Attempt }),
	},
	FaultRecallWholeLease: {
		name: "recall-whole-lease", breaks: "R-RECALL-1", kinds: lease,
		doc: "recall gives the length of a lease for what is left of it",
		job: recall(func(u *store.UnfinishedRun, r *run) {
			if u.Left > 0 {
				u.Left = span(r.length)
			}
		}),
	},
	FaultRecallNewestOwn: {
		name: "recall-newest-own", breaks: "R-RECALL-1", kinds: lease,
		doc: "recall gives the run's own slot for the job's newest granted one",
		job: recall(func(u *store.UnfinishedRun, r *run) { u.Newest = r.slot }),
	},
	FaultRecallNamedOnly: {
		name: "recall-named-only", breaks: "R-RECALL-2", kinds: lease,
		doc:   "recall without names gives nothing: the runs of a renamed job are never seen",
		store: func(do *storeSteps) { do.seesAll = func(string, jobKey) bool { return false } },
	},
	FaultRecallNamespaces: {
		name: "recall-namespaces", breaks: "R-NAME-2", kinds: lease,
		doc:   "recall without names shows the jobs of other namespaces too",
		store: func(do *storeSteps) { do.seesAll = func(string, jobKey) bool { return true } },
	},
}

// show bends what history shows.
func show(bend func(newestFirst []store.Attempt) []store.Attempt) func(*steps) {
	return func(do *steps) {
		do.shown = func(attempts iter.Seq[*store.Attempt]) iter.Seq[*store.Attempt] {
			var all []store.Attempt
			for a := range attempts {
				all = append(all, *a)
			}
			all = bend(all)
			return func(yield func(*store.Attempt) bool) {
				for i := range all {
					if !yield(&all[i]) {
						return
					}
				}
			}
		}
	}
}

// recall bends what is told of an unfinished run.
func recall(bend func(*store.UnfinishedRun, *run)) func(*steps) {
	return func(do *steps) {
		do.describe = func(j *Job, r *run, now int64) store.UnfinishedRun {
			u := describe(j, r, now)
			bend(&u, r)
			return u
		}
	}
}
