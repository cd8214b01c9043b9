package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
)

// A service runs a job. In production the store is a plugin: see storekit.Open.
func Example() {
	s, err := core.New(coretest.NewStore(store.KindLease), core.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	err = s.Add(core.Job{
		Name:     "heartbeat/send",
		Schedule: core.Every(time.Second),
		Timing:   core.Timing{Jitter: core.Disabled},
		Handler: func(ctx context.Context, run core.Run) error {
			fmt.Println("attempt", run.Attempt, "of a slot at", run.ScheduledAt.Nanosecond(), "ns after a full second")
			stop() // enough for an example
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: attempt 1 of a slot at 0 ns after a full second
}

// Slots are multiples of the interval since the Unix epoch, so that all instances
// agree whenever they start.
func ExampleEvery() {
	s := core.Every(90 * time.Minute)
	t := time.Date(2026, 3, 1, 10, 7, 0, 0, time.UTC)
	fmt.Println("newest:", s.Prev(t).Format(time.DateTime))
	fmt.Println("next:  ", s.Next(t).Format(time.DateTime))
	// Output:
	// newest: 2026-03-01 09:00:00
	// next:   2026-03-01 10:30:00
}

// All faults of a job come in one error, each rule with its values and the remedy.
func ExampleScheduler_Add() {
	s, err := core.New(coretest.NewStore(store.KindLease), core.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Add(core.Job{
		Name:     "poll",
		Schedule: core.Every(time.Second),
		Handler:  func(context.Context, core.Run) error { return nil },
		Timing:   core.Timing{Jitter: 2 * time.Second, Heartbeat: 20 * time.Second},
	})
	fmt.Println(err)
	var rule *core.RuleError
	if errors.As(err, &rule) {
		fmt.Println("first rule:", rule.Rule)
	}
	// Output:
	// core: job "poll" cannot be added:
	// 0 <= jitter < half the smallest gap between slots: jitter is 2s, half the smallest gap is 500ms; shorten the jitter: else the jitter windows of two slots could meet
	// heartbeat < half the lease: heartbeat is 20s, half the lease is 15s; lengthen the lease or shorten the heartbeat: a lease must be renewed at least twice before it can end
	// first rule: 0 <= jitter < half the smallest gap between slots
}

// A handler that watches its context, and tells why it was cancelled.
func ExampleHandler() {
	handler := func(ctx context.Context, run core.Run) error {
		select {
		case <-time.After(time.Minute): // the work
			return nil
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), core.ErrLost) {
				fmt.Println("somebody else has the run: write nothing more")
			}
			return context.Cause(ctx)
		}
	}
	res, err := coretest.RunSlot(context.Background(), core.Job{
		Name: "report", Schedule: core.Every(time.Hour), Handler: handler, Timeout: 10 * time.Millisecond,
	}, time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	fmt.Println(res.Outcome, errors.Is(res.Err, core.ErrTimeout), err)
	// Output: failed true <nil>
}

// Events are typed values, given in order to one callback.
func ExampleOptions_onEvent() {
	ctx, stop := context.WithCancel(context.Background())
	s, err := core.New(coretest.NewStore(store.KindLease), core.Options{
		Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(e core.Event) {
			if ctx.Err() != nil {
				return // one is enough for an example
			}
			switch e := e.(type) {
			case core.Failed:
				fmt.Println(e.Run.Job, "failed:", e.Err)
				stop()
			case core.Lost:
				fmt.Println(e.Run.Job, "was lost to another instance")
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Add(core.Job{
		Name: "import", Schedule: core.Every(time.Second),
		Handler: func(context.Context, core.Run) error { return errors.New("no such file") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Run(ctx); err != nil {
		fmt.Println(err)
	}
	// Output: import failed: no such file
}

// The attempts of a job, newest first, as the store remembers them.
func ExampleScheduler_History() {
	st := coretest.NewStore(store.KindLease)
	s, err := core.New(st, core.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	attempts, err := s.History(context.Background(), "report", 10)
	for _, a := range attempts {
		fmt.Println(store.Time(a.Slot), a.Attempt, a.Status, a.Instance, a.Error)
	}
	fmt.Println(len(attempts), "attempts", err)
	// Output: 0 attempts <nil>
}
