package core

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// simPlan is everything that is decided before a simulation begins. It follows
// from its seed, unless a directed case writes its own.
type simPlan struct {
	seed   uint64
	length time.Duration
	kind   store.Kind
	nodes  int
	jobs   []simJob
	specs  [][2]*Job // of the jobs, in both versions
	grace  time.Duration

	claimOnly model.ClaimOnly
	fault     model.Fault

	skews      []time.Duration // of the nodes' wall clocks
	maxRuns    []int           // of the nodes
	storeSkew  time.Duration
	rates      simRates // always
	stormRates simRates // during a storm
	faults     []simFaultRate
	leftOut    map[string]bool // kinds of faults that a shrunk plan does without
}

// simJob is a job of the fleet. Its settings come in two versions: a deploy
// brings the second, node by node.
type simJob struct {
	name        string
	schedule    Schedule
	timings     [2]Timing
	timeout     time.Duration
	unconfirmed OnUnconfirmed
	work        simWorkload
}

// spec returns a job as core.Add would have it, checked and complete.
func (p *simPlan) spec(no, version int) *Job {
	for len(p.specs) < len(p.jobs) {
		p.specs = append(p.specs, [2]*Job{})
	}
	if p.specs[no][version] == nil {
		j := &p.jobs[no]
		job := Job{Name: j.name, Schedule: j.schedule, Timeout: j.timeout, OnUnconfirmed: j.unconfirmed, Timing: j.timings[version],
			Handler: func(context.Context, Run) error { return nil }}
		full, _, err := job.check(Timing{}, p.describeStore())
		if err != nil {
			panic(fmt.Sprintf("the plan of seed %d is wrong: %v", p.seed, err))
		}
		p.specs[no][version] = &full
	}
	return p.specs[no][version]
}

func (p *simPlan) describeStore() store.Description {
	d := store.Description{Kind: p.kind, Memory: store.Memory{Forever: true}}
	if p.kind == store.KindClaimOnly && !p.claimOnly.Memory.IsZero() {
		d.Memory = p.claimOnly.Memory
	}
	return d
}

func (p *simPlan) longest(of func(*Timing) time.Duration) time.Duration {
	var d time.Duration
	for i := range p.jobs {
		for version := range 2 {
			d = max(d, of(&p.spec(i, version).Timing))
		}
	}
	return d
}

func (p *simPlan) longestLease() time.Duration {
	return p.longest(func(t *Timing) time.Duration { return t.Lease })
}

func (p *simPlan) longestHeartbeat() time.Duration {
	return p.longest(func(t *Timing) time.Duration { return t.Heartbeat })
}

func (p *simPlan) longestStop() time.Duration {
	return p.longest(func(t *Timing) time.Duration { return t.StopTimeout })
}

// simWorkload is how long a job's handlers work, and how they behave.
type simWorkload struct {
	typical                  time.Duration
	fails, panics            float64 // odds
	disobeys, finishesAnyway float64
	hangs                    float64
	takesLong                float64 // ten times as long
	alwaysSame               bool
	shorter                  map[int]time.Duration // for the slots at these minutes
}

type simWork struct {
	takes  time.Duration
	result error
	obeys  simObedience
}

// of draws the work of one attempt. It depends on nothing but the attempt, so
// that it stays the same when other things are left out.
func (l *simWorkload) of(w *simWorld, run *Run) simWork {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d %d", run.Job, run.Slot, run.Attempt)
	r := rand.New(rand.NewPCG(w.plan.seed, h.Sum64()))
	work := simWork{takes: l.typical}
	if takes, ok := l.shorter[run.ScheduledAt.Minute()]; ok {
		work.takes = takes
	}
	if !l.alwaysSame {
		work.takes = time.Duration(float64(l.typical) * (0.3 + 1.4*r.Float64()))
	}
	if r.Float64() < l.takesLong {
		work.takes *= 10
	}
	switch x := r.Float64(); {
	case x < l.fails:
		work.result = errSimWork
	case x < l.fails+l.panics:
		work.result = errSimBoom
	}
	switch x := r.Float64(); {
	case x < l.disobeys:
		work.obeys = ignores
	case x < l.disobeys+l.finishesAnyway:
		work.obeys = obeysWithNil
	}
	if r.Float64() < l.hangs {
		work.takes, work.obeys = 6*time.Hour, ignores
	}
	return work
}

// uneven is a schedule with gaps of different lengths: some seconds past each
// hour. Its nominal smallest gap is larger than the smallest real one, as with a
// change of the clocks.
type uneven []int64

var _ Schedule = uneven(nil)

const simHour = int64(time.Hour / time.Millisecond)

func (u uneven) Next(after time.Time) time.Time {
	ms := after.UnixMilli()
	for hour := floorDiv(ms, simHour) * simHour; ; hour += simHour {
		for _, s := range u {
			if t := hour + s*1000; t > ms {
				return time.UnixMilli(t).UTC()
			}
		}
	}
}

func (u uneven) Prev(at time.Time) time.Time {
	ms := at.UnixMilli()
	for hour := floorDiv(ms, simHour) * simHour; ; hour -= simHour {
		for i := len(u) - 1; i >= 0; i-- {
			if t := hour + u[i]*1000; t <= ms {
				return time.UnixMilli(t).UTC()
			}
		}
	}
}

func (u uneven) MinGap() time.Duration { return time.Minute }
func (u uneven) String() string        { return "uneven " + strings.Trim(fmt.Sprint([]int64(u)), "[]") }

// describe names the plan in a few lines, with the job that matters.
func (p *simPlan) describe(job string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %v store, %d nodes, clocks off by %v, store by %v", p.seed, p.kind, p.nodes, p.skews, p.storeSkew)
	if p.fault != model.NoFault {
		fmt.Fprintf(&b, ", model fault %v", p.fault)
	}
	for i := range p.jobs {
		j := &p.jobs[i]
		if job != "" && j.name != job {
			continue
		}
		for version := range 2 {
			t := p.spec(i, version).Timing
			if version == 1 && t == p.spec(i, 0).Timing {
				break
			}
			fmt.Fprintf(&b, "\n%s: %v, overlap %v, lease %v/%v, jitter %v, max late %v, catch-up %v, max attempts %d, works about %v", j.name, j.schedule, t.Overlap, t.Lease, t.Heartbeat, t.Jitter, t.MaxLate, t.CatchUp, t.MaxAttempts, j.work.typical)
		}
	}
	return b.String()
}
