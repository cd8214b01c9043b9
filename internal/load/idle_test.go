package load

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/budget"
	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestWatchingCostsACallPerHeartbeat: an instance that watches another's runs asks the
// store once a heartbeat, for all of them, and for nothing else; counted where the
// calls enter the plugin's host, and by the server. (core's own test counts them on a
// clock of its own: exactly one.)
func TestWatchingCostsACallPerHeartbeat(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten heartbeats and a server")
	}
	t.Parallel()
	const (
		beat  = 400 * time.Millisecond
		beats = 10
		runs  = 5
	)
	s := newServer(t, "redis")
	holder, err := storekit.Open(t.Context(), storekit.Plugin{Name: s.plugin.Name, Config: s.plugin.Config, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	slot := time.Now().Add(-time.Second).UnixMilli()
	cfg := hostConfig{Plugin: s.plugin, Jobs: runs, Slots: hostprog.Series{First: slot, Every: 24 * time.Hour, Count: 1}, Timing: core.Timing{Heartbeat: beat, CatchUp: core.Disabled}}
	for i := range runs {
		a, err := holder.Claim(context.Background(), store.ClaimRequest{
			Job: burstJob(i), Slot: slot, ID: store.NewClaimID(), Instance: "another", Reason: store.ReasonScheduled,
			Lease: time.Hour, MaxEarly: time.Second, MaxLate: time.Hour, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 10,
		})
		if err != nil || a.Verdict != store.VerdictWon {
			t.Fatalf("%v, %v", a.Verdict, err)
		}
	}
	f := launch(t, "", cfg)
	asked := func() int { return f.sum(func(c *counts) int { return c.Calls["unfinished"] }) }
	f.patient(t, "it asked for the second time", time.Minute, func() bool { return asked() >= 2 })
	begin := time.Now() // before the report that is counted from: looking at the server takes its time
	f.ask(t)
	before, first := f.look(t, s), asked()
	f.patient(t, "it asked ten times more", time.Minute, func() bool { return asked() >= first+beats })
	done, took := f.look(t, s).since(before), time.Since(begin)
	// The least time that so many calls can take: they are a heartbeat apart, and the
	// first may have been near its end.
	if n := done.calls["unfinished"]; took < time.Duration(n-1)*beat {
		t.Errorf("%d calls in %v; want one a heartbeat of %v", n, took, beat)
	}
	for verb, n := range done.calls {
		if verb != "unfinished" && n > 0 {
			t.Errorf("%d calls of %s; an instance that only watches makes none", n, verb)
		}
	}
	// A list of the runs, and a script for each job that has one; the server may be a
	// call ahead of what was counted.
	n := int64(done.calls["unfinished"])
	if scripts := done.ops["evalsha"].n; scripts < n || scripts > (n+1)*(1+runs) {
		t.Errorf("%d calls were %d scripts on the server; want up to %d", n, scripts, n*(1+runs))
	}
	t.Logf("%d calls in %v: %v", n, took.Round(time.Millisecond), done.ops)
	f.end(t)
}

// TestBudgetIdle: 100 000 jobs that wait, through a real plugin: the processor time of
// host and plugin together.
func TestBudgetIdle(t *testing.T) {
	budget.Only(t)
	const (
		idle  = 10 * time.Second
		lease = 10 * time.Second // a third of the default: a sweep falls into each measurement
	)
	s := newServer(t, "sqlite")
	far := time.Now().Add(1000 * 24 * time.Hour).UnixMilli()
	f := launch(t, "", hostConfig{Plugin: s.plugin, Jobs: 100_000, Slots: hostprog.Series{First: far, Every: time.Hour, Count: 1}, Timing: core.Timing{Lease: lease}})
	f.patient(t, "it holds its jobs and looked for runs to take over", time.Minute, func() bool {
		return f.sum(func(c *counts) int { return c.Calls["unfinished"] }) > 0
	})
	time.Sleep(2 * time.Second) // what adding them left to the garbage collector
	f.ask(t)
	before := f.look(t, s)
	time.Sleep(idle)
	f.ask(t)
	w := f.look(t, s).since(before)
	f.end(t)
	if w.calls["unfinished"] != 1 {
		t.Errorf("%d calls in a lease; want the one that looks for runs to take over", w.calls["unfinished"])
	}
	most := w.host + w.plugin + 2*cpuStep // both are cut to whole steps
	budget.Row(t, "load", "100 000 jobs that wait, host and plugin together, at most", 100*float64(most)/float64(idle), "% CPU", budget.AtMost(1),
		fmt.Sprintf("host %v, plugin %v in %v, in steps of %v", w.host, w.plugin, idle, cpuStep))
}
