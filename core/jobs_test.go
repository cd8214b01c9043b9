package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

var discard = slog.New(slog.DiscardHandler)

func TestAddAndRemove(t *testing.T) {
	s, err := core.New(model.New(model.Options{}), core.Options{Logger: discard})
	if err != nil {
		t.Fatal(err)
	}
	job := core.Job{Name: "a", Schedule: core.Every(time.Minute), Handler: func(context.Context, core.Run) error { return nil }}
	if err := s.Remove("a"); !errors.Is(err, core.ErrUnknownJob) {
		t.Errorf("Remove says %v", err)
	}
	if err := s.Add(job); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(job); !errors.Is(err, core.ErrDuplicateJob) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("Add says %v", err)
	}
	if err := s.Add(core.Job{Name: "b"}); err == nil {
		t.Error("a job without a handler was added")
	}
	if err := s.Remove("b"); !errors.Is(err, core.ErrUnknownJob) {
		t.Errorf("a refused job can be removed: %v", err)
	}
	if err := s.Remove("a"); err != nil {
		t.Error(err)
	}
	if err := s.Add(job); err != nil {
		t.Errorf("after Remove: %v", err)
	}
}

func TestJobsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		each := func(name string, d time.Duration) core.Job {
			return core.Job{Name: name, Schedule: core.Every(d), Handler: w.working(0), Timing: core.Timing{Jitter: core.Disabled, CatchUp: core.Disabled}}
		}
		at(time.Second)
		in := w.start(core.Options{}, each("a", time.Minute))
		at(90 * time.Second)
		if err := in.Add(each("b", time.Minute)); err != nil {
			t.Fatal(err)
		}
		at(150 * time.Second) // a and b at 2m
		if err := in.Remove("a"); err != nil {
			t.Fatal(err)
		}
		at(210 * time.Second) // b at 3m
		if err := errors.Join(in.Remove("b"), in.Add(each("b", 90*time.Second))); err != nil {
			t.Fatal(err)
		}
		at(320 * time.Second) // b at 4m30s
		var got []string
		for _, r := range w.ran() {
			got = append(got, fmt.Sprint(r.Job, " ", since(r.ScheduledAt)))
		}
		want := "a 1m0s, a 2m0s, b 2m0s, b 3m0s, b 4m30s"
		if text := strings.Join(got, ", "); text != want && text != strings.Replace(want, "a 2m0s, b 2m0s", "b 2m0s, a 2m0s", 1) {
			t.Errorf("ran %s\nwant %s", text, want)
		}
	})
}

// paged is a store with small pages of history.
type paged struct {
	store.Store
	size, calls int
}

func (p *paged) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	p.calls++
	q.Limit = min(q.Limit, p.size)
	return p.Store.History(ctx, q)
}

func TestHistoryIsPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		w.start(core.Options{}, core.Job{Name: "a", Schedule: core.Every(time.Minute), Handler: w.working(0)})
		at(25*time.Minute + 30*time.Second)
		p := &paged{Store: w.st, size: 10}
		s, err := core.New(p, core.Options{Logger: discard})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ limit, want, calls int }{{1, 1, 1}, {10, 10, 1}, {11, 11, 2}, {25, 25, 3}, {10_000, 26, 3}} {
			p.calls = 0
			got, err := s.History(t.Context(), "a", tt.limit)
			if err != nil || len(got) != tt.want || p.calls != tt.calls {
				t.Errorf("limit %d: %d attempts in %d calls, %v; want %d in %d", tt.limit, len(got), p.calls, err, tt.want, tt.calls)
			}
			for i := 1; i < len(got); i++ {
				if got[i].Slot >= got[i-1].Slot {
					t.Errorf("limit %d: slot %d comes after %d", tt.limit, got[i].Slot, got[i-1].Slot)
				}
			}
		}
		for _, limit := range []int{0, -1, 10_001} {
			if _, err := s.History(t.Context(), "a", limit); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if got, err := s.History(t.Context(), "nobody", 10); err != nil || len(got) != 0 {
			t.Errorf("of a job that nobody knows: %v, %v", got, err)
		}
	})
}

// TestHowOftenTheStoreIsAsked: an idle instance sweeps once a lease, a backup
// recalls once a heartbeat, in one call for all jobs, and a runner renews once a
// heartbeat.
func TestHowOftenTheStoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		var jobs []core.Job
		for i := range 20 {
			j := hourly(w.working(10 * time.Minute))
			j.Name = fmt.Sprint("job ", i)
			jobs = append(jobs, j)
		}
		at(time.Minute)
		runner := w.start(core.Options{}, jobs...)
		during := func(from, to time.Duration, in *instance, verb string) int {
			at(from)
			before := in.link.called(verb)
			at(to)
			return in.link.called(verb) - before
		}
		if n := during(10*time.Minute+15*time.Second, 15*time.Minute+15*time.Second, runner, "recall"); n != 10 {
			t.Errorf("idle for 5 minutes it asked for unfinished runs %d times, want once a lease of 30 s", n)
		}
		at(time.Hour + time.Second)
		backup := w.start(core.Options{}, jobs...)
		if n := during(time.Hour+time.Minute+4*time.Second, time.Hour+3*time.Minute+4*time.Second, backup, "recall"); n != 24 {
			t.Errorf("in 2 minutes the backup of 20 runs asked for unfinished runs %d times, want once a heartbeat of 5 s", n)
		}
		if n := during(time.Hour+4*time.Minute+2*time.Second, time.Hour+6*time.Minute+2*time.Second, runner, "heartbeat"); n != 20*24 {
			t.Errorf("in 2 minutes 20 runs were renewed %d times, want once a heartbeat of 5 s each", n)
		}
		if n := backup.link.called("heartbeat") + backup.link.called("claim"); n != 0 {
			t.Errorf("the backup made %d other calls", n)
		}
	})
}
