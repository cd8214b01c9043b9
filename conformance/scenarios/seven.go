package scenarios

import (
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// job is the job of most scenarios.
const job = "report"

// once is that job with one slot, at time zero.
func once(takes time.Duration) []hostprog.Job {
	return []hostprog.Job{{Name: job, Every: time.Hour, Count: 1, Takes: takes, Overlap: "skip"}}
}

const (
	first   = "+0s #1 scheduled "
	takenBy = "+0s #2 takeover "
)

// seven are the scenarios that everybody who looks at a scheduler asks about.
func seven() []*Scenario {
	return []*Scenario{longerThanInterval(), runnerKilled(), runnerFrozen(), anotherRestarts(), runnerStops(), allRestart(), allDown()}
}

func longerThanInterval() *Scenario {
	const takes, every = 7 * time.Second, 3 * time.Second
	all := func(job string) Expectation {
		return history(job, "+0s #1 scheduled success", "+3s #1 scheduled success", "+6s #1 scheduled success", "+9s #1 scheduled success")
	}
	return &Scenario{
		ID: 1, Name: "longer-than-interval", Title: "A job runs longer than its interval",
		Jobs: func(Timing) []hostprog.Job {
			return []hostprog.Job{
				{Name: job, Every: every, Count: 4, Takes: takes, Overlap: "skip"},
				{Name: "copies", Every: every, Count: 4, Takes: takes, Overlap: "allow"},
			}
		},
		Script: func(Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitSlot("succeeded", job, "+9s"), awaitSlot("succeeded", "copies", "+9s"))
		},
		Lease: append(
			of(job,
				oneAtATime(job),
				skips(job, "+3s", "overlap"),
				skips(job, "+6s", "overlap"),
				history(job, "+0s #1 scheduled success", "+9s #1 scheduled success"),
				logMatches(job)),
			of("copies",
				atOnce("copies", 2),
				all("copies"))...),
		ClaimOnly: of(job, atOnce(job, 2), all(job), logMatches(job), silent("skipped", job, "no slot is skipped")),
	}
}

func runnerKilled() *Scenario {
	return &Scenario{
		ID: 2, Name: "runner-killed", Title: "The runner is killed",
		Jobs: func(t Timing) []hostprog.Job { return once(t.Lease) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat), kill("runner"),
				on(store.KindLease, awaitLine("", "succeeded", job)),
				on(store.KindClaimOnly, after(t.over())))
		},
		Lease: []Expectation{
			startedWithin(job, 2, "kill -9", Timing.takeover, "lease + 2 heartbeats"),
			neverEarly(job),
			history(job, first+"interrupted", takenBy+"success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{starts(job, 1), history(job, first+"running"), logMatches(job)},
	}
}

func runnerFrozen() *Scenario {
	return &Scenario{
		ID: 3, Name: "runner-frozen", Title: "The runner freezes past its lease",
		Jobs: func(t Timing) []hostprog.Job { return once(2*t.Lease + 12*t.Heartbeat) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat), freeze("runner"),
				on(store.KindLease, awaitRun(job, 2, "backup"), after(2*t.Heartbeat)),
				on(store.KindClaimOnly, after(t.Lease+2*t.Heartbeat)),
				thaw("runner"),
				on(store.KindLease, awaitLine("runner", "lost", job), staleFinish(job, 1, "finish")),
				awaitLine("", "succeeded", job))
		},
		Lease: []Expectation{
			startedWithin(job, 2, "SIGSTOP", Timing.takeover, "lease + 2 heartbeats"),
			neverEarly(job),
			tells("runner", "heartbeat", job, "on waking, the old runner's heartbeat is refused", func(l hostprog.Line) bool { return l.Answer == "lost" }),
			tells("runner", "lost", job, "it says that the run is lost", nil),
			tells("runner", "cancelled", job, "its handler's context is cancelled with the cause core.ErrLost", causeIs(core.ErrLost)),
			probed("finish", "lost", "its finish is refused"),
			history(job, first+"interrupted", takenBy+"success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{starts(job, 1), silent("lost", job, "nobody notices"), history(job, first+"success"), logMatches(job)},
	}
}

func anotherRestarts() *Scenario {
	return &Scenario{
		ID: 4, Name: "another-restarts", Title: "Another instance restarts",
		Jobs: func(t Timing) []hostprog.Job { return once(t.Lease + 6*time.Second) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), another("other", "runner"),
				after(t.Heartbeat), stop("other"), awaitGone("other"), restart("other"),
				on(store.KindLease, awaitLine("other", "backup", job)),
				awaitLine("runner", "succeeded", job))
		},
		Lease: []Expectation{
			starts(job, 1),
			tells("other", "backup", job, "the restarted instance becomes a backup", nil),
			history(job, first+"success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{starts(job, 1), history(job, first+"success"), logMatches(job)},
	}
}

func runnerStops() *Scenario {
	return &Scenario{
		ID: 5, Name: "runner-stops", Title: "The runner stops gracefully",
		Jobs: func(t Timing) []hostprog.Job { return once(t.Lease) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat), stop("runner"),
				on(store.KindLease, awaitRun(job, 2, "backup"), countAttempts(job, "counted"), awaitLine("", "succeeded", job)),
				on(store.KindClaimOnly, after(t.over())))
		},
		Lease: []Expectation{
			tells("runner", "cancelled", job, "its handler's context is cancelled with the cause core.ErrStopped", causeIs(core.ErrStopped)),
			tells("runner", "interrupted", job, "it hands the run over", func(l hostprog.Line) bool { return l.Handed }),
			startedWithin(job, 2, "SIGTERM", func(t Timing) time.Duration { return 2 * t.Heartbeat }, "2 heartbeats"),
			probed("counted", "attempt 2, 1 counted", "the attempt that was handed over does not count"),
			history(job, first+"interrupted, handed over", takenBy+"success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{
			tells("runner", "interrupted", job, "it is recorded as interrupted", func(l hostprog.Line) bool { return !l.Handed }),
			starts(job, 1),
			history(job, first+"interrupted"),
			logMatches(job),
		},
	}
}

func allRestart() *Scenario {
	return &Scenario{
		ID: 6, Name: "all-restart", Title: "All instances restart during a run",
		Jobs: func(t Timing) []hostprog.Job { return once(t.Lease) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat), killAll(),
				start("A"),
				on(store.KindLease, awaitLine("", "backup", job), start("B", "C"), awaitLine("", "succeeded", job)),
				on(store.KindClaimOnly, start("B", "C"), after(t.over())))
		},
		Lease: []Expectation{
			startedWithin(job, 2, "kill -9", Timing.takeover, "lease + 2 heartbeats"),
			{"up before the lease is over, they watch it", watchedAfterRestart},
			neverEarly(job),
			history(job, first+"interrupted", takenBy+"success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{starts(job, 1), history(job, first+"running"), logMatches(job)},
	}
}

func allDown() *Scenario {
	const every = 3 * time.Second
	return &Scenario{
		ID: 7, Name: "all-down", Title: "All instances are down when a run is due",
		Jobs: func(Timing) []hostprog.Job {
			return []hostprog.Job{{Name: job, Every: every, Count: 4, Takes: 500 * time.Millisecond, Overlap: "skip"}}
		},
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitLine("", "succeeded", job), stopAll(),
				at(3*every+time.Second), start("A", "B", "C"),
				on(store.KindLease, awaitSlot("succeeded", job, "+9s")),
				after(t.Lease))
		},
		Lease: []Expectation{
			history(job, first+"success", "+9s #1 catch-up success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{history(job, first+"success"), logMatches(job)},
	}
}
