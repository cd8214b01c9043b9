package core

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

var measure = flag.Bool("measure", false, "also measure idle CPU and start precision in real time; for a machine that does nothing else")

// counting is a store that says when the first sweep asked it.
type counting struct {
	store.Store
	swept chan struct{}
	once  sync.Once
}

func (c *counting) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	c.once.Do(func() { close(c.swept) })
	return c.Store.Unfinished(ctx, q)
}

// TestHundredThousandJobs: in one process they take at most 64 MB of heap, no
// goroutine while they wait, a second to add, and less than 1 % of a processor
// while nothing is due (the last with -measure only).
func TestHundredThousandJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	const jobs = 100_000
	names := make([]string, jobs) // the caller's
	for i := range names {
		names[i] = fmt.Sprintf("customer %06d/report", i)
	}
	heap, goroutines := heapInUse(), runtime.NumGoroutine()

	st := &counting{Store: model.New(model.Options{}), swept: make(chan struct{})}
	s, err := New(st, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	// Not due while the test runs, whenever that is.
	gap := time.Until(time.Now().Truncate(24*time.Hour)) + 1000*24*time.Hour
	schedule := Every(gap.Truncate(time.Hour))
	before := cpuTime()
	for _, name := range names {
		err := s.Add(Job{Name: name, Schedule: schedule, Handler: nop, Timing: Timing{CatchUp: Disabled}})
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	<-st.swept // the machine has them all
	added := cpuTime() - before

	used := heapInUse() - heap
	t.Logf("heap %d MB, %d bytes per job; added in %v of processor time; %d goroutines", used>>20, used/jobs, added, runtime.NumGoroutine()-goroutines)
	if used > 64<<20 {
		t.Errorf("%d bytes of heap, at most 64 MB are allowed", used)
	}
	if added > time.Second && !raceDetector {
		t.Errorf("adding took %v of processor time, at most 1 s is allowed", added)
	}
	if n := runtime.NumGoroutine() - goroutines; n > 10 {
		t.Errorf("%d goroutines for jobs that wait", n)
	}
	if *measure {
		const idle = 5 * time.Second
		before := cpuTime()
		time.Sleep(idle)
		share := 100 * float64(cpuTime()-before) / float64(idle)
		t.Logf("idle: %.2f %% of a processor", share)
		if share >= 1 {
			t.Errorf("%.2f %% of a processor while nothing is due, less than 1 %% is allowed", share)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first one let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestStartPrecisionMeasured: of 1000 jobs that are due at once, 99 % start within
// 5 ms of their slot, in real time.
func TestStartPrecisionMeasured(t *testing.T) {
	if !*measure {
		t.Skip("only with -measure: needs a machine that does nothing else")
	}
	s, err := New(model.New(model.Options{}), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var late []time.Duration
	for i := range 1000 {
		err := s.Add(Job{Name: fmt.Sprint("job ", i), Schedule: Every(3 * time.Second), Timing: Timing{Jitter: Disabled, CatchUp: Disabled}, Handler: func(_ context.Context, run Run) error {
			d := time.Since(run.ScheduledAt)
			mu.Lock()
			late = append(late, d)
			mu.Unlock()
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
	slices.Sort(late)
	if len(late) < 3000 {
		t.Fatalf("only %d runs", len(late))
	}
	p99 := late[len(late)*99/100]
	t.Logf("%d runs, median %v, p99 %v, worst %v", len(late), late[len(late)/2], p99, late[len(late)-1])
	if p99 > 5*time.Millisecond {
		t.Errorf("99 %% start within %v of their slot, 5 ms are allowed", p99)
	}
}
