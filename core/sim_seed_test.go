package core

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// planOf makes the plan of a seed: calm ones, ones with a single sort of
// trouble, ones with all of it, and hard ones: more of it, and jobs that are
// always in each other's way.
func planOf(seed uint64, length time.Duration) *simPlan {
	r := rand.New(rand.NewPCG(seed, 0x5EED))
	p := &simPlan{seed: seed, length: length, kind: store.KindLease, nodes: 3 + r.IntN(3)}
	if seed%10 == 9 {
		p.kind = store.KindClaimOnly
		p.claimOnly = oneOf(r, model.ClaimOnly{}, model.ClaimOnly{NoFence: true}, model.ClaimOnly{Memory: store.Memory{Window: 4 * time.Minute}})
	}
	p.grace = oneOf(r, 0, 0, 5*time.Second)
	for range p.nodes {
		p.skews = append(p.skews, between(r, -50*time.Millisecond, 50*time.Millisecond))
		p.maxRuns = append(p.maxRuns, 0)
	}
	if seed%8 == 7 {
		p.addHardJobs(r)
	} else {
		p.addJobs(r)
	}
	p.addTrouble(r, seed%8)
	return p
}

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)+1))
}

// addJobs draws jobs of all sorts until it has some that can be afforded: what
// costs is how often instances ask the store, and most ask most while they watch
// somebody's run.
func (p *simPlan) addJobs(r *rand.Rand) {
	affordable := oneOf(r, 10_000, 20_000, 20_000, 60_000) // calls in a day
	for {
		p.jobs, p.specs = nil, nil
		for i := range 2 + r.IntN(4) {
			p.jobs = append(p.jobs, p.job(r, fmt.Sprintf("job%d", i+1)))
		}
		if p.callsPerDay() < affordable {
			return
		}
	}
}

// addHardJobs adds jobs that take longer than their interval and whose overlap
// changes with each deploy.
func (p *simPlan) addHardJobs(r *rand.Rand) {
	for i := range 2 {
		gap := oneOf(r, time.Minute, 90*time.Second, 2*time.Minute)
		j := p.job(r, fmt.Sprintf("job%d", i+1))
		j.schedule = Every(gap)
		j.timeout = 0
		j.work.typical = oneOf(r, gap/2, gap, 2*gap, 3*gap)
		j.timings[0] = Timing{Overlap: Allow, HistorySize: 1 + r.IntN(3), MaxAttempts: 1 + r.IntN(3), Lease: oneOf(r, 12*time.Second, 30*time.Second), Heartbeat: 5 * time.Second}
		j.timings[1] = Timing{Overlap: oneOf(r, Skip, Allow), HistorySize: j.timings[0].HistorySize, MaxAttempts: 1 + r.IntN(3), Lease: oneOf(r, 12*time.Second, time.Minute), Heartbeat: 5 * time.Second}
		p.jobs = append(p.jobs, j)
	}
}

func (p *simPlan) callsPerDay() int {
	const day = float64(24 * time.Hour)
	slots, busy := 0.0, 0.0
	lease, beat := time.Hour, time.Hour
	for i := range p.jobs {
		t := p.spec(i, 0).Timing
		gap := float64(p.jobs[i].schedule.MinGap())
		slots += day / gap
		busy += min(1, float64(p.jobs[i].work.typical)/gap)
		lease, beat = min(lease, t.Lease), min(beat, t.Heartbeat)
	}
	calls := slots
	if p.kind == store.KindLease {
		calls += day/float64(lease) + min(1, busy)*day/float64(beat)
	}
	return int(calls) * p.nodes
}

func (p *simPlan) job(r *rand.Rand, name string) simJob {
	s := oneOf[Schedule](r, Every(5*time.Second), Every(15*time.Second), Every(30*time.Second), Every(time.Minute), Every(61_500*time.Millisecond), Every(2*time.Minute),
		Every(5*time.Minute), Every(5*time.Minute), Every(10*time.Minute), Every(30*time.Minute), Every(time.Hour), uneven{0, 420, 1800, 1815, 3000})
	gap := s.MinGap()
	j := simJob{name: name, schedule: s}
	t := Timing{Overlap: oneOf(r, Skip, Skip, Skip, Allow)}
	t.Lease = oneOf(r, 0, 0, 6*time.Second, 12_500*time.Millisecond, 2*time.Minute)
	if t.Lease == 2*time.Minute {
		t.Heartbeat = oneOf(r, 5*time.Second, 20*time.Second)
	}
	t.MaxLate = oneOf(r, 0, 0, 15*time.Second, 5*time.Minute)
	t.Jitter = oneOf(r, 0, 0, Disabled, min(5*time.Second, gap/3))
	t.CatchUp = oneOf(r, 0, 0, 0, time.Hour, Disabled)
	t.MaxAttempts = oneOf(r, 0, 1, 2, 5)
	t.HistorySize = oneOf(r, 0, 1, 10)
	t.StopTimeout = oneOf(r, 0, 0, 8*time.Second)
	if p.kind == store.KindClaimOnly {
		t.MaxLate = oneOf(r, 0, 30*time.Second)
	}
	j.timings = [2]Timing{t, t}
	if r.IntN(3) == 0 { // a deploy changes the lease, and sometimes the overlap
		j.timings[1].Lease = oneOf(r, 6*time.Second, 20*time.Second, 45*time.Second)
		j.timings[1].Heartbeat = 0
		j.timings[1].MaxAttempts = oneOf(r, 1, 3)
		if r.IntN(3) == 0 {
			j.timings[1].Overlap = oneOf(r, Skip, Allow)
		}
	}
	j.unconfirmed = oneOf(r, Continue, Cancel)
	j.work = simWorkload{
		typical:        oneOf(r, 50*time.Millisecond, time.Second, gap/10, gap/4, gap, 2*gap+gap/3),
		fails:          0.05,
		panics:         0.02,
		disobeys:       oneOf(r, 0, 0.2),
		finishesAnyway: 0.2,
		takesLong:      oneOf(r, 0, 0.02),
		hangs:          oneOf(r, 0, 0, 0.002),
	}
	j.work.typical = min(j.work.typical, 40*time.Minute)
	if r.IntN(4) == 0 {
		j.timeout = j.work.typical * 3 / 2
	}
	return j
}

// simFaultRate is how often a kind of fault happens, on average.
type simFaultRate struct {
	kind  string
	every time.Duration
}

// addTrouble adds the faults of one of eight sorts of seeds.
func (p *simPlan) addTrouble(r *rand.Rand, sort uint64) {
	all, hard := sort >= 5, sort == 7
	add := func(is bool, faults ...simFaultRate) {
		for _, f := range faults {
			if is || all {
				f.every = time.Duration(float64(f.every) * (0.5 + r.Float64()))
				if hard {
					f.every /= 3
				}
				p.faults = append(p.faults, f)
			}
		}
	}
	add(sort == 1, simFaultRate{"crash", 25 * time.Minute}, simFaultRate{"stop", 30 * time.Minute}, simFaultRate{"deploy", 5 * time.Hour}, simFaultRate{"power", 4 * time.Hour})
	add(sort == 2, simFaultRate{"step", 20 * time.Minute}, simFaultRate{"freeze", 10 * time.Minute}, simFaultRate{"suspend", 50 * time.Minute})
	add(sort == 3, simFaultRate{"storm", time.Hour}, simFaultRate{"cut", 30 * time.Minute}, simFaultRate{"swap", time.Hour})
	jumps := simFaultRate{"jump", 3 * time.Hour}
	add(sort == 4, simFaultRate{"outage", time.Hour})
	if p.kind == store.KindLease { // a claim-only store's memory is as good as its clock
		add(sort == 4, jumps)
	}
	if sort == 2 || all {
		for i := range p.skews {
			p.skews[i] = oneOf(r, 0, between(r, -2*time.Second, 2*time.Second), between(r, -90*time.Second, 90*time.Second))
		}
		p.storeSkew = oneOf(r, 0, between(r, -3*time.Second, 3*time.Second))
	}
	if sort == 3 || all {
		p.rates = simRates{lost: oneOf(r, 0, 0.002, 0.01), mute: oneOf(r, 0, 0.002, 0.01), slow: oneOf(r, 0, 0.005), copies: oneOf(r, 0, 0.005, 0.02)}
		p.stormRates = simRates{lost: 0.15, mute: 0.15, slow: 0.2, copies: 0.2}
	}
	if all && r.IntN(2) == 0 {
		p.maxRuns[r.IntN(p.nodes)] = 1 + r.IntN(2)
	}
}
