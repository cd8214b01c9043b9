package load

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

var (
	boundary = flag.Bool("boundary", false, "play the minute boundary on -backend")
	takes    = flag.Duration("takes", time.Second, "minute boundary: how long a run lasts")
	jitter   = flag.Duration("jitter", 0, "minute boundary: the jobs' jitter; 0 for the default of 2s, -1ns for none")
	held     = flag.Int("held", 30, "minute boundary: how many runs are under way; their renewals are load, too")
	gap      = flag.Duration("gap", time.Minute, "minute boundary: from the first slot to the second")
	maxLate  = flag.Duration("max-late", 0, "minute boundary: the jobs' max late; 0 for the default of a minute")
)

// heldTiming is that of the runs that are under way through the burst. Their lease is a
// fifth of the default: what costs them nothing costs others nothing.
var heldTiming = core.Timing{Lease: 6 * time.Second, Heartbeat: time.Second}

// TestMinuteBoundary: many jobs are due at one slot on every instance, and again a
// minute later, when the store knows them. Each is started once, none is skipped, and
// no run that is under way loses its lease.
func TestMinuteBoundary(t *testing.T) {
	if !*boundary {
		t.Skip("a measurement, which wants the machine for itself: ask for it by -boundary -backend=redis")
	}
	if *profiles != "" {
		if err := os.MkdirAll(*profiles, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	burst, _, err := core.CheckTiming(core.Timing{Jitter: *jitter, MaxLate: *maxLate}, *gap, store.Description{Kind: store.KindLease, Memory: store.Memory{Forever: true}})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, *backend)
	// Time to start the processes and to add the jobs, of which a machine's cores do
	// some 100 000 a second.
	lead := 8*time.Second + time.Duration(*jobs**instances)*20*time.Microsecond + time.Duration(*instances)*500*time.Millisecond
	first := time.Now().Add(lead)
	cfg := hostConfig{
		Plugin: s.plugin,
		Jobs:   *jobs, Slots: hostprog.Series{First: first.UnixMilli(), Every: *gap, Count: 2}, Takes: *takes, Timing: core.Timing{Jitter: *jitter, MaxLate: *maxLate},
		Held: *held, HeldSlots: hostprog.Series{First: first.Add(-5 * time.Second).UnixMilli(), Every: time.Hour, Count: 1}, HeldTiming: heldTiming,
	}
	f := launch(t, *profiles, slices.Repeat([]hostConfig{cfg}, *instances)...)
	f.patient(t, "every run that is to be held has begun", lead, func() bool {
		return f.sum(func(c *counts) int { return c.Holding }) == *held
	})
	if ready := time.Until(first); ready < time.Second {
		t.Fatalf("the instances were ready %v before the slot; this machine is too busy for so many", ready)
	}
	for n, when := range []string{"first slot, the jobs are new", "second slot"} {
		slot := first.Add(time.Duration(n) * *gap)
		if time.Until(slot) < 0 {
			t.Fatal("the slot before took longer than the gap; give a longer -gap")
		}
		time.Sleep(time.Until(slot.Add(-time.Second)))
		f.ask(t)
		before := f.look(t, s)
		stopProfile := func() {}
		if *profiles != "" && n == 1 {
			stopProfile = profile(t, *profiles)
		}
		time.Sleep(time.Until(slot.Add(burst.Jitter)))
		f.patient(t, "every job ran and nothing is in flight", burst.MaxLate+*takes+30*time.Second, func() bool {
			return f.sum(func(c *counts) int { return c.Recorded }) >= (n+1)**jobs && f.sum(func(c *counts) int { return c.Flying }) == 0
		})
		settled := time.Since(slot)
		after := f.look(t, s)
		stopProfile()
		t.Logf("%s: %d jobs, %d instances, jitter %v; %s", *backend, *jobs, *instances, burst.Jitter, when)
		f.tell(t, slot, settled)
		t.Log(after.since(before).text(*jobs))
	}
	f.judge(t)
	f.end(t)
}

// tell reports when a slot's runs started.
func (f fleet) tell(t *testing.T, slot time.Time, settled time.Duration) {
	t.Helper()
	for i, m := range f {
		c := m.last.Counts
		t.Logf("instance %d so far: verdicts %v, calls %v, failed %v, refused %v, events %v", i+1, c.Verdicts, c.Calls, c.Failed, c.Refused, c.Events)
	}
	starts := f.starts(slot.UnixMilli())
	if len(starts) != *jobs {
		t.Fatalf("%d handlers started for %d jobs", len(starts), *jobs)
	}
	var lastWon time.Time
	for _, m := range f {
		if m.last.Counts.LastWon.After(lastWon) {
			lastWon = m.last.Counts.LastWon
		}
	}
	ms := func(i int) time.Duration { return time.Duration(starts[i]) * time.Millisecond }
	t.Logf("all claimed %v after the slot; started: median %v, p99 %v, the last %v; all ended and recorded after %v",
		lastWon.Sub(slot).Round(time.Millisecond), ms(*jobs/2), ms(*jobs*99/100), ms(*jobs-1), settled.Round(100*time.Millisecond))
	t.Logf("slowest answer so far: claim %v, finish %v, heartbeat %v (a lease of %v, renewed each %v)",
		f.slowest(func(c *counts) time.Duration { return c.SlowestClaim }).Round(time.Millisecond),
		f.slowest(func(c *counts) time.Duration { return c.SlowestFinish }).Round(time.Millisecond),
		f.slowest(func(c *counts) time.Duration { return c.SlowestBeat }).Round(time.Millisecond), heldTiming.Lease, heldTiming.Heartbeat)
}

// judge fails the test if a burst cost anybody a run.
func (f fleet) judge(t *testing.T) {
	t.Helper()
	for what, n := range map[string]int{
		"runs lost":           f.sum(func(c *counts) int { return c.Events["Lost"] }),
		"leases in doubt":     f.sum(func(c *counts) int { return c.Events["Unconfirmed"] }),
		"takeovers":           f.sum(func(c *counts) int { return c.Takeovers }),
		"slots skipped":       f.sum(func(c *counts) int { return c.Events["Skipped"] }),
		"held runs cancelled": f.sum(func(c *counts) int { return c.Cancelled }),
		"events not seen":     f.sum(func(c *counts) int { return c.Events["EventsDropped"] }),
	} {
		if n != 0 {
			t.Errorf("%d %s; a burst must cost nobody a run", n, what)
		}
	}
	if n := f.sum(func(c *counts) int { return c.Holding }); n != *held {
		t.Errorf("%d handlers held %d runs", n, *held)
	}
}

// work is what all processes did.
type work struct {
	host, plugin, server time.Duration
	calls                map[string]int
	ops                  map[string]operation
}

// look adds up what was done so far, after a report.
func (f fleet) look(t *testing.T, s server) work {
	t.Helper()
	w := work{calls: map[string]int{}, ops: s.ops()}
	w.host, w.plugin = f.cpu(t)
	if s.cpu != nil {
		w.server = s.cpu()
	}
	for _, m := range f {
		for verb, n := range m.last.Counts.Calls {
			w.calls[verb] += n
		}
	}
	return w
}

// since is what was done since an earlier look.
func (w work) since(before work) work {
	d := work{w.host - before.host, w.plugin - before.plugin, w.server - before.server, map[string]int{}, map[string]operation{}}
	for verb, n := range w.calls {
		d.calls[verb] = n - before.calls[verb]
	}
	for name, o := range w.ops {
		if b := before.ops[name]; o.n > b.n {
			d.ops[name] = operation{o.n - b.n, o.took - b.took}
		}
	}
	return d
}

// text tells it per run.
func (w work) text(runs int) string {
	var b strings.Builder
	per := func(n float64) float64 { return n / float64(runs) }
	all := 0
	fmt.Fprintf(&b, "store calls per run:")
	for _, verb := range slices.Sorted(maps.Keys(w.calls)) {
		all += w.calls[verb]
		fmt.Fprintf(&b, " %s %.3f", verb, per(float64(w.calls[verb])))
	}
	fmt.Fprintf(&b, ", together %.2f\nprocessor time: hosts %v, plugins %v, server %v; per run %.0f, %.0f, %.0f µs",
		per(float64(all)), w.host, w.plugin, w.server.Round(10*time.Millisecond),
		per(float64(w.host.Microseconds())), per(float64(w.plugin.Microseconds())), per(float64(w.server.Microseconds())))
	names := slices.SortedFunc(maps.Keys(w.ops), func(x, y string) int {
		return cmp.Or(cmp.Compare(w.ops[y].took, w.ops[x].took), cmp.Compare(w.ops[y].n, w.ops[x].n))
	})
	for _, name := range names[:min(len(names), 16)] {
		o := w.ops[name]
		fmt.Fprintf(&b, "\nserver: %-24s %8d, %.2f per run, %v in all, %v each", name, o.n, per(float64(o.n)), o.took.Round(time.Millisecond), (o.took / time.Duration(o.n)).Round(100*time.Nanosecond))
	}
	return b.String()
}
