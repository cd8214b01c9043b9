package load

import (
	"bufio"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

var soak = flag.Duration("soak", 0, "soak: how long; 0 for some seconds on SQLite, which judge no growth")

const (
	soakInstances = 2
	soakJobs      = 500 // each second, asked for by two instances: 1 000 claims a second
	soakHistory   = 20
	soakShort     = 5 * time.Second
)

// TestSoak: 1 000 claims a second for a long time. Half of them are won, run and
// finished. Once the histories are full nothing grows: neither heap, goroutines and
// file descriptors of hosts and plugins, nor the store's data.
func TestSoak(t *testing.T) {
	span, name := *soak, *backend
	if span == 0 {
		if testing.Short() {
			t.Skip("takes some seconds")
		}
		span, name = soakShort, "sqlite"
	}
	s := newServer(t, name)
	dir := *profiles
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := hostConfig{Plugin: s.plugin, Jobs: soakJobs, Slots: hostprog.Series{First: time.Now().Add(2 * time.Second).UnixMilli(), Every: time.Second}, Timing: core.Timing{HistorySize: soakHistory}}
	f := launch(t, dir, slices.Repeat([]hostConfig{cfg}, soakInstances)...)
	f.patient(t, "the first runs ended", 30*time.Second, func() bool {
		return f.sum(func(c *counts) int { return c.Recorded }) > 0
	})
	begin := time.Now()
	before := f.look(t, s)
	recorded := f.sum(func(c *counts) int { return c.Recorded })
	var sizes []map[string]int64
	stopProfile := func() {}
	for time.Since(begin) < span {
		time.Sleep(min(5*time.Second, span))
		sizes = append(sizes, s.size())
		f.ask(t)
		if n := f.sum(func(c *counts) int { return c.Events["Lost"] }); n > 0 {
			t.Fatalf("%d runs were lost", n)
		}
		if *profiles != "" && len(sizes) == 6 {
			stopProfile = profile(t, dir)
		} else if len(sizes) == 12 {
			stopProfile()
			stopProfile = func() {}
		}
	}
	stopProfile()
	f.ask(t)
	took := time.Since(begin)
	w := f.look(t, s).since(before)
	runs := f.sum(func(c *counts) int { return c.Recorded }) - recorded
	rate := float64(w.calls["claim"]) / took.Seconds()
	t.Logf("%s: %v; %d claims, %.0f a second; %d runs", name, took.Round(time.Second), w.calls["claim"], rate, runs)
	t.Log(w.text(runs))
	for i, m := range f {
		t.Logf("instance %d: verdicts %v, failed %v, events %v", i+1, m.last.Counts.Verdicts, m.last.Counts.Failed, m.last.Counts.Events)
	}
	f.end(t)
	if *soak == 0 { // how many a busy machine runs in some seconds says nothing
		if runs == 0 {
			t.Error("no run ended")
		}
		return
	}
	if want := soakJobs * took.Seconds(); float64(runs) < 0.9*want {
		t.Errorf("%d runs in %v of %d jobs each second", runs, took, soakJobs)
	}
	for what := range sizes[0] {
		var v []float64
		for _, size := range sizes {
			v = append(v, float64(size[what]))
		}
		more := 0.0
		if strings.HasSuffix(what, "-wal") {
			more = 16 << 20 // SQLite's log keeps the size of the longest stretch without a checkpoint
		}
		flat(t, "store: "+what, v, 0.05, more)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 2*soakInstances {
		t.Fatalf("vital signs of %d processes, %v", len(files), err)
	}
	for _, file := range files {
		heap, goroutines, fds := readVitals(t, file)
		who := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		flat(t, who+": bytes alive on the heap", heap, 0.15, 1<<20)
		flat(t, who+": goroutines", goroutines, 0.15, 20)
		flat(t, who+": file descriptors", fds, 0.05, 2)
	}
}

// flat reports a series, and fails if it grew.
func flat(t *testing.T, what string, v []float64, share, more float64) {
	t.Helper()
	if len(v) < 9 {
		t.Errorf("%s: %d values are too few to judge growth; soak longer", what, len(v))
		return
	}
	third := len(v) / 3
	t.Logf("%-36s first third %.0f, second %.0f, last %.0f; from %.0f to %.0f in the last two",
		what, middle(v[:third]), middle(v[third:2*third]), middle(v[2*third:]), slices.Min(v[third:]), slices.Max(v[third:]))
	if grew(v, share, more) {
		t.Errorf("%s grew", what)
	}
}

// grew compares the medians of the second and the last third of a series: whether the
// last is more by more than a share and a constant. The first third is for caches to
// fill and histories to reach their size.
func grew(v []float64, share, more float64) bool {
	third := len(v) / 3
	return middle(v[2*third:]) > middle(v[third:2*third])*(1+share)+more
}

func middle(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

func readVitals(t *testing.T, file string) (heap, goroutines, fds []float64) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v vitals
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		heap, goroutines, fds = append(heap, float64(v.Heap)), append(goroutines, float64(v.Goroutines)), append(fds, float64(v.FDs))
	}
	return heap, goroutines, fds
}

// TestGrew: what grows is caught; what only swings, or rose at the beginning, is not.
func TestGrew(t *testing.T) {
	series := func(f func(i float64) float64) (v []float64) {
		for i := range 90 {
			v = append(v, f(float64(i)))
		}
		return v
	}
	for _, c := range []struct {
		name string
		v    []float64
		grew bool
	}{
		{"constant", series(func(float64) float64 { return 100 }), false},
		{"rises to the end", series(func(i float64) float64 { return 100 + i }), true},
		{"rises at the beginning", series(func(i float64) float64 { return 100 + min(i, 29) }), false},
		{"swings", series(func(i float64) float64 { return 100 + 50*math.Sin(i) }), false},
		{"one peak", series(func(i float64) float64 { return 100 + 1000*float64(int(i)/89) }), false},
		{"falls", series(func(i float64) float64 { return 100 - i }), false},
	} {
		if got := grew(c.v, 0.1, 2); got != c.grew {
			t.Errorf("%s: grew is %v, want %v", c.name, got, c.grew)
		}
	}
}
