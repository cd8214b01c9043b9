package core

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/budget"
)

// leastCPU returns the least processor time that f took, per call, of ten rounds of
// so many calls. A neighbour that slows a round down does not count.
func leastCPU(t *testing.T, calls int, f func()) (ns float64) {
	t.Helper()
	var rounds []float64
	for range 10 {
		before := cpuTime()
		for range calls {
			f()
		}
		rounds = append(rounds, float64(cpuTime()-before)/float64(calls))
	}
	if ns = budget.Least(rounds); ns == 0 {
		t.Skip("no processor times on this system")
	}
	return ns
}

// TestBudgetMachine: what the machine needs to look at its timers, to renew a lease,
// and to plan a job anew.
func TestBudgetMachine(t *testing.T) {
	budget.Only(t)
	row := func(what string, most float64, calls int, f func()) {
		budget.Row(t, "core", what, leastCPU(t, calls, f), "ns", budget.AtMost(most), "processor time, least of 10 rounds, no allocation")
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times; it must not", what, n)
		}
	}
	m, now := benchMachine(t, 100_000)
	row("machine step, nothing due of 100 000 jobs", 100, 500_000, func() {
		m.tick(now)
		m.wake(now)
	})
	row("machine step, a heartbeat due, sent and answered", 100, 200_000, renewing(t))
	for _, jobs := range []int{1000, 100_000} {
		row(fmt.Sprintf("reschedule, one of %d jobs", jobs), 500, 200_000, rescheduling(t, jobs))
	}
}

// TestBudgetHundredThousandJobs: heap, goroutines, time to add, and what they cost
// while they wait.
func TestBudgetHundredThousandJobs(t *testing.T) {
	budget.Only(t)
	many := holdMany(t)
	const idle = 5 * time.Second
	before := cpuTime()
	time.Sleep(idle)
	share := 100 * float64(cpuTime()-before) / float64(idle)
	many.stop()
	budget.Row(t, "core", "100 000 jobs: heap", float64(many.heap)/(1<<20), "MB", budget.AtMost(64), fmt.Sprintf("%d bytes per job", many.heap/manyJobs))
	budget.Row(t, "core", "100 000 jobs: goroutines while they wait", float64(many.goroutines), "", budget.AtMost(10), "of the scheduler itself")
	budget.Row(t, "core", "100 000 jobs: to add all", many.added.Seconds(), "s", budget.AtMost(1), "processor time, with the first sweep")
	budget.Row(t, "core", "100 000 jobs: idle", share, "% CPU", budget.AtMost(1), fmt.Sprintf("over %v", idle))
}

// obliging is a store that grants and records everything and takes no time.
type obliging struct {
	store.Store
	token atomic.Int64
}

func (o *obliging) Claim(context.Context, store.ClaimRequest) (store.ClaimAnswer, error) {
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: store.Token(o.token.Add(1)), Left: 30 * time.Second}, nil
}

func (*obliging) Finish(context.Context, store.FinishRequest) (store.FinishAnswer, error) {
	return store.FinishAnswer{Recorded: true}, nil
}

// TestBudgetStartPrecision: how long after their slot 1 000 jobs start that are due at
// once, without jitter, in real time; the store takes none of it.
func TestBudgetStartPrecision(t *testing.T) {
	budget.Only(t)
	s, err := New(&obliging{Store: model.New(model.Options{})}, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	type start struct {
		slot int64
		late time.Duration
	}
	var starts [1000][]start // of each job, so that the jobs need no lock
	for i := range starts {
		err := s.Add(Job{Name: fmt.Sprint("job ", i), Schedule: Every(2 * time.Second), Timing: Timing{Jitter: Disabled, CatchUp: Disabled}, Handler: func(_ context.Context, run Run) error {
			starts[i] = append(starts[i], start{run.Slot, time.Since(run.ScheduledAt)})
			time.Sleep(500 * time.Millisecond) // to finish is another matter
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 13*time.Second)
	defer cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	late := map[int64][]time.Duration{}
	for _, job := range starts {
		for _, s := range job {
			late[s.slot] = append(late[s.slot], s.late)
		}
	}
	var p99, median []float64
	for slot, all := range late {
		if len(all) < 1000 {
			continue // the first or the last, at the edge of the test
		}
		slices.Sort(all)
		p99 = append(p99, all[990].Seconds()*1000)
		median = append(median, all[500].Seconds()*1000)
		t.Logf("slot %s: median %v, p99 %v, worst %v", store.Time(slot).Format(time.TimeOnly), all[500], all[990], all[999])
	}
	if len(p99) < 4 {
		t.Fatalf("only %d whole slots", len(p99))
	}
	budget.Row(t, "core", "start after the slot, 1 000 jobs due at once, p99", budget.Least(p99), "ms", budget.AtMost(5),
		fmt.Sprintf("the best of %d slots; median %.1f ms", len(p99), budget.Least(median)))
}
