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

// The simulation: many seeds, each a fleet of three to five instances over
// simulated days. See simWorld for how it works, sim_rules_test.go for what must
// hold.
//
//	go test ./core -run TestSimulation -v             what happened, counted
//	go test ./core -run TestSimulation -sim.seeds=1000
//	go test ./core -run TestSimulation -sim.seed=17   one seed; its story, made short, if it fails
//	go test ./core -run TestSimulation -sim.hours=168
var (
	simSeeds = flag.Int("sim.seeds", 200, "simulate so many seeds")
	simHours = flag.Float64("sim.hours", 24, "so many simulated hours each")
	simLong  = flag.Bool("sim.long", false, "tell all of a story")
	simSeed  = flag.Int64("sim.seed", -1, "simulate this seed only")
)

func simLength() time.Duration { return time.Duration(*simHours * float64(time.Hour)) }

func TestSimulation(t *testing.T) {
	if *simSeed >= 0 {
		w := simulate(planOf(uint64(*simSeed), simLength()))
		if w.broken != nil {
			r, story := simReplay{seed: uint64(*simSeed), length: simLength()}.shrink()
			t.Fatalf("the least that still breaks it, as a line for testdata/simulations:\n%v\n%s", r, story)
		}
		t.Logf("nothing is broken\n%v", w.seen)
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a world makes much garbage and is small
	began := time.Now()
	var total simCoverage
	var mu sync.Mutex
	forEachSeed(*simSeeds, func(seed uint64) bool {
		w := simulate(planOf(seed, simLength()))
		mu.Lock()
		defer mu.Unlock()
		total.add(w.seen)
		if w.broken != nil {
			t.Errorf("re-run with -sim.seed=%d -sim.hours=%v\n%s", seed, *simHours, w.story())
		}
		return w.broken == nil
	})
	t.Logf("%d seeds of %v in %v\n%v", *simSeeds, simLength(), time.Since(began).Round(time.Millisecond), &total)
	if missing := total.missing(); len(missing) > 0 && *simSeeds >= 100 && !t.Failed() {
		t.Errorf("never happened, so nothing is known about it: %v", missing)
	}
}

// forEachSeed calls do for the seeds from 0 on, on all processors, until one
// says no.
func forEachSeed(n int, do func(seed uint64) bool) {
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
