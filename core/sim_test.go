package core

import (
	"flag"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The simulation: many seeds, each a fleet of three to five instances over a
// simulated day, with everything that can go wrong. simWorld is how it works,
// sim_rules_test.go what must hold, planOf what a seed means, simCases the
// stories that are played as written.
//
//	go test ./core -run TestSimulation$ -v              what happened, counted
//	go test ./core -run TestSimulation$ -sim.seeds=1000
//	go test ./core -run TestSimulation$ -sim.hours=168
//	go test ./core -run TestSimulation$ -sim.seed=17    one seed: its story, if it fails
//	go test ./core -run TestSimulation$ -sim.replay="seed=17 for=3h without=crash jobs=job1"
//	go test ./core -run TestSimulation$ -sim.seed=17 -sim.long
//
// A seed that fails is made short, and told; the line that it ends with can be
// kept in testdata/simulations. TestSimulationStoreFaults and TestMutants show
// what the simulation would see.
var (
	simSeeds = flag.Int("sim.seeds", 200, "simulate so many seeds")
	simHours = flag.Float64("sim.hours", 24, "so many simulated hours each")
	simSeed  = flag.Int64("sim.seed", -1, "simulate this seed only")
	simAgain = flag.String("sim.replay", "", "simulate what a failed seed was made short to")
	simLong  = flag.Bool("sim.long", false, "tell all of a story")
)

// TestSimulation plays the seeds and says what happened in them.
func TestSimulation(t *testing.T) {
	length := time.Duration(*simHours * float64(time.Hour))
	if *simSeed >= 0 || *simAgain != "" {
		r, err := simReplay{seed: uint64(*simSeed), length: length}, error(nil)
		if *simAgain != "" {
			r, err = parseReplay(*simAgain)
		}
		if err != nil {
			t.Fatal(err)
		}
		w := simulate(r.plan())
		if w.broken == nil {
			t.Logf("nothing is broken\n%v", w.seen)
			return
		}
		if *simLong {
			t.Fatal(w.story())
		}
		r, story := r.shrink()
		t.Fatalf("made short: -sim.replay=%q\n%s", r, story)
	}
	seeds := *simSeeds
	if testing.Short() || RaceDetector {
		seeds = min(seeds, 16)
	}
	began := time.Now()
	var total simCoverage
	var mu sync.Mutex
	forEachSeed(seeds, func(seed uint64) bool {
		r := simReplay{seed: seed, length: length}
		w := simulate(r.plan())
		mu.Lock()
		defer mu.Unlock()
		total.add(w.seen)
		if w.broken == nil {
			return true
		}
		if *mutantOn >= 0 {
			t.Errorf("seed %d breaks %q", seed, w.broken.rule)
			return w.broken.rule != mutantRule()
		}
		r, story := r.shrink()
		t.Errorf("seed %d, made short: -sim.replay=%q\n%s", seed, r, story)
		return false
	})
	if t.Failed() {
		return
	}
	t.Logf("%d seeds of %v in %v\n%v", seeds, length, time.Since(began).Round(time.Millisecond), &total)
	if missing := total.missing(); len(missing) > 0 && seeds >= 100 {
		t.Errorf("never happened, so nothing is known about it: %v", missing)
	}
}

// TestSimulationIsDeterministic plays each seed twice: a story must be the same
// when it is told again, and the machine must not depend on the order of a map.
func TestSimulationIsDeterministic(t *testing.T) {
	seeds := *simSeeds
	if testing.Short() || RaceDetector {
		seeds = min(seeds, 16)
	}
	forEachSeed(seeds, func(seed uint64) bool {
		first, second := simulate(planOf(seed, 2*time.Hour)), simulate(planOf(seed, 2*time.Hour))
		if first.trace.hash != second.trace.hash || *first.seen != *second.seen {
			t.Errorf("seed %d is not the same twice: %d and %d events", seed, first.seen.Events, second.seen.Events)
			return false
		}
		return true
	})
}

// forEachSeed calls do for the seeds from 0 on, on all processors, until one
// says no.
func forEachSeed(n int, do func(seed uint64) bool) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a world makes much garbage and is small
	var next atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !stop.Load() {
				seed := next.Add(1) - 1
				if seed >= int64(n) {
					return
				}
				if !do(uint64(seed)) {
					stop.Store(true)
				}
			}
		})
	}
	wg.Wait()
}
