package scenarios

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// more are scenarios of the store, of clocks and of deploys.
func more() []*Scenario {
	return []*Scenario{
		cutOff(8, "cut-off-continue", "The runner is cut off from the store, and continues", false),
		cutOff(9, "cut-off-cancel", "The runner is cut off from the store, and is cancelled", true),
		storeRestarts(), storeDownOverSlot(), pluginKilled(),
		clockOff(13, "clock-ahead", "The runner's clock is 20 s ahead", skewed),
		clockOff(14, "clock-behind", "The runner's clock is 20 s behind", -skewed),
		dayMissed(), ignoresContext(), rollingDeploy(), hundredJobs(),
	}
}

func cutOff(id int, name, title string, cancels bool) *Scenario {
	s := &Scenario{
		ID: id, Name: name, Title: title, Breaks: BreaksLink,
		Jobs: func(t Timing) []hostprog.Job {
			jobs := once(2*t.Lease + 12*t.Heartbeat)
			jobs[0].Cancels = cancels
			return jobs
		},
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat), cut("runner"),
				on(store.KindLease, awaitRun(job, 2, "backup"), after(2*t.Heartbeat)),
				on(store.KindClaimOnly, after(t.Lease+2*t.Heartbeat)),
				mend("runner"),
				on(store.KindLease, awaitRefused("runner", job)),
				awaitLine("", "succeeded", job))
		},
		Lease: []Expectation{
			startedWithin(job, 2, "cut", Timing.takeover, "lease + 2 heartbeats"),
			neverEarly(job),
			tells("runner", "unconfirmed", job, "the runner says that its lease is over without an answer", nil),
		},
	}
	if cancels {
		s.Lease = append(s.Lease,
			tells("runner", "cancelled", job, "its handler's context is cancelled with the cause core.ErrUnconfirmed", causeIs(core.ErrUnconfirmed)),
			Expectation{"it is cancelled before the other one begins", cancelledFirst})
	} else {
		s.Lease = append(s.Lease,
			tells("runner", "cancelled", job, "it goes on, until it learns that the run is lost", causeIs(core.ErrLost)))
		s.ClaimOnly = []Expectation{starts(job, 1), history(job, first+"success"), logMatches(job)}
	}
	s.Lease = append(s.Lease,
		history(job, first+"interrupted", takenBy+"success"),
		logMatches(job),
		nothingOpen())
	return s
}

// cancelledFirst: with OnUnconfirmed Cancel, two handlers do not run at once as far as
// clocks allow. Both times are read by other processes than the one that acts, so a
// tenth of a second is allowed.
func cancelledFirst(r *Record) (string, error) {
	cancelled, began := r.of("cancelled", job), r.of("started", job)
	if len(cancelled) == 0 || len(began) < 2 {
		return "", fmt.Errorf("%d were cancelled and %d began", len(cancelled), len(began))
	}
	by := began[1].At.Sub(cancelled[0].At)
	figure := fmt.Sprintf("%.2f s before", by.Seconds())
	if by < -100*time.Millisecond {
		return figure, fmt.Errorf("it was cancelled %v after the other one began", -by)
	}
	return figure, nil
}

func storeRestarts() *Scenario {
	return &Scenario{
		ID: 10, Name: "store-restarts", Title: "The store restarts during a run", Breaks: BreaksStore,
		Jobs: func(t Timing) []hostprog.Job { return once(2 * t.Lease) },
		// A server may need longer than the run: its end is told again until then.
		Host: func(_ string, c *hostprog.Config, _ Timing) { c.Stop = 2 * time.Minute },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat),
				storeDown(), after(t.Heartbeat), storeUp(), awaitLine("", "succeeded", job))
		},
		// How long the server needs decides whether the runner's lease is over by then.
		Lease: []Expectation{
			{"the run goes on, or is taken over if the store was away for longer than the lease", survivesRestart},
			neverEarly(job),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{starts(job, 1), history(job, first+"success"), logMatches(job)},
	}
}

func survivesRestart(r *Record) (string, error) {
	away := r.act("up", 1).At.Sub(r.act("down", 1).At)
	figure := fmt.Sprintf("away for %.1f s, %d attempts", away.Seconds(), len(r.History[job]))
	rows := r.rows(job)
	switch {
	case len(rows) == 1 && rows[0] == first+"success":
	case len(rows) == 2 && rows[0] == first+"interrupted" && rows[1] == takenBy+"success" && away > r.Timing.Lease-2*r.Timing.Heartbeat:
	default:
		return figure, fmt.Errorf("the history is %q", rows)
	}
	return figure, nil
}

func storeDownOverSlot() *Scenario {
	return &Scenario{
		ID: 11, Name: "store-down-over-slot", Title: "The store is down when a run is due, and back within max late", Breaks: BreaksStore,
		Lead: 5 * time.Second,
		Jobs: func(Timing) []hostprog.Job { return once(time.Second) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), storeDown(), at(2*time.Second), storeUp(), awaitLine("", "succeeded", job))
		},
		Lease:     []Expectation{ranAfterOutage(), history(job, first+"success"), logMatches(job), nothingOpen()},
		ClaimOnly: []Expectation{ranAfterOutage(), history(job, first+"success"), logMatches(job)},
	}
}

// ranAfterOutage: the slot is run once the store serves, and not before.
func ranAfterOutage() Expectation {
	return Expectation{"the slot runs soon after the store is back: claims are asked again within a heartbeat", func(r *Record) (string, error) {
		down, up := r.act("down", 1).At, r.act("up", 1).At
		began := r.of("started", job)
		if len(began) != 1 {
			return "", fmt.Errorf("it was started %d times", len(began))
		}
		if !down.Before(r.Zero) {
			return "", fmt.Errorf("the store went down %v after the slot", down.Sub(r.Zero))
		}
		// The server may have served for a moment before it said so. Beyond the
		// scheduler's own pause, plugins connect anew: up to five seconds.
		took := began[0].At.Sub(up)
		figure := fmt.Sprintf("at %s, %.2f s after it was back", r.since(began[0].At), took.Seconds())
		if most := r.Timing.Heartbeat + 5*time.Second + r.Timing.Margin; took > most {
			return figure, fmt.Errorf("it began %v after the store was back; at most %v", took, most)
		}
		return figure, nil
	}}
}

func pluginKilled() *Scenario {
	return &Scenario{
		ID: 12, Name: "plugin-killed", Title: "The plugin is killed under a running job",
		Jobs: func(t Timing) []hostprog.Job { return once(t.Lease + 4*t.Heartbeat) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(3*t.Heartbeat),
				killPlugin("runner"), awaitLine("runner", "succeeded", job))
		},
		Lease: []Expectation{
			{"the host starts the plugin again", pluginAgain},
			starts(job, 1), history(job, first+"success"), logMatches(job), nothingOpen(),
		},
		ClaimOnly: []Expectation{
			{"the host starts the plugin again", pluginAgain},
			starts(job, 1), history(job, first+"success"), logMatches(job),
		},
	}
}

func pluginAgain(r *Record) (string, error) {
	killed := r.act("kill -9 plugin", 1).At
	for _, l := range r.Lines {
		if l.What == "plugin" && l.PID != 0 && l.Instance == r.Roles["runner"] && l.At.After(killed) {
			return fmt.Sprintf("after %.2f s", l.At.Sub(killed).Seconds()), nil
		}
	}
	return "", fmt.Errorf("no new plugin was ready after %s", r.since(killed))
}

func dayMissed() *Scenario {
	const day = 24 * 60
	return &Scenario{
		ID: 15, Name: "day-missed", Title: "A job of every minute was down for 24 hours",
		Jobs: func(Timing) []hostprog.Job {
			// The last slot is five seconds before time zero, when nobody is up yet.
			return []hostprog.Job{{Name: job, Every: time.Minute, First: -(day*time.Minute + 5*time.Second).Milliseconds(), Count: day + 1, Takes: time.Second, Overlap: "skip"}}
		},
		Script: func(t Timing) []Step {
			return script(ranADayAgo(day), start("A", "B", "C"),
				on(store.KindLease, awaitLine("", "succeeded", job)), after(t.Lease))
		},
		Lease: []Expectation{
			history(job, "-86405s #1 scheduled success", "-5s #1 catch-up success"),
			starts(job, 1), nothingOpen(),
		},
		ClaimOnly: []Expectation{starts(job, 0)},
	}
}

// ranADayAgo makes the first slot a run that ended well, so that the slots after it
// were missed.
func ranADayAgo(day int) Step {
	return Step{Says: "a day ago it ran", Kind: store.KindLease, Do: func(p *Play) error {
		j := p.jobs[0]
		ans, err := p.probe.Claim(p.ctx, store.ClaimRequest{
			Job: j.Name, Slot: j.First, ID: store.NewClaimID(), Instance: "yesterday", Reason: store.ReasonScheduled,
			Lease: time.Second, MaxLate: 48 * time.Hour, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
		})
		if err != nil {
			return err
		}
		if ans.Verdict != store.VerdictWon {
			return fmt.Errorf("the slot of a day ago was answered %v", ans.Verdict)
		}
		_, err = p.probe.Finish(p.ctx, store.FinishRequest{Job: j.Name, Slot: j.First, Token: ans.Token, Outcome: store.OutcomeSuccess})
		return err
	}}
}

func ignoresContext() *Scenario {
	return &Scenario{
		ID: 16, Name: "ignores-context", Title: "A handler ignores its context when its instance stops",
		Jobs: func(t Timing) []hostprog.Job {
			jobs := once(2*t.Lease + t.Stop)
			jobs[0].Ignores = true
			return jobs
		},
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B", "C"), awaitRun(job, 1, "runner"), after(2*t.Heartbeat), stop("runner"), awaitGone("runner"),
				on(store.KindLease, awaitRun(job, 2, "backup"), awaitLine("", "succeeded", job)),
				on(store.KindClaimOnly, after(t.over())))
		},
		Lease: []Expectation{
			tells("runner", "stuck", job, "after the stop timeout the event Stuck names the run", nil),
			startedWithin(job, 2, "SIGTERM", func(t Timing) time.Duration { return t.Stop + t.takeover() }, "stop timeout + lease + 2 heartbeats"),
			neverEarly(job),
			history(job, first+"interrupted", takenBy+"success"),
			logMatches(job),
			nothingOpen(),
		},
		ClaimOnly: []Expectation{
			tells("runner", "stuck", job, "after the stop timeout the event Stuck names the run", nil),
			starts(job, 1), history(job, first+"running"), logMatches(job),
		},
	}
}

func causeIs(cause error) func(hostprog.Line) bool {
	return func(l hostprog.Line) bool { return l.Error == cause.Error() }
}
