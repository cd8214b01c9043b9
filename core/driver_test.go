package core_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// hourly is a job that is due at 01:00, without jitter.
func hourly(h core.Handler) core.Job {
	return core.Job{Name: "job", Schedule: core.Every(time.Hour), Handler: h, Timing: core.Timing{Jitter: core.Disabled, CatchUp: core.Disabled}}
}

func TestHandlersThatEndBadly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		handler core.Handler
		want    string // in the store's record
	}{
		{"error", func(context.Context, core.Run) error { return errors.New("no space left") }, "no space left"},
		{"panic", func(context.Context, core.Run) error { panic("index out of range") }, "handler panicked: index out of range\ngoroutine"},
		{"panic with an error", func(context.Context, core.Run) error { panic(errors.New("broken")) }, "handler panicked: broken"},
		{"panic with nil", func(context.Context, core.Run) error { panic(nil) }, "handler panicked: panic called with nil"},
		{"Goexit", func(context.Context, core.Run) error { runtime.Goexit(); return nil }, "handler called runtime.Goexit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, model.Options{})
				in := w.start(core.Options{}, hourly(tt.handler))
				at(time.Hour + time.Second)
				ans, err := w.st.History(t.Context(), store.HistoryRequest{Job: "job", Limit: 10})
				if err != nil || len(ans.Attempts) != 1 || ans.Attempts[0].Status != store.StatusFailed || !strings.Contains(ans.Attempts[0].Error, tt.want) {
					t.Errorf("history is %+v, %v", ans.Attempts, err)
				}
				if f := told[core.Failed](in); len(f) != 1 || !strings.Contains(f[0].Err.Error(), tt.want) {
					t.Errorf("events %+v", f)
				}
				at(2*time.Hour + time.Second) // the scheduler lives
				if n := len(told[core.Failed](in)); n != 2 {
					t.Errorf("%d failed runs after two slots", n)
				}
			})
		})
	}
}

// TestHandlerThatIgnoresItsContext: Run does not wait for it longer than the stop
// timeout, names it, and renews its lease until then and not longer.
func TestHandlerThatIgnoresItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		in := w.start(core.Options{}, hourly(func(context.Context, core.Run) error {
			<-w.over
			return nil
		}))
		at(time.Hour + time.Minute)
		in.stop()
		err := <-in.err
		if !errors.Is(err, core.ErrHandlerStuck) || !strings.Contains(err.Error(), `job "job", slot 2000-01-01T01:00:00Z, attempt 1`) {
			t.Errorf("Run says %v", err)
		}
		if got := since(time.Now()); got != time.Hour+time.Minute+30*time.Second {
			t.Errorf("it took until %v", got)
		}
		ans, err := w.st.Unfinished(t.Context(), store.UnfinishedRequest{})
		if err != nil || len(ans.Runs) != 1 || ans.Runs[0].Left < 24*time.Second {
			t.Errorf("unfinished are %+v, %v", ans.Runs, err)
		}
	})
}

// TestStartPrecision: a thousand jobs that are due at once start at their slot,
// to the nanosecond, but for the time that the store takes.
func TestStartPrecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		number := 1000
		if core.RaceDetector { // with so many goroutines at once it ends now and then: "ThreadSanitizer: CHECK failed"
			number = 100
		}
		var jobs []core.Job
		for i := range number {
			j := hourly(w.working(0))
			j.Name = fmt.Sprint("job ", i)
			jobs = append(jobs, j)
		}
		w.start(core.Options{}, jobs...)
		at(time.Hour + time.Second)
		runs := w.ran()
		if len(runs) != number {
			t.Errorf("%d runs", len(runs))
		}
		for _, r := range runs {
			if late := r.begin.Sub(r.ScheduledAt); late != time.Millisecond { // the call's
				t.Fatalf("%s started %v after its slot", r.Job, late)
			}
		}
	})
}

// TestBlockingCallback: a callback that blocks delays later events, but no
// renewal: with a lease of 6 s a run of a minute is not taken over.
func TestBlockingCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		job := hourly(w.working(time.Minute))
		job.Timing.Lease = 6 * time.Second
		var order []string
		blocked := w.start(core.Options{OnEvent: func(e core.Event) {
			order = append(order, fmt.Sprintf("%T", e))
			time.Sleep(45 * time.Second)
		}}, job)
		at(time.Hour + 3*time.Second) // it has the run
		other := w.start(core.Options{}, job)
		at(time.Hour + 2*time.Minute)
		if h := w.history("job"); len(h) != 1 || h[0] != "1h0m0s/1 success" {
			t.Errorf("history is %q", h)
		}
		if n := len(told[core.Backup](other)); n != 1 {
			t.Errorf("the other instance was a backup %d times", n)
		}
		blocked.stop()
		if err := <-blocked.err; err != nil {
			t.Error(err)
		}
		// Warnings of the store come first, then what happened, in order.
		if got := strings.Join(order[len(order)-2:], " "); got != "core.Started core.Succeeded" {
			t.Errorf("events %q", order)
		}
	})
}

// TestCallbackThatNeverReturns keeps Run from returning for a moment only.
func TestCallbackThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		in := w.start(core.Options{OnEvent: func(core.Event) { <-w.over }}, hourly(w.working(0)))
		at(time.Hour + time.Second)
		in.stop()
		if err := <-in.err; err == nil || !strings.Contains(err.Error(), "OnEvent") {
			t.Errorf("Run says %v", err)
		}
		if took := since(time.Now()) - time.Hour; took > time.Minute {
			t.Errorf("after %v", took)
		}
	})
}

// TestCallbackThatPanics loses that one event.
func TestCallbackThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		events := 0
		in := w.start(core.Options{OnEvent: func(core.Event) {
			events++
			panic("a bug in the callback")
		}}, hourly(w.working(0)))
		at(2*time.Hour + time.Second)
		in.stop()
		if err := <-in.err; err != nil || events < 4 || len(w.ran()) != 2 {
			t.Errorf("%v; %d events, %d runs", err, events, len(w.ran()))
		}
	})
}

// TestStoresThatMisbehave: whatever a store does, the scheduler neither hangs nor
// dies, and goes on when the store is well again.
func TestStoresThatMisbehave(t *testing.T) {
	for name, f := range map[string]fault{"cut": cut, "mute": mute, "hung": hung, "stuck": stuck, "panicking": panicking} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, model.Options{})
				j := hourly(w.working(0))
				j.Timing.CatchUp = 10 * time.Minute
				at(11 * time.Minute) // midnight's slot is too old to catch up
				in := w.start(core.Options{}, j)
				at(time.Hour - time.Second)
				if err := in.Healthy(); err != nil {
					t.Errorf("Healthy says %v before anything happened", err)
				}
				in.link.set(f)
				at(time.Hour + 90*time.Second)
				if in.Healthy() == nil {
					t.Error("Healthy says nothing")
				}
				if n := len(told[core.StoreError](in)); n != 1 {
					t.Errorf("%d StoreError events", n)
				}
				s := told[core.Skipped](in)
				if len(s) != 1 || s[0].Reason != core.SkipUnreachable && s[0].Reason != core.SkipUnknown {
					t.Errorf("skipped %+v", s)
				}
				in.link.set(whole)
				at(time.Hour + 4*time.Minute)
				if err := in.Healthy(); err != nil || len(told[core.StoreBack](in)) != 1 {
					t.Errorf("Healthy says %v, events %+v", err, told[core.StoreBack](in))
				}
				// A mute store granted the claim, and its lease had to end first.
				if runs := w.ran(); len(runs) != 1 || runs[0].Slot != midnight.Add(time.Hour).UnixMilli() {
					t.Errorf("ran %+v", runs)
				}

				in.link.set(f)
				at(time.Hour + 5*time.Minute)
				in.stop()
				if err := <-in.err; err != nil {
					t.Errorf("Run says %v", err)
				}
				if took := since(time.Now()) - time.Hour - 5*time.Minute; took > 15*time.Second {
					t.Errorf("the stop took %v", took)
				}
			})
		})
	}
}

// TestStopWithoutAStore: the handler returned, and nobody takes its outcome.
func TestStopWithoutAStore(t *testing.T) {
	for name, f := range map[string]fault{"cut": cut, "hung": hung, "stuck": stuck} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, model.Options{})
				in := w.start(core.Options{}, hourly(w.working(time.Hour)))
				at(time.Hour + time.Minute)
				in.link.set(f)
				in.stop()
				if err := <-in.err; err != nil {
					t.Errorf("Run says %v", err)
				}
				if took := since(time.Now()) - time.Hour - time.Minute; took < 30*time.Second || took > 45*time.Second {
					t.Errorf("the stop took %v, want about the stop timeout", took)
				}
				if n := len(told[core.Unrecorded](in)); n != 1 {
					t.Errorf("%d Unrecorded events", n)
				}
			})
		})
	}
}

// TestValuesOfTheContext: a handler sees the values of the context given to Run,
// and its own end.
func TestValuesOfTheContext(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		s, err := core.New(w.st, core.Options{Logger: discard})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		var got any
		var cause error
		err = s.Add(hourly(func(ctx context.Context, run core.Run) error {
			got = ctx.Value(key{})
			cancel()
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(ctx); err != nil || got != "value" || !errors.Is(cause, core.ErrStopped) {
			t.Errorf("Run says %v, the value is %v, the cause %v", err, got, cause)
		}
	})
}
