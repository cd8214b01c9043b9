package core_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/cron"
	"github.com/anarchon-go/anarchon/core/store"
)

// events collects what an instance tells.
type events struct {
	mu  sync.Mutex
	all []core.Event
}

func (r *events) add(e core.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

// nilError is the classic mistake: a nil pointer returned as an error.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// slowError takes its time to say what it is.
type slowError struct{ delay time.Duration }

func (e slowError) Error() string { time.Sleep(e.delay); return "slow" }

// askedError panics, or takes its time, when it is asked.
type askedError struct {
	what  string
	delay time.Duration
}

func (e askedError) asked(what string) {
	if e.what == what {
		time.Sleep(e.delay)
		if e.delay == 0 {
			panic("asked for " + what)
		}
	}
}

func (e askedError) Error() string        { e.asked("Error"); return "no answer" }
func (e askedError) Is(target error) bool { e.asked("Is"); return target == store.ErrNotApplied }
func (e askedError) Unwrap() error        { e.asked("Unwrap"); return nil }

// storeOfErrors answers about the job bad with an error.
type storeOfErrors struct {
	store.Store
	err error
}

func (s storeOfErrors) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	if q.Job == "bad" {
		return store.ClaimAnswer{}, s.err
	}
	return s.Store.Claim(ctx, q)
}

func (s storeOfErrors) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	if q.Job == "bad" {
		return store.HistoryAnswer{}, s.err
	}
	return s.Store.History(ctx, q)
}

// TestStoresErrorIsForeignCode: what the methods of a store's error do happens on the
// call's goroutine.
func TestStoresErrorIsForeignCode(t *testing.T) {
	for name, err := range map[string]error{
		"nil pointer": (*nilError)(nil), "Error panics": askedError{"Error", 0}, "Is panics": askedError{"Is", 0}, "Unwrap panics": askedError{"Unwrap", 0},
		"Error is slow": askedError{"Error", 3 * time.Second}, "Is is slow": askedError{"Is", time.Second}, "Unwrap is slow": askedError{"Unwrap", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rec events
				s, e := core.New(storeOfErrors{coretest.NewStore(store.KindLease), err}, core.Options{OnEvent: rec.add, Logger: slog.New(slog.DiscardHandler)})
				if e != nil {
					t.Fatal(e)
				}
				ticks := 0
				for job, handler := range map[string]core.Handler{
					"bad":  func(context.Context, core.Run) error { return nil },
					"good": func(context.Context, core.Run) error { ticks++; return nil },
				} {
					if err := s.Add(core.Job{Name: job, Schedule: core.Every(time.Second), Handler: handler, Timing: core.Timing{Jitter: core.Disabled}}); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+500*time.Millisecond)
				defer cancel()
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
				if ticks < 10 {
					t.Errorf("the other job ran %d times in 10 s of one each second", ticks)
				}
				skips := 0
				for _, e := range rec.all {
					if e, ok := e.(core.Skipped); ok && e.Job == "bad" && e.Err != nil {
						skips++
					}
				}
				if skips < 5 {
					t.Errorf("the job that the store has errors for was skipped %d times", skips)
				}
			})
		})
	}
}

// TestHandlersErrorIsForeignCode: what an error's methods do happens on the
// handler's goroutine, and never where leases are renewed.
func TestHandlersErrorIsForeignCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"nil pointer": {(*nilError)(nil), "nilError that panics when asked for its text"},
		"nil panic":   {(*core.PanicError)(nil), "PanicError that panics when asked for its text"},
		"own panic":   {&core.PanicError{Value: "of its own"}, "of its own"},
		"asked":       {askedError{"Is", 0}, "panics when asked"},
		"slow":        {slowError{8 * time.Second}, "slow"},
		"plain":       {errors.New("plain"), "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rec events
				s, err := core.New(coretest.NewStore(store.KindLease), core.Options{OnEvent: rec.add})
				if err != nil {
					t.Fatal(err)
				}
				first := true
				err = s.Add(core.Job{Name: "bad", Schedule: core.Every(time.Minute), Handler: func(context.Context, core.Run) error {
					if first {
						first = false
						return c.err
					}
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				ticks := 0
				err = s.Add(core.Job{Name: "good", Schedule: core.Every(time.Second), Handler: func(context.Context, core.Run) error {
					ticks++
					return nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
				defer cancel()
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
				if ticks < 88 {
					t.Errorf("the other job ran %d times in 90 s of one each second", ticks)
				}
				var failed []core.Failed
				for _, e := range rec.all {
					if e, ok := e.(core.Failed); ok {
						failed = append(failed, e)
					}
				}
				if len(failed) != 1 || !strings.Contains(failed[0].Err.Error(), c.want) {
					t.Errorf("failed events %v, want one with %q", failed, c.want)
				}
			})
		})
	}
}

// breaking is a schedule with a mistake that shows only later.
type breaking struct {
	core.Schedule
	method string
	from   time.Time
}

func (b breaking) Next(after time.Time) time.Time {
	if b.method == "Next" && after.After(b.from) {
		panic("index out of range")
	}
	return b.Schedule.Next(after)
}

func (b breaking) Prev(at time.Time) time.Time {
	if b.method == "Prev" && at.After(b.from) {
		panic("index out of range")
	}
	return b.Schedule.Prev(at)
}

// TestScheduleThatPanics: its job is planned no more, by name, and the others go on.
func TestScheduleThatPanics(t *testing.T) {
	for _, method := range []string{"Next", "Prev"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rec events
				s, err := core.New(coretest.NewStore(store.KindLease), core.Options{OnEvent: rec.add, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				runs := map[string]int{}
				var mu sync.Mutex
				count := func(_ context.Context, run core.Run) error {
					mu.Lock()
					defer mu.Unlock()
					runs[run.Job]++
					return nil
				}
				for name, schedule := range map[string]core.Schedule{
					"bad":  breaking{core.Every(time.Second), method, time.Now().Add(10 * time.Second)},
					"good": core.Every(time.Second),
				} {
					if err := s.Add(core.Job{Name: name, Schedule: schedule, Handler: count}); err != nil {
						t.Fatal(err)
					}
				}
				// Prev is asked at start, and when slots were passed over: after this.
				go func() {
					time.Sleep(20 * time.Second)
					if err := s.Add(core.Job{Name: "late", Schedule: breaking{core.Every(time.Second), method, time.Now().Add(-time.Hour)}, Handler: count}); err != nil {
						t.Error(err)
					}
				}()
				ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
				defer cancel()
				if err := s.Run(ctx); err != nil {
					t.Error(err)
				}
				if runs["good"] < 58 {
					t.Errorf("the other job ran %d times in 60 s of one each second", runs["good"])
				}
				if method == "Next" && (runs["bad"] < 8 || runs["bad"] > 12) {
					t.Errorf("the job ran %d times; its schedule breaks after 10 s", runs["bad"])
				}
				broken := map[string]int{}
				for _, e := range rec.all {
					if e, ok := e.(core.ScheduleBroken); ok {
						broken[e.Job]++
						if e.Panic != "index out of range" {
							t.Errorf("the event says %q", e.Panic)
						}
					}
				}
				want := map[string]int{"late": 1}
				if method == "Next" {
					want["bad"] = 1
				}
				if !maps.Equal(broken, want) {
					t.Errorf("events about %v, want %v", broken, want)
				}
			})
		})
	}
}

// panicHandler is a slog handler that panics.
type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panicHandler) Handle(context.Context, slog.Record) error { panic("handler of the log") }
func (h panicHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }

func TestPanickingLoggerStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rec events
		s, err := core.New(coretest.NewStore(store.KindLease), core.Options{OnEvent: rec.add, Logger: slog.New(panicHandler{})})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(core.Job{Name: "tick", Schedule: core.Every(time.Second), Handler: func(context.Context, core.Run) error { return nil }}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		n := 0
		for _, e := range rec.all {
			if _, ok := e.(core.Succeeded); ok {
				n++
			}
		}
		if n < 8 {
			t.Errorf("%d runs succeeded in 10 s of one each second", n)
		}
	})
}

func TestAddAfterTheEndIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := core.New(coretest.NewStore(store.KindLease), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		err = s.Add(core.Job{Name: "late", Schedule: core.Every(time.Second), Handler: func(context.Context, core.Run) error { return nil }})
		if !errors.Is(err, core.ErrStopped) {
			t.Errorf("Add after the end: %v, want ErrStopped", err)
		}
	})
}

// TestNilsAreErrors: an error that was not looked at leaves a nil behind.
func TestNilsAreErrors(t *testing.T) {
	var nilStore *coretest.Store
	if _, err := core.New(nilStore, core.Options{}); err == nil {
		t.Error("New took a nil store in an interface")
	}
	s, err := core.New(coretest.NewStore(store.KindLease), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var nilSchedule *cron.Schedule
	err = s.Add(core.Job{Name: "nil", Schedule: nilSchedule, Handler: func(context.Context, core.Run) error { return nil }})
	if err == nil || !strings.Contains(err.Error(), "cron.Parse") {
		t.Errorf("Add of a nil schedule: %v", err)
	}
}
