package coretest_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
)

var slot = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func TestRunSlot(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		handler core.Handler
		outcome store.Outcome
		check   func(error) bool
	}{
		{"success", func(context.Context, core.Run) error { return nil }, store.OutcomeSuccess, func(err error) bool { return err == nil }},
		{"error", func(context.Context, core.Run) error { return broken }, store.OutcomeFailed, func(err error) bool { return errors.Is(err, broken) }},
		{"panic", func(context.Context, core.Run) error { panic(broken) }, store.OutcomeFailed, func(err error) bool {
			var p *core.PanicError
			return errors.As(err, &p) && errors.Is(err, broken) && len(p.Stack) > 0
		}},
		{"Goexit", func(context.Context, core.Run) error { runtime.Goexit(); return nil }, store.OutcomeFailed, func(err error) bool {
			var p *core.PanicError
			return errors.As(err, &p)
		}},
		{"timeout", func(ctx context.Context, _ core.Run) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), core.ErrTimeout) {
				return context.Cause(ctx)
			}
			return nil
		}, store.OutcomeFailed, func(err error) bool { return errors.Is(err, core.ErrTimeout) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got core.Run
				res, err := coretest.RunSlot(t.Context(), core.Job{
					Name: "job", Schedule: core.Every(time.Hour), Timeout: time.Minute,
					Handler: func(ctx context.Context, run core.Run) error {
						got = run
						return tt.handler(ctx, run)
					},
				}, slot)
				if err != nil || res.Outcome != tt.outcome || !tt.check(res.Err) || res.Run != got {
					t.Errorf("%+v, %v; the handler was given %+v", res, err, got)
				}
				if got.Job != "job" || !got.ScheduledAt.Equal(slot) || got.Slot != slot.UnixMilli() || got.Attempt != 1 || got.Token <= 0 || got.Reason != store.ReasonScheduled {
					t.Errorf("the handler was given %+v", got)
				}
			})
		})
	}
}

// TestRunSlotInRealTime: it does not wait for the slot.
func TestRunSlotInRealTime(t *testing.T) {
	begin := time.Now()
	for _, at := range []time.Time{slot, slot.AddDate(50, 0, 0), time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC)} {
		res, err := coretest.RunSlot(t.Context(), core.Job{Name: "job", Schedule: core.Every(time.Hour), Handler: func(context.Context, core.Run) error { return nil }}, at)
		if err != nil || res.Outcome != store.OutcomeSuccess || !res.Run.ScheduledAt.Equal(at) {
			t.Errorf("slot %v: %+v, %v", at, res, err)
		}
	}
	if took := time.Since(begin); took > 10*time.Second { // some milliseconds on an idle machine
		t.Errorf("three slots took %v", took)
	}
}

func TestRunAttempt(t *testing.T) {
	for _, attempt := range []int{1, 2, 7} {
		res, err := coretest.RunAttempt(t.Context(), core.Job{Name: "job", Schedule: core.Every(time.Hour), Timing: core.Timing{MaxAttempts: 1}, Handler: func(context.Context, core.Run) error { return nil }}, slot, attempt)
		want := store.ReasonScheduled
		if attempt > 1 {
			want = store.ReasonTakeover
		}
		if err != nil || res.Run.Attempt != attempt || res.Run.Reason != want || res.Outcome != store.OutcomeSuccess {
			t.Errorf("attempt %d: %+v, %v", attempt, res, err)
		}
	}
}

func TestRunSlotIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := coretest.RunSlot(ctx, core.Job{Name: "job", Schedule: core.Every(time.Hour), Handler: func(ctx context.Context, _ core.Run) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}}, slot)
		if err != nil || res.Outcome != store.OutcomeReleased || !errors.Is(res.Err, core.ErrStopped) {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

func TestRunSlotRefuses(t *testing.T) {
	nop := func(context.Context, core.Run) error { return nil }
	good := core.Job{Name: "job", Schedule: core.Every(time.Hour), Handler: nop}
	for _, tt := range []struct {
		name    string
		job     core.Job
		slot    time.Time
		attempt int
		want    string
	}{
		{"no handler", core.Job{Name: "job", Schedule: core.Every(time.Hour)}, slot, 1, "handler is nil"},
		{"a broken rule", core.Job{Name: "job", Schedule: core.Every(time.Hour), Handler: nop, Timing: core.Timing{Jitter: time.Hour}}, slot, 1, "jitter"},
		{"no slot", good, slot.Add(time.Minute), 1, "2026-03-01T10:01:00Z is no slot of every 1h0m0s; the ones around it are 2026-03-01T10:00:00Z and 2026-03-01T11:00:00Z"},
		{"too late", good, time.Date(2262, 4, 11, 0, 0, 0, 0, time.UTC), 1, "2262-04-11T00:00:00Z is no slot that a scheduler plans"},
		{"far too late", good, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), 1, "years 1678 to 2262"},
		{"too early", good, time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), 1, "years 1678 to 2262"},
		{"attempt 0", good, slot, 0, "attempt is 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := coretest.RunAttempt(t.Context(), tt.job, tt.slot, tt.attempt)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestRunSlotNamesAStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		var calls atomic.Int32
		_, err := coretest.RunSlot(t.Context(), core.Job{
			Name: "job", Schedule: core.Every(time.Hour), Timeout: time.Second, Timing: core.Timing{StopTimeout: time.Second},
			Handler: func(context.Context, core.Run) error { calls.Add(1); <-over; return nil },
		}, slot)
		if !errors.Is(err, core.ErrHandlerStuck) || calls.Load() != 1 {
			t.Errorf("error is %v after %d calls", err, calls.Load())
		}
		close(over)
	})
}

// TestStore: two instances share it, also through an outage.
func TestStore(t *testing.T) {
	for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := coretest.NewStore(kind)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				runs := make(chan core.Run, 100)
				for range 2 {
					s, err := core.New(st, core.Options{Logger: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Fatal(err)
					}
					err = s.Add(core.Job{Name: "job", Schedule: core.Every(time.Minute), Timing: core.Timing{CatchUp: core.Disabled}, Handler: func(_ context.Context, run core.Run) error {
						runs <- run
						return nil
					}})
					if err != nil {
						t.Fatal(err)
					}
					go func() { done <- s.Run(ctx) }()
				}
				time.Sleep(5*time.Minute + 30*time.Second)
				st.SetDown(true)
				time.Sleep(5 * time.Minute)
				st.SetDown(false)
				time.Sleep(5 * time.Minute)
				cancel()
				if err := errors.Join(<-done, <-done); err != nil {
					t.Error(err)
				}
				// Each minute until 5:00, then that of 10:00, still in time when the
				// store was back at 10:30, and again each minute until 15:00.
				if len(runs) != 11 {
					t.Errorf("%d runs", len(runs))
				}
			})
		})
	}
}

// TestClock: an instance and its store go by clocks that the test sets; the instance says
// that they differ.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := coretest.NewClock(time.Now())
		skews := make(chan core.ClockSkew, 1)
		s, err := core.New(coretest.NewStore(store.KindLease, coretest.WithClock(theirs)), core.Options{
			Logger: slog.New(slog.DiscardHandler),
			OnEvent: func(e core.Event) {
				if e, ok := e.(core.ClockSkew); ok {
					skews <- e
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(core.Job{Name: "job", Schedule: core.Every(time.Hour), Handler: func(context.Context, core.Run) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		theirs.Set(time.Now().Add(30 * time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		select {
		case e := <-skews:
			if e.By.Round(time.Second) != 30*time.Second {
				t.Errorf("the clocks differ by %v", e.By)
			}
		default:
			t.Error("nobody says that the clocks differ")
		}
	})
}

func TestNewStorePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a store of no kind was made")
		}
	}()
	coretest.NewStore(0)
}

// TestRunSlotWithAShortMaxLate: what is late is the scheduler's matter, not the job's.
func TestRunSlotWithAShortMaxLate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var over atomic.Bool
	defer over.Store(true)
	for range 4 { // a machine that is so busy that every timer is late
		go func() {
			for !over.Load() {
			}
		}()
	}
	job := core.Job{Name: "job", Schedule: core.Every(time.Hour), Timing: core.Timing{MaxLate: time.Nanosecond, Jitter: core.Disabled}, Handler: func(context.Context, core.Run) error { return nil }}
	for range 3 {
		if res, err := coretest.RunSlot(t.Context(), job, slot); err != nil || res.Outcome != store.OutcomeSuccess {
			t.Fatalf("%+v, %v", res, err)
		}
	}
}

// slow is a schedule on a machine that is busy.
type slow struct{ core.Schedule }

func (s slow) String() string {
	time.Sleep(5 * time.Millisecond)
	return s.Schedule.String()
}

// TestRunSlotOnASlowMachine: the slot does not pass before the job was planned.
func TestRunSlotOnASlowMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := coretest.RunSlot(ctx, core.Job{Name: "job", Schedule: slow{core.Every(time.Hour)}, Handler: func(context.Context, core.Run) error { return nil }}, slot)
		if err != nil || res.Outcome != store.OutcomeSuccess {
			t.Errorf("%+v, %v", res, err)
		}
	})
}
