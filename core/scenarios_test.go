package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// TestScenarios plays the seven stories of docs/failure-scenarios.md in virtual
// time, on a lease store and on a claim-only one. Each says what the store's
// history must be in the end; what it must show besides, it checks itself.
func TestScenarios(t *testing.T) {
	for _, tt := range []struct {
		name      string
		play      func(t *testing.T, w *world, leases bool)
		lease     string
		claimOnly string
	}{
		{
			"1 a job of 7 s every 3 s", longerThanItsInterval,
			"3s/1 success, 12s/1 success, 21s/1 success",
			"3s/1 success, 6s/1 success, 9s/1 success, 12s/1 success, 15s/1 success, 18s/1 success, 21s/1 success, 24s/1 interrupted, 27s/1 interrupted",
		},
		{
			"1 with overlap allowed", overlapAllowed,
			"3s/1 success, 6s/1 success, 9s/1 success, 12s/1 success, 15s/1 success, 18s/1 success, 21s/1 success",
			"3s/1 success, 6s/1 success, 9s/1 success, 12s/1 success, 15s/1 success, 18s/1 success, 21s/1 success",
		},
		{
			"2 the runner is killed", runnerKilled,
			"1h0m0s/1 interrupted, 1h0m0s/2 success",
			"1h0m0s/1 running",
		},
		{
			"2 it kills every process that tries", runnerKilledAlways,
			"1h0m0s/1 interrupted, 1h0m0s/2 interrupted, 1h0m0s/3 interrupted",
			"1h0m0s/1 running",
		},
		{
			"3 the runner is cut off past its lease", runnerCutOff,
			"1h0m0s/1 interrupted, 1h0m0s/2 success",
			"1h0m0s/1 success",
		},
		{
			"4 another instance restarts", anotherRestarts,
			"1h0m0s/1 success",
			"1h0m0s/1 success",
		},
		{
			"5 the runner stops gracefully", runnerStops,
			"1h0m0s/1 interrupted handed-over, 1h0m0s/2 success",
			"1h0m0s/1 interrupted",
		},
		{
			"6 all restart in mid-run, and come back late", allRestartLate,
			"1h0m0s/1 interrupted, 1h0m0s/2 success",
			"1h0m0s/1 running",
		},
		{
			"6 all restart in mid-run, and come back soon", allRestartSoon,
			"1h0m0s/1 interrupted, 1h0m0s/2 success",
			"1h0m0s/1 running",
		},
		{
			"7 all are down when it is due", allDown,
			"3m0s/1 success",
			"",
		},
	} {
		for kind, o := range map[string]model.Options{"lease": {}, "claim-only": {ClaimOnly: &model.ClaimOnly{}}} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, o)
					tt.play(t, w, kind == "lease")
					want := tt.lease
					if kind != "lease" {
						want = tt.claimOnly
					}
					if got := strings.Join(w.history("job"), ", "); got != want {
						t.Errorf("history is\n%s\nwant\n%s", got, want)
					}
				})
			})
		}
	}
}

const (
	theLease = 30 * time.Second
	theBeat  = 5 * time.Second
)

// startThree starts three instances of a job at a time, and stopAll stops them.
func startThree(w *world, j core.Job) []*instance {
	var all []*instance
	for range 3 {
		all = append(all, w.start(core.Options{}, j))
	}
	return all
}

// runner returns which instance has the latest run.
func runner(w *world, all []*instance) *instance {
	runs := w.ran()
	i := slices.IndexFunc(all, func(in *instance) bool { return in.Instance() == runs[len(runs)-1].Instance })
	return all[i]
}

func isLease(leases bool, yes, no int) int {
	if leases {
		return yes
	}
	return no
}

func every3s(w *world, overlap store.Overlap) core.Job {
	return core.Job{Name: "job", Schedule: core.Every(3 * time.Second), Handler: w.working(7 * time.Second), Timing: core.Timing{
		Jitter: 100 * time.Millisecond, CatchUp: core.Disabled, Overlap: overlap,
	}}
}

func longerThanItsInterval(t *testing.T, w *world, leases bool) {
	at(time.Second)
	all := startThree(w, every3s(w, core.Skip))
	at(29*time.Second - 500*time.Millisecond)
	for _, in := range all {
		stopQuietly(in)
	}
	if !leases {
		return
	}
	for i, in := range all {
		var skipped []string
		for _, s := range told[core.Skipped](in) {
			if s.Reason != core.SkipOverlap {
				t.Errorf("instance %d skipped %+v", i, s)
			}
			skipped = append(skipped, since(store.Time(s.Slot)).String())
		}
		if got := strings.Join(skipped, " "); got != "6s 9s 15s 18s 24s 27s" {
			t.Errorf("instance %d skipped %s because of overlap", i, got)
		}
	}
}

// stopQuietly stops an instance whose handlers have returned.
func stopQuietly(in *instance) { in.stop(); <-in.err }

func overlapAllowed(t *testing.T, w *world, leases bool) {
	at(time.Second)
	all := startThree(w, every3s(w, core.Allow))
	at(22 * time.Second)
	for _, in := range all {
		if err := in.Remove("job"); err != nil {
			t.Error(err)
		}
	}
	at(40 * time.Second)
	most := 0
	runs := w.ran()
	for _, r := range runs {
		n := 0
		for _, o := range runs {
			if !o.begin.After(r.begin) && o.end.After(r.begin) {
				n++
			}
		}
		most = max(most, n)
	}
	if most != 3 {
		t.Errorf("at most %d copies ran at once, want 3", most)
	}
}

func runnerKilled(t *testing.T, w *world, leases bool) {
	job := hourly(w.working(time.Minute))
	all := startThree(w, job)
	at(time.Hour + 12*time.Second)
	runner(w, all).kill()
	killed := time.Now()
	at(time.Hour + 4*time.Minute)
	runs := w.living(all)
	if len(runs) != isLease(leases, 1, 0) {
		t.Fatalf("%d runs of the living", len(runs))
	}
	if !leases {
		return
	}
	// The last renewal was up to a heartbeat before the kill.
	if took := runs[0].begin.Sub(killed); took > theLease+time.Second || took < theLease-theBeat {
		t.Errorf("taken over %v after the kill, want about the lease", took)
	}
	if runs[0].Reason != store.ReasonTakeover || runs[0].Attempt != 2 {
		t.Errorf("ran %+v", runs[0].Run)
	}
}

// living returns the runs of the instances that were not killed.
func (w *world) living(all []*instance) []ran {
	return slices.DeleteFunc(w.ran(), func(r ran) bool {
		i := slices.IndexFunc(all, func(in *instance) bool { return in.Instance() == r.Instance })
		return i >= 0 && all[i].link.dead.Load()
	})
}

func runnerKilledAlways(t *testing.T, w *world, leases bool) {
	job := hourly(w.working(time.Hour))
	job.Timing.MaxAttempts = 3
	all := append(startThree(w, job), startThree(w, job)...)
	at(time.Hour + 10*time.Second)
	for seen := 0; len(w.ran()) > seen; time.Sleep(50 * time.Second) {
		seen = len(w.ran())
		runner(w, all).kill()
	}
	exhausted := 0
	for _, in := range all {
		for _, s := range told[core.Skipped](in) {
			if s.Reason == core.SkipExhausted {
				exhausted++
			}
		}
	}
	if exhausted != isLease(leases, 1, 0) {
		t.Errorf("exhausted was told %d times", exhausted)
	}
}

func runnerCutOff(t *testing.T, w *world, leases bool) {
	all := startThree(w, hourly(w.working(3*time.Minute)))
	at(time.Hour + 12*time.Second)
	in := runner(w, all)
	in.link.set(cut)
	at(time.Hour + time.Minute)
	in.link.set(whole)
	at(time.Hour + 10*time.Minute)
	if !leases {
		if len(w.ran()) != 1 {
			t.Errorf("%d runs", len(w.ran()))
		}
		return
	}
	runs := w.ran()
	if len(runs) != 2 {
		t.Fatalf("ran %+v", runs)
	}
	lost := told[core.Lost](in)
	if len(lost) != 1 || lost[0].During != "heartbeat" || len(told[core.Unconfirmed](in)) != 1 {
		t.Errorf("events %+v, %+v", lost, told[core.Unconfirmed](in))
	}
	if !errors.Is(runs[0].cause, core.ErrLost) {
		t.Errorf("the old runner's context was cancelled with %v", runs[0].cause)
	}
	if late := runs[0].end.Sub(midnight.Add(time.Hour + time.Minute)); late > theBeat {
		t.Errorf("it learned of its loss %v after it was back; a heartbeat is %v", late, theBeat)
	}
	if n := len(told[core.Succeeded](in)) + len(told[core.Failed](in)); n != 0 {
		t.Errorf("it reports %d outcomes of a run that it lost", n)
	}
}

func anotherRestarts(t *testing.T, w *world, leases bool) {
	job := hourly(w.working(3 * time.Minute))
	all := startThree(w, job)
	at(time.Hour + time.Minute)
	in := runner(w, all)
	all = slices.DeleteFunc(all, func(o *instance) bool { return o == in })
	stopQuietly(all[0])
	again := w.start(core.Options{}, job)
	at(time.Hour + 2*time.Minute)
	if n := len(told[core.Backup](again)); n != isLease(leases, 1, 0) {
		t.Errorf("the restarted instance became a backup %d times", n)
	}
	at(time.Hour + 10*time.Minute)
	if len(w.ran()) != 1 {
		t.Errorf("ran %+v", w.ran())
	}
}

func runnerStops(t *testing.T, w *world, leases bool) {
	all := startThree(w, hourly(w.working(3*time.Minute)))
	at(time.Hour + time.Minute)
	in := runner(w, all)
	in.stop()
	if err := <-in.err; err != nil {
		t.Error(err)
	}
	stopped := time.Now()
	at(time.Hour + 10*time.Minute)
	if i := told[core.Interrupted](in); len(i) != 1 || i[0].HandedOver != leases {
		t.Errorf("events %+v", i)
	}
	runs := w.ran()
	if len(runs) != isLease(leases, 2, 1) || !errors.Is(runs[0].cause, core.ErrStopped) {
		t.Fatalf("ran %+v", runs)
	}
	if leases {
		if took := runs[1].begin.Sub(stopped); took > 2*theBeat {
			t.Errorf("handed over after %v; two heartbeats are %v", took, 2*theBeat)
		}
	}
}

// restartAll kills all instances in the middle of a run, and starts others.
func restartAll(w *world, down time.Duration) {
	job := hourly(w.working(time.Minute))
	job.Timing.CatchUp = 0 // the default
	at(10 * time.Minute)   // midnight's slot is too old
	for _, in := range startThree(w, job) {
		defer in.kill()
	}
	at(time.Hour + 12*time.Second)
	time.AfterFunc(down, func() { startThree(w, job) })
}

func allRestartLate(t *testing.T, w *world, leases bool) {
	restartAll(w, 40*time.Second)
	at(time.Hour + 4*time.Minute)
	checkTakenOver(t, w, leases, time.Hour+52*time.Second, time.Hour+53*time.Second)
}

func allRestartSoon(t *testing.T, w *world, leases bool) {
	restartAll(w, 10*time.Second)
	at(time.Hour + 4*time.Minute)
	// The last renewal was between 7 and 12 s after the slot.
	checkTakenOver(t, w, leases, time.Hour+37*time.Second, time.Hour+43*time.Second)
}

func checkTakenOver(t *testing.T, w *world, leases bool, from, to time.Duration) {
	t.Helper()
	runs := w.ran()[1:]
	if len(runs) != isLease(leases, 1, 0) {
		t.Fatalf("ran %+v after the restart", runs)
	}
	if leases && (since(runs[0].begin) < from || since(runs[0].begin) > to) {
		t.Errorf("taken over at %v, want %v to %v", since(runs[0].begin), from, to)
	}
}

func allDown(t *testing.T, w *world, leases bool) {
	at(3*time.Minute + 20*time.Second) // 0:00, 1:00, 2:00 and 3:00 were missed
	startThree(w, core.Job{Name: "job", Schedule: core.Every(time.Minute), Handler: w.working(time.Second)})
	at(3*time.Minute + 50*time.Second)
	runs := w.ran()
	if len(runs) != isLease(leases, 1, 0) {
		t.Fatalf("ran %+v", runs)
	}
	if leases && runs[0].Reason != store.ReasonCatchUp {
		t.Errorf("the reason is %v", runs[0].Reason)
	}
}

// TestHandOversDoNotCount: a run is handed over more often than it may be
// attempted, and still ends.
func TestHandOversDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		job := hourly(func(ctx context.Context, run core.Run) error {
			if run.Attempt > 5 {
				return nil
			}
			w.ended(w.began(run), nil)
			<-ctx.Done()
			return ctx.Err()
		})
		job.Timing.MaxAttempts = 1
		all := append(startThree(w, job), startThree(w, job)...)
		at(time.Hour + 10*time.Second)
		for range 5 {
			runner(w, all).stop()
			time.Sleep(20 * time.Second)
		}
		want := "1h0m0s/1 interrupted handed-over"
		for n := 2; n <= 5; n++ {
			want += fmt.Sprintf(", 1h0m0s/%d interrupted handed-over", n)
		}
		if got := strings.Join(w.history("job"), ", "); got != want+", 1h0m0s/6 success" {
			t.Errorf("history is %s", got)
		}
	})
}
