package scenarios

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// longer is how much longer the lease is in the new version of a rolling deploy.
const longer = 3

// rollingDeploy: A is the old version, B the new one with a longer lease. A lease is
// judged by the length that its holder asked for.
func rollingDeploy() *Scenario {
	newLease := func(t Timing) time.Duration { return longer * t.Lease }
	return &Scenario{
		ID: 17, Name: "rolling-deploy", Title: "A rolling deploy with another lease setting",
		Jobs: func(t Timing) []hostprog.Job { return once(2*newLease(t) + 2*t.Lease) },
		Host: func(lane string, c *hostprog.Config, t Timing) {
			if lane == "B" {
				c.Lease = newLease(t)
			}
		},
		Script: func(t Timing) []Step {
			return script(startBefore("A"), awaitRun(job, 1, "old"), start("B"), after(3*t.Heartbeat), kill("old"),
				awaitRun(job, 2, "new"), start("A"), after(3*t.Heartbeat), kill("new"),
				awaitRun(job, 3, "old again"))
		},
		Lease: []Expectation{
			startedWithin(job, 2, "kill -9", Timing.takeover, "the old lease + 2 heartbeats"),
			{"attempt 3 begins within the new lease + 2 heartbeats of the second kill -9", func(r *Record) (string, error) {
				for _, l := range r.of("started", job) {
					if l.Attempt == 3 {
						return within(l.At.Sub(r.act("kill -9", 2).At), newLease(r.Timing)+2*r.Timing.Heartbeat, r.Timing.Margin)
					}
				}
				return "", fmt.Errorf("there was no attempt 3")
			}},
			neverEarly(job),
			logMatches(job),
		},
	}
}

// hundred is how many jobs are due at once.
const hundred = 100

func hundredJobs() *Scenario {
	name := func(i int) string { return fmt.Sprintf("job %02d", i) }
	expect := []Expectation{
		{"each runs once", func(r *Record) (string, error) {
			for i := range hundred {
				if rows := r.rows(name(i)); len(rows) != 1 || rows[0] != first+"success" {
					return "", fmt.Errorf("the history of %q is %q", name(i), rows)
				}
			}
			return fmt.Sprintf("%d runs", len(r.runs(""))), nil
		}},
		{"they are spread over the instances: none has more than nine in ten", func(r *Record) (string, error) {
			per := map[string]int{}
			var last time.Time
			for _, s := range r.runs("") {
				per[s.Instance]++
				last = s.At
			}
			figure := fmt.Sprintf("A %d, B %d, C %d; the last began %.2f s after the slot", per["A"], per["B"], per["C"], last.Sub(r.Zero).Seconds())
			// On a busy machine one instance may be slow to reach the store.
			if most := max(per["A"], per["B"], per["C"]); most > hundred*9/10 {
				return figure, fmt.Errorf("one instance has %d", most)
			}
			return figure, nil
		}},
	}
	return &Scenario{
		ID: 18, Name: "hundred-jobs", Title: "A hundred jobs are due in one second, on three instances",
		Jobs: func(Timing) []hostprog.Job {
			var jobs []hostprog.Job
			for i := range hundred {
				jobs = append(jobs, hostprog.Job{Name: name(i), Every: time.Hour, Count: 1, Takes: time.Second, Overlap: "skip"})
			}
			return jobs
		},
		// The jitter spreads them. The lease is core's default: a store that is slow to
		// take a hundred claims is no failure here.
		Host: func(_ string, c *hostprog.Config, _ Timing) { c.Jitter, c.Lease, c.Heartbeat = time.Second, 0, 0 },
		Script: func(Timing) []Step {
			return script(startBefore("A", "B", "C"), allSucceeded(hundred))
		},
		Lease:     expect,
		ClaimOnly: expect,
	}
}

func allSucceeded(n int) Step {
	return Step{Says: fmt.Sprintf("wait until %d runs have succeeded", n), Do: func(p *Play) error {
		seen := 0
		_, err := p.await(fmt.Sprintf("%d runs succeed", n), time.Until(p.zero)+2*patience, func(l hostprog.Line) bool {
			if l.What == "succeeded" {
				seen++
			}
			return seen == n
		})
		return err
	}}
}
