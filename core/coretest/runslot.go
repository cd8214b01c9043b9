package coretest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// Result is how a run ended.
type Result struct {
	Run core.Run // what the handler was given
	// Outcome is what the store was told: success, failed, or, if the context
	// given to RunSlot was done before the handler returned an error, released.
	Outcome store.Outcome
	// Err is the handler's error, nil for a success. A panic is a
	// *[core.PanicError], a timeout wraps [core.ErrTimeout].
	Err  error
	Took time.Duration
}

// RunSlot executes the job's handler for a slot of its schedule, as a first
// attempt, and returns how that ended. See [RunAttempt].
func RunSlot(ctx context.Context, job core.Job, slot time.Time) (Result, error) {
	return RunAttempt(ctx, job, slot, 1)
}

// RunAttempt executes the job's handler for a slot of its schedule as the attempt
// of that number, from 1: a later one is what a takeover gives to the handler
// after the attempts before it ended half way.
//
// A real scheduler runs it, over a store of its own in memory, on a clock at which
// the slot has just come: the timer, the claim, the timeout and the recovery of
// panics are those of production. Other slots of the schedule are not run. When
// ctx is done the handler is stopped like one of an instance that stops
// ([core.ErrStopped]).
//
// The error is about the question: a job that [core.Scheduler.Add] would refuse, a
// time that is no slot of its schedule, or a handler that still runs after the
// stop timeout ([core.ErrHandlerStuck]). What the handler did wrong is in the
// result.
func RunAttempt(ctx context.Context, job core.Job, slot time.Time, attempt int) (Result, error) {
	if attempt < 1 {
		return Result{}, fmt.Errorf("coretest: attempt is %d; it must be at least 1", attempt)
	}
	slot = store.Time(slot.UnixMilli())
	c := &clock{first: slot.Add(-time.Millisecond)}
	st := model.New(model.Options{Now: c.now})

	ended := make(chan core.Event, 1)
	s, err := core.New(st, core.Options{Now: c.now, Logger: slog.New(slog.DiscardHandler), OnEvent: func(e core.Event) {
		switch e.(type) {
		case core.Succeeded, core.Failed, core.Interrupted, core.Stuck, core.Skipped, core.Lost, core.Unrecorded:
			select {
			case ended <- e:
			default: // what comes after the end
			}
		}
	}})
	if err != nil {
		return Result{}, err
	}
	if err := addOnly(s, job, once{Schedule: job.Schedule, clock: c, slot: slot, past: attempt > 1}); err != nil {
		return Result{}, err
	}
	if err := spend(ctx, st, job.Name, slot, attempt-1); err != nil {
		return Result{}, err
	}
	return await(ctx, s, ended)
}

// addOnly adds the job with this slot as the only one. What the handler does not
// see is made quick.
func addOnly(s *core.Scheduler, job core.Job, only once) error {
	if err := s.Add(job); err != nil { // as it is: for its faults
		return err
	}
	if err := s.Remove(job.Name); err != nil {
		return err
	}
	if !plannable(only.slot) {
		return fmt.Errorf("coretest: %s is no slot that a scheduler plans; they are in the years 1678 to 2262", text(only.slot))
	}
	if prev := job.Schedule.Prev(only.slot); !prev.Equal(only.slot) {
		return fmt.Errorf("coretest: %s is no slot of %v; the ones around it are %s and %s", text(only.slot), job.Schedule, text(prev), text(job.Schedule.Next(only.slot)))
	}
	job.Schedule = only
	job.OnUnconfirmed = core.Continue // there is nobody else
	job.Timing.Jitter, job.Timing.CatchUp = core.Disabled, core.Disabled
	job.Timing.MaxLate = time.Hour // however slow this machine is
	job.Timing.Lease, job.Timing.Heartbeat = time.Second, 200*time.Millisecond
	return s.Add(job)
}

// plannable reports whether a clock of nanoseconds can show the day before the slot and
// the day after it.
func plannable(slot time.Time) bool {
	for _, days := range []int{-1, 1} {
		if at := slot.AddDate(0, 0, days); !time.Unix(0, at.UnixNano()).Equal(at) {
			return false
		}
	}
	return true
}

func text(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// clock stands still a millisecond before the slot until the scheduler plans, and
// then runs: however slow the machine is, the slot does not pass unseen.
type clock struct {
	first   time.Time
	started atomic.Pointer[time.Time]
}

func (c *clock) now() time.Time {
	started := c.started.Load()
	if started == nil {
		return c.first
	}
	return c.first.Add(time.Since(*started))
}

func (c *clock) start() {
	now := time.Now()
	c.started.CompareAndSwap(nil, &now)
}

// once is a schedule with one slot of another.
type once struct {
	core.Schedule
	clock *clock
	slot  time.Time
	past  bool // the slot is over: an attempt of it was granted before
}

func (o once) Next(after time.Time) time.Time {
	o.clock.start()
	if o.past || !after.Before(o.slot) {
		return time.Time{}
	}
	return o.slot
}

func (o once) Prev(at time.Time) time.Time {
	if at.Before(o.slot) {
		return time.Time{}
	}
	return o.slot
}

// spend lets another instance take the run, and hand it over, so many times.
func spend(ctx context.Context, st store.Store, job string, slot time.Time, attempts int) error {
	for n := range attempts {
		won, err := st.Claim(ctx, store.ClaimRequest{
			Job: job, Slot: slot.UnixMilli(), ID: store.NewClaimID(), After: n, Instance: "before", Reason: store.ReasonScheduled,
			Lease: time.Minute, MaxEarly: time.Minute, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 1, HistorySize: 1,
		})
		if err == nil {
			_, err = st.Finish(ctx, store.FinishRequest{Job: job, Slot: slot.UnixMilli(), Token: won.Token, Outcome: store.OutcomeReleased})
		}
		if err != nil {
			return fmt.Errorf("coretest: attempt %d before this one: %w", n+1, err)
		}
	}
	return nil
}

// await runs the scheduler until the run has ended.
func await(ctx context.Context, s *core.Scheduler, ended <-chan core.Event) (Result, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- s.Run(running) }()

	var err error
	select {
	case e := <-ended:
		stop()
		return result(e, <-done)
	case err = <-done: // stopped, or stuck
	}
	select {
	case e := <-ended:
		return result(e, err)
	default:
		return Result{}, errors.Join(err, context.Cause(ctx))
	}
}

func result(e core.Event, err error) (Result, error) {
	switch e := e.(type) {
	case core.Succeeded:
		return Result{Run: e.Run, Outcome: store.OutcomeSuccess, Took: e.Took}, err
	case core.Failed:
		return Result{Run: e.Run, Outcome: store.OutcomeFailed, Err: e.Err, Took: e.Took}, err
	case core.Interrupted:
		return Result{Run: e.Run, Outcome: store.OutcomeReleased, Err: e.Err, Took: e.Took}, err
	case core.Stuck:
		return Result{Run: e.Run}, err // which names it
	}
	return Result{}, errors.Join(err, fmt.Errorf("coretest: the run did not come to an end: %+v", e))
}
