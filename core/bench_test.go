package core

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// benchMachine returns a machine with n jobs, each minute, whose first sweep was
// answered.
func benchMachine(tb testing.TB, n int) (*machine, instant) {
	now := instant{wall: wallMs(1767225601000), mono: int64(time.Hour)}
	id := uint64(0)
	m := newMachine(machineConfig{
		instance: "A", kind: store.KindLease, rand: rand.New(rand.NewPCG(1, 1)),
		newID: func() store.ClaimID {
			id++
			return store.ClaimID{0: byte(id), 1: byte(id >> 8), 2: byte(id >> 16), 15: 1}
		},
	})
	for i := range n {
		j, _, err := Job{Name: fmt.Sprint("job ", i), Schedule: Every(time.Minute), Handler: nop, Timing: Timing{CatchUp: Disabled}}.check(Timing{}, leaseStore)
		if err != nil {
			tb.Fatal(err)
		}
		m.add(now, j)
	}
	m.tick(now)
	m.recallAnswered(now, store.UnfinishedAnswer{}, nil)
	m.take()
	return m, now
}

// granted lets the first job's slot fall due and be granted.
func benchGrant(tb testing.TB, m *machine, now instant) (*run, instant) {
	due, _ := m.slots.next()
	now.mono += due - now.wall
	now.wall = due
	m.tick(now)
	for _, a := range m.take() {
		if a.kind == doClaim {
			m.claimAnswered(now, a.run, store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 1, Left: 30 * time.Second}, nil)
			m.take()
			return a.run, now
		}
	}
	tb.Fatal("no claim")
	return nil, now
}

// BenchmarkTick: the clock is looked at and nothing is due.
func BenchmarkTick(b *testing.B) {
	for _, jobs := range []int{1, 100_000} {
		b.Run(fmt.Sprint("jobs=", jobs), func(b *testing.B) {
			m, now := benchMachine(b, jobs)
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				m.tick(now)
				m.wake(now)
			}
		})
	}
}

// BenchmarkHeartbeat: a heartbeat falls due, is sent, and answered.
func BenchmarkHeartbeat(b *testing.B) {
	renew := renewing(b)
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		renew()
	}
}

// renewing returns a function that lets the heartbeat of a run fall due, sends it, and
// answers it.
func renewing(tb testing.TB) func() {
	m, now := benchMachine(tb, 1)
	r, now := benchGrant(tb, m, now)
	m.slots.remove(r.job) // its next slots are another matter
	m.recall.sweepAt = never
	return func() {
		step := r.beatAt - now.mono
		now.wall, now.mono = now.wall+step, now.mono+step
		m.tick(now)
		if out := m.take(); len(out) != 1 || out[0].kind != doBeat {
			tb.Fatalf("%+v", out)
		}
		m.beatAnswered(now, r, store.HeartbeatAnswer{Renewed: true}, nil)
	}
}

// BenchmarkReschedule: a slot falls due, and its job is planned anew among others.
func BenchmarkReschedule(b *testing.B) {
	for _, jobs := range []int{1000, 100_000} {
		b.Run(fmt.Sprint("jobs=", jobs), func(b *testing.B) {
			plan := rescheduling(b, jobs)
			b.ReportAllocs()
			defer reportCPU(b)()
			for b.Loop() {
				plan()
			}
		})
	}
}

// rescheduling returns a function that plans the job anew whose slot is due next. That
// the slot is claimed is another matter: the instance has something to do with it
// already.
func rescheduling(tb testing.TB, jobs int) func() {
	m, now := benchMachine(tb, jobs)
	known := &run{state: watching, at: -1}
	runs := []*run{known}
	for _, j := range m.jobs {
		j.runs = runs
	}
	m.recall.sweepAt = never
	return func() {
		due, _ := m.slots.next()
		now.mono += due - now.wall
		now.wall = due
		j, _ := m.slots.first(now.wall)
		known.job, known.slot = j, j.slot
		m.slotDue(now, j)
		if len(m.out) > 0 {
			tb.Fatalf("%+v", m.out[0])
		}
	}
}

// BenchmarkRun: a slot falls due, is claimed, granted, run and finished.
func BenchmarkRun(b *testing.B) {
	m, now := benchMachine(b, 1)
	m.recall.sweepAt = never
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		var r *run
		r, now = benchGrant(b, m, now)
		m.handlerReturned(now, r, nil)
		m.take()
		m.finishAnswered(now, r, store.FinishAnswer{Recorded: true}, nil)
		m.take()
	}
}

// reportCPU adds the processor time of the whole loop, which a busy machine does
// not stretch as it does the time on the wall.
func reportCPU(b *testing.B) func() {
	before := cpuTime()
	return func() { b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op") }
}

// TestHotPathsDoNotAllocate holds in every test run what the benchmarks show.
func TestHotPathsDoNotAllocate(t *testing.T) {
	m, now := benchMachine(t, 100)
	r, now := benchGrant(t, m, now)
	m.recall.sweepAt = never
	for _, j := range m.jobs {
		m.slots.remove(j)
	}
	beat := func() {
		step := r.beatAt - now.mono
		now.wall, now.mono = now.wall+step, now.mono+step
		m.tick(now)
		m.wake(now)
		m.take()
		m.beatAnswered(now, r, store.HeartbeatAnswer{Renewed: true}, nil)
	}
	if n := testing.AllocsPerRun(1000, beat); n != 0 {
		t.Errorf("%v allocations for a heartbeat", n)
	}

	j := r.job
	m.plan(j, r.slot)
	reschedule := func() {
		r.slot = j.slot // it has something to do with the slot already
		m.slotDue(now, j)
		now.wall += int64(time.Minute)
		now.mono += int64(time.Minute)
	}
	now.wall = wallMs(j.slot) + int64(3*time.Second)
	if n := testing.AllocsPerRun(1000, reschedule); n != 0 {
		t.Errorf("%v allocations to plan a slot", n)
	}
}
