package recipes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/mattn/go-sqlite3"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
)

// serve runs a job on as many instances, in virtual time, until d has passed.
func serve(t *testing.T, mem *coretest.Store, instances int, d time.Duration, job core.Job) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for range instances {
		s, err := core.New(mem, core.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Add(job); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// noted is a handler that keeps what it was given; running the work takes so long.
type noted struct {
	mu   sync.Mutex
	runs []core.Run
	most int // handlers at once
	now  int
}

func (n *noted) handler(takes time.Duration) core.Handler {
	return func(ctx context.Context, run core.Run) error {
		n.mu.Lock()
		n.runs = append(n.runs, run)
		n.now++
		n.most = max(n.most, n.now)
		n.mu.Unlock()
		defer func() { n.mu.Lock(); n.now--; n.mu.Unlock() }()
		select {
		case <-time.After(takes):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// TestNightly: all instances were down at 02:30 for three nights. Who starts at 09:00
// makes the last night up, once; who starts at 12:00 does not.
func TestNightly(t *testing.T) {
	for start, want := range map[time.Duration]int{9 * time.Hour: 1, 12 * time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(3*24*time.Hour + start)
			var n noted
			serve(t, coretest.NewStore(store.KindLease), 3, time.Hour, nightly(n.handler(time.Second)))
			if len(n.runs) != want {
				t.Fatalf("started at %v: %d runs, want %d", start, len(n.runs), want)
			}
			if want == 1 && n.runs[0].Reason != store.ReasonCatchUp {
				t.Errorf("the reason is %v", n.runs[0].Reason)
			}
		})
	}
}

// TestFirstDeploy: a job that is added at 10:02 and was due at 10:00 runs at once, as
// catch-up; without catch-up it waits for 11:00.
func TestFirstDeploy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(10*time.Hour + 2*time.Minute)
		var caught, waits noted
		job := reminder(caught.handler(time.Second))
		job.Timing = core.Timing{} // the defaults
		serve(t, coretest.NewStore(store.KindLease), 2, 30*time.Minute, job)
		if len(caught.runs) != 1 || caught.runs[0].ScheduledAt.Hour() != 10 {
			t.Errorf("with catch-up: %v", caught.runs)
		}
		time.Sleep(29 * time.Minute) // 11:01
		serve(t, coretest.NewStore(store.KindLease), 2, 30*time.Minute, reminder(waits.handler(time.Second)))
		if len(waits.runs) != 0 {
			t.Errorf("without: %v", waits.runs)
		}
	})
}

// TestOverlap: a handler that takes 140 s, due each minute, from 00:00:30 to 00:09:30;
// 00:00 is caught up.
func TestOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		job  func(core.Handler) core.Job
		most int
		runs int
	}{"one at a time": {oneAtATime, 1, 4}, "side by side": {sideBySide, 3, 10}} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(30 * time.Second)
			var n noted
			serve(t, coretest.NewStore(store.KindLease), 3, 9*time.Minute, c.job(n.handler(140*time.Second)))
			first := slices.DeleteFunc(n.runs, func(r core.Run) bool { return r.Attempt > 1 })
			if n.most != c.most || len(first) != c.runs {
				t.Errorf("%s: %d at once and %d runs, want %d and %d", name, n.most, len(first), c.most, c.runs)
			}
		})
	}
}

// memoryCheckpoints refuses smaller tokens, as a table would.
type memoryCheckpoints struct {
	mu    sync.Mutex
	token int64
	done  map[int64]int
	pages []string
}

func (m *memoryCheckpoints) Load(_ context.Context, _ string, slot int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done[slot], nil
}

func (m *memoryCheckpoints) Save(_ context.Context, _ string, slot int64, token int64, done int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if token < m.token {
		return errors.New("replaced")
	}
	m.token, m.done[slot] = token, done
	return nil
}

// TestCheckpoint: the instance that reindexes stops half way; the next goes on with the
// page at which it stopped.
func TestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &memoryCheckpoints{done: map[int64]int{}}
		attempt := 0
		page := func(ctx context.Context, n int) error {
			kept.mu.Lock()
			kept.pages = append(kept.pages, fmt.Sprint(attempt, "/", n))
			kept.mu.Unlock()
			time.Sleep(time.Minute)
			return nil
		}
		mem := coretest.NewStore(store.KindLease)
		job := core.Job{Name: "reindex", Schedule: core.Every(time.Hour), Handler: reindex(4, page, kept), Timing: core.Timing{Jitter: core.Disabled, StopTimeout: 2 * time.Minute}}
		time.Sleep(30 * time.Minute)
		attempt = 1
		serve(t, mem, 1, 31*time.Minute+30*time.Second, job)
		attempt = 2
		serve(t, mem, 1, 10*time.Minute, job)
		if want := []string{"1/0", "1/1", "2/2", "2/3"}; !slices.Equal(kept.pages, want) {
			t.Errorf("pages %q, want %q", kept.pages, want)
		}
	})
}

// TestFencedWrite: a stale token is really rejected, by a real database.
func TestFencedWrite(t *testing.T) {
	db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "reports.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(reportsSchema); err != nil {
		t.Fatal(err)
	}
	frozen := core.Run{Job: "report", Slot: 1000, Attempt: 1, Token: 7}
	backup := core.Run{Job: "report", Slot: 1000, Attempt: 2, Token: 9}
	for _, step := range []struct {
		run     core.Run
		body    string
		refused bool
	}{
		{frozen, "draft", false},
		{frozen, "draft again", false}, // the same attempt may write twice
		{backup, "done", false},
		{frozen, "stale", true}, // it wakes, and changes nothing
		{backup, "done, corrected", false},
	} {
		if err := saveReport(t.Context(), db, step.run, step.body); (err != nil) != step.refused {
			t.Errorf("attempt %d writes %q: %v", step.run.Attempt, step.body, err)
		}
	}
	var body string
	if err := db.QueryRow("SELECT body FROM reports").Scan(&body); err != nil || body != "done, corrected" {
		t.Errorf("the report is %q, %v", body, err)
	}
}

// TestCauses: what a cancelled handler returns decides what becomes of the run.
func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		undone := 0
		job := patient(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, func() { undone++ })
		slot := time.Now().Truncate(time.Hour)
		res, err := coretest.RunSlot(t.Context(), job, slot)
		if err != nil || res.Outcome != store.OutcomeFailed || !errors.Is(res.Err, core.ErrTimeout) || res.Took != 15*time.Minute || undone != 1 {
			t.Errorf("a timeout: %+v, %v, undone %d times", res, err, undone)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if res, err = coretest.RunSlot(ctx, job, slot); err != nil || res.Outcome != store.OutcomeReleased {
			t.Errorf("a stop: %+v, %v", res, err)
		}
	})
}
