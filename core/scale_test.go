package core

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

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
// goroutine while they wait, and two seconds of processor time to add: twice what the
// budget allows on a machine that does nothing else (make bench).
func TestHundredThousandJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	many := holdMany(t)
	defer many.stop()
	t.Logf("heap %d MB, %d bytes per job; added in %v of processor time; %d goroutines", many.heap>>20, many.heap/manyJobs, many.added, many.goroutines)
	if many.heap > 64<<20 {
		t.Errorf("%d bytes of heap, at most 64 MB are allowed", many.heap)
	}
	if many.added > 2*time.Second && !RaceDetector {
		t.Errorf("adding took %v of processor time, at most 2 s are allowed", many.added)
	}
	if many.goroutines > 10 {
		t.Errorf("%d goroutines for jobs that wait", many.goroutines)
	}
}

const manyJobs = 100_000

// held is what manyJobs waiting jobs take.
type held struct {
	heap       int64
	added      time.Duration // processor time until the machine had them all
	goroutines int
	stop       func()
}

// holdMany adds manyJobs jobs, none of which is due while the test runs.
func holdMany(t *testing.T) held {
	names := make([]string, manyJobs) // the caller's
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
	h := held{added: cpuTime() - before, heap: heapInUse() - heap, goroutines: runtime.NumGoroutine() - goroutines}
	runtime.KeepAlive(names)
	h.stop = func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	return h
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first one let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
