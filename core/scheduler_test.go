package core_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// The tests of the driver run in synctest's bubbles: the clock is virtual and
// moves only when everybody waits, and a goroutine that is left behind fails the
// test. Time begins at midnight of 2000-01-01, UTC.

// world is a store with its instances.
type world struct {
	t  *testing.T
	st *model.Store
	wg sync.WaitGroup

	over chan struct{} // closed at the end of the test: whatever was dead or hung may end

	mu   sync.Mutex
	runs []ran
}

// ran is an execution that a handler saw.
type ran struct {
	core.Run
	begin, end time.Time // end is zero while it runs, and for ever if its process died
	cause      error     // with which its context was cancelled
}

func newWorld(t *testing.T, o model.Options) *world {
	w := &world{t: t, st: model.New(o), over: make(chan struct{})}
	t.Cleanup(func() { // in the bubble, before it ends
		close(w.over)
		w.wg.Wait()
	})
	return w
}

// instance is a process of the service.
type instance struct {
	*core.Scheduler
	w    *world
	link *link
	stop context.CancelFunc
	err  chan error // what Run returned

	mu     sync.Mutex
	events []core.Event
}

// start starts an instance with these jobs.
func (w *world) start(o core.Options, jobs ...core.Job) *instance {
	w.t.Helper()
	in := &instance{w: w, link: &link{Store: w.st, over: w.over}, err: make(chan error, 1)}
	if o.OnEvent == nil {
		o.OnEvent = in.note
	}
	o.Logger = discard
	s, err := core.New(in.link, o)
	if err != nil {
		w.t.Fatal(err)
	}
	in.Scheduler = s
	for _, j := range jobs {
		if err := s.Add(j); err != nil {
			w.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	in.stop = cancel
	w.wg.Go(func() { in.err <- s.Run(ctx) })
	w.wg.Go(func() { // nobody runs longer than the test
		<-w.over
		cancel()
	})
	return in
}

func (in *instance) note(e core.Event) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.events = append(in.events, e)
}

// told returns the events of a type so far.
func told[T core.Event](in *instance) []T {
	in.mu.Lock()
	defer in.mu.Unlock()
	var of []T
	for _, e := range in.events {
		if e, ok := e.(T); ok {
			of = append(of, e)
		}
	}
	return of
}

// kill ends the instance like kill -9: nothing that it does reaches the store any
// more, and its handlers never return.
func (in *instance) kill() {
	in.link.set(cut)
	in.link.dead.Store(true)
}

// working is a handler that works for so long, unless it is cancelled.
func (in *world) working(d time.Duration) core.Handler {
	return func(ctx context.Context, run core.Run) error {
		i := in.began(run)
		var err error
		select {
		case <-time.After(d):
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		in.ended(i, err)
		return err
	}
}

func (w *world) began(run core.Run) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, ran{Run: run, begin: time.Now()})
	return len(w.runs) - 1
}

func (w *world) ended(i int, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[i].end, w.runs[i].cause = time.Now(), cause
}

func (w *world) ran() []ran {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]ran(nil), w.runs...)
}

// history returns what the store remembers of a job, oldest first, as text:
// "0s/1 success" is the first attempt of the slot at midnight.
func (w *world) history(job string) []string {
	w.t.Helper()
	ans, err := w.st.History(context.Background(), store.HistoryRequest{Job: job, Limit: 10_000})
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for i := len(ans.Attempts) - 1; i >= 0; i-- {
		a := ans.Attempts[i]
		line := fmt.Sprintf("%v/%d %v", since(store.Time(a.Slot)), a.Attempt, a.Status)
		if a.HandedOver {
			line += " handed-over"
		}
		lines = append(lines, line)
	}
	return lines
}

// midnight is when time begins in a bubble.
var midnight = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func since(t time.Time) time.Duration { return t.Sub(midnight) }

// at waits for a time after midnight.
func at(d time.Duration) { time.Sleep(time.Until(midnight.Add(d))) }

func TestThreeInstancesShareTheRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		at(5 * time.Second)
		var all []*instance
		for range 3 {
			all = append(all, w.start(core.Options{}, core.Job{Name: "tick", Schedule: core.Every(10 * time.Second), Timing: core.Timing{CatchUp: core.Disabled}, Handler: w.working(0)}))
		}
		at(10*time.Minute + 5*time.Second)
		ran := map[int64]int{}
		for _, r := range w.ran() {
			ran[r.Slot]++
		}
		for slot := 10 * time.Second; slot <= 10*time.Minute; slot += 10 * time.Second {
			if n := ran[midnight.Add(slot).UnixMilli()]; n != 1 {
				t.Errorf("slot %v ran %d times", slot, n)
			}
		}
		if len(ran) != 60 {
			t.Errorf("%d slots ran, want 60", len(ran))
		}
		for i, in := range all {
			if len(told[core.Started](in)) == 0 {
				t.Errorf("instance %d won nothing in 60 slots", i)
			}
			if s := told[core.Skipped](in); len(s) > 0 {
				t.Errorf("instance %d skipped %+v", i, s)
			}
		}
	})
}

func TestRunIsCalledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		in := w.start(core.Options{})
		synctest.Wait()
		if err := in.Run(t.Context()); !errors.Is(err, core.ErrRunning) {
			t.Errorf("a second Run says %v while the first one runs", err)
		}
		in.stop()
		if err := <-in.err; err != nil {
			t.Errorf("Run says %v", err)
		}
		if err := in.Run(t.Context()); !errors.Is(err, core.ErrRunning) {
			t.Errorf("a second Run says %v after the first one ended", err)
		}
	})
}

// TestStopBeforeStart: a context that is done already is a stop, not an error.
func TestStopBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		s, err := core.New(w.st, core.Options{Logger: discard})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run says %v", err)
		}
	})
}
