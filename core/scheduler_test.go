package core_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
)

// recorder collects the events of an instance.
type recorder struct {
	mu     sync.Mutex
	events []core.Event
}

func (r *recorder) add(e core.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func count[T core.Event](r *recorder) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events {
		if _, ok := e.(T); ok {
			n++
		}
	}
	return n
}

func TestThreeInstancesShareTheRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := model.New(model.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var mu sync.Mutex
		ran := map[int64]int{}
		recorders := make([]recorder, 3)
		for i := range 3 {
			s, err := core.New(st, core.Options{OnEvent: recorders[i].add, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Add(core.Job{Name: "tick", Schedule: core.Every(10 * time.Second), Handler: func(ctx context.Context, run core.Run) error {
				mu.Lock()
				defer mu.Unlock()
				ran[run.Slot]++
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(10 * time.Minute)
		cancel()
		wg.Wait()
		if len(ran) < 59 || len(ran) > 61 {
			t.Errorf("%d slots ran in 10 minutes of one each 10 s", len(ran))
		}
		for slot, n := range ran {
			if n != 1 {
				t.Errorf("slot %d ran %d times", slot, n)
			}
		}
		for i := range recorders {
			if n := count[core.Started](&recorders[i]); n == 0 {
				t.Errorf("instance %d won nothing in 60 slots", i)
			}
			for _, e := range recorders[i].events {
				if e, ok := e.(core.Skipped); ok {
					t.Errorf("instance %d: %+v", i, e)
				}
			}
		}
	})
}

func TestStopHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := model.New(model.Options{})
		var recs [2]recorder
		var cancels [2]context.CancelFunc
		var wg sync.WaitGroup
		started := make(chan int, 10)
		for i := range 2 {
			s, err := core.New(st, core.Options{OnEvent: recs[i].add, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Add(core.Job{Name: "long", Schedule: core.Every(time.Hour), Handler: func(ctx context.Context, run core.Run) error {
				started <- i
				if run.Attempt > 1 {
					return nil
				}
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), core.ErrStopped) {
					t.Errorf("cause is %v", context.Cause(ctx))
				}
				return ctx.Err()
			}})
			if err != nil {
				t.Fatal(err)
			}
			var ctx context.Context
			ctx, cancels[i] = context.WithCancel(t.Context())
			wg.Go(func() {
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		first := <-started
		stopped := time.Now()
		cancels[first]()
		second := <-started
		if second == first {
			t.Error("the stopped instance ran again")
		}
		if d := time.Since(stopped); d > 10*time.Second {
			t.Errorf("handed over after %v; two heartbeats are 10 s", d)
		}
		time.Sleep(time.Second)
		cancels[1-first]()
		wg.Wait()
		if n := count[core.Interrupted](&recs[first]); n != 1 {
			t.Errorf("%d interrupted events, want 1", n)
		}
		if n := count[core.Succeeded](&recs[second]); n != 1 {
			t.Errorf("%d succeeded events, want 1", n)
		}
	})
}
