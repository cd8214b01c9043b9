package core

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// simReplay names a simulation: a seed, how long, and what to leave out of it. It
// is written as a line, such as
//
//	seed=17 for=3h12m0s without=crash,skews jobs=job1
type simReplay struct {
	seed    uint64
	length  time.Duration
	without []string // kinds of faults; rates: of the network; skews: of the clocks
	jobs    []string // these only; nil: all
}

func (r simReplay) String() string {
	s := fmt.Sprintf("seed=%d for=%v", r.seed, r.length)
	if len(r.without) > 0 {
		s += " without=" + strings.Join(r.without, ",")
	}
	if len(r.jobs) > 0 {
		s += " jobs=" + strings.Join(r.jobs, ",")
	}
	return s
}

func parseReplay(line string) (r simReplay, err error) {
	for _, word := range strings.Fields(line) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "seed":
			r.seed, err = strconv.ParseUint(value, 10, 64)
		case "for":
			r.length, err = time.ParseDuration(value)
		case "without":
			r.without = strings.Split(value, ",")
		case "jobs":
			r.jobs = strings.Split(value, ",")
		default:
			err = fmt.Errorf("unknown word %q; known are seed, for, without, jobs", key)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r simReplay) plan() *simPlan {
	p := planOf(r.seed, r.length)
	p.faults = slices.DeleteFunc(p.faults, func(f simFaultRate) bool { return slices.Contains(r.without, f.kind) })
	if slices.Contains(r.without, "rates") {
		p.rates = simRates{}
	}
	if slices.Contains(r.without, "skews") {
		clear(p.skews)
		p.storeSkew = 0
	}
	if len(r.jobs) > 0 {
		p.jobs = slices.DeleteFunc(p.jobs, func(j simJob) bool { return !slices.Contains(r.jobs, j.name) })
		p.specs = nil
	}
	return p
}

// shrink leaves out of a simulation that breaks an invariant whatever it breaks
// the same one without, so that its story gets short. It returns the story too.
func (r simReplay) shrink() (simReplay, string) {
	w := simulate(r.plan())
	if w.broken == nil {
		return r, "nothing is broken"
	}
	rule := w.broken.rule
	try := func(s simReplay) {
		s.length = min(r.length, (time.Duration(w.now) + time.Minute).Round(time.Second))
		if x := simulate(s.plan()); x.broken != nil && x.broken.rule == rule {
			r, w = s, x
		}
	}
	try(r)
	if j := w.broken.job; j != "" {
		s := r
		s.jobs = []string{j}
		try(s)
	}
	parts := []string{"rates", "skews"}
	for _, f := range w.plan.faults {
		parts = append(parts, f.kind)
	}
	for _, part := range parts {
		s := r
		s.without = append(slices.Clone(r.without), part)
		try(s)
	}
	try(r) // only as long as it takes
	return r, w.story()
}

// TestSimulationKept plays the simulations that once showed something. Their
// meaning changes with the simulation's use of chance; what must stay for ever is
// a script.
func TestSimulationKept(t *testing.T) {
	text, err := os.ReadFile("testdata/simulations")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		r, err := parseReplay(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if w := simulate(r.plan()); w.broken != nil {
			t.Errorf("%v\n%s", r, w.story())
		}
		played++
	}
	if played == 0 {
		t.Error("no simulation is kept")
	}
}

func TestReplayIsReadAsWritten(t *testing.T) {
	want := simReplay{seed: 17, length: 3*time.Hour + 12*time.Minute, without: []string{"crash", "rates"}, jobs: []string{"job2"}}
	got, err := parseReplay(want.String())
	if err != nil || got.String() != want.String() {
		t.Errorf("%v is read as %v, %v", want, got, err)
	}
	if _, err := parseReplay("seed=1 hours=3"); err == nil {
		t.Error("an unknown word is read")
	}
}
