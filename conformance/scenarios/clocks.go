package scenarios

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// skewed is how far a clock is off.
const skewed = 20 * time.Second

// clockOff: instance A has another clock, by core's option of a clock, so its timers
// and slots go by it; what instances say carries the true time. A is alone when the
// slot is due, so that it is the runner.
func clockOff(id int, name, title string, by time.Duration) *Scenario {
	ahead := by > 0
	s := &Scenario{
		ID: id, Name: name, Title: title,
		Lead: pick(ahead, skewed+5*time.Second, 3*time.Second),
		Jobs: func(t Timing) []hostprog.Job { return once(2*t.Lease + 2*t.takeover()) },
		Host: func(lane string, c *hostprog.Config, _ Timing) {
			if lane == "A" {
				c.Ahead = by
			}
		},
		Script: func(t Timing) []Step {
			return script(start("A"), awaitRun(job, 1, "runner"), start("B", "C"),
				after(t.takeover()), kill("runner"),
				on(store.KindLease, awaitRun(job, 2, "backup")),
				on(store.KindClaimOnly, after(t.over())))
		},
		Lease: []Expectation{
			{"the runner learns that its clock is off", toldOfSkew},
			{pick(ahead, "it does not start before the slot: the store's clock decides", "it starts late, by its own clock"), startOf(by)},
			{"while it renews, nobody takes over: a lease is judged by the store's clock", noneBeforeKill},
			startedWithin(job, 2, "kill -9", Timing.takeover, "lease + 2 heartbeats"),
			neverEarly(job),
			logMatches(job),
		},
		ClaimOnly: []Expectation{
			{pick(ahead, "where the store has a clock it does not start before the slot; else it starts 20 s early", "it starts late, by its own clock"), startOf(by)},
			starts(job, 1),
			history(job, first+"running"),
			logMatches(job),
		},
	}
	return s
}

func toldOfSkew(r *Record) (string, error) {
	for _, l := range r.Lines {
		if l.What == "clockskew" && l.Instance == r.Roles["runner"] {
			return fmt.Sprintf("store − instance %+.1f s", l.Left.Seconds()), nil
		}
	}
	return "", fmt.Errorf("the runner never said that its clock is off")
}

// startOf: when the run may begin, in true time.
func startOf(by time.Duration) func(*Record) (string, error) {
	return func(r *Record) (string, error) {
		began := r.of("started", job)
		if len(began) == 0 {
			return "", fmt.Errorf("it never started")
		}
		at := began[0].At.Sub(r.Zero)
		figure := fmt.Sprintf("at %+.1f s", at.Seconds())
		from := -by // where only its own clock decides
		if by > 0 && r.Store.Clock == store.ClockStore {
			from = 0
		}
		if at < from-clockGrain || at > from+r.Timing.Jitter+r.Timing.Margin {
			return figure, fmt.Errorf("it began at %+.2f s; want it from %+.0f s on, and soon", at.Seconds(), from.Seconds())
		}
		return figure, nil
	}
}

func noneBeforeKill(r *Record) (string, error) {
	killed := r.act("kill -9", 1).At
	for _, l := range r.of("started", job) {
		if l.Attempt > 1 && l.At.Before(killed) {
			return "", fmt.Errorf("%s took over at %s", l.Instance, r.since(l.At))
		}
	}
	return "", nil
}
