package cron_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

var (
	full = flag.Bool("cron.full", false, "compare with the oracle by five expressions at each clock change, not by one")
	seed = flag.Uint64("cron.seed", 1, "seed of the random expressions")
)

// TestAgainstOracle compares Next and Prev with the oracle around every clock change from 1975 to 2040, in every zone of each tz
// database on this machine: by one random expression at each change, or by five with -cron.full. Which ones depends on the seed,
// the zone and the change alone.
func TestAgainstOracle(t *testing.T) {
	each := 1
	if *full {
		each = 5
	}
	for _, source := range zoneSources(t) {
		t.Run(source.name, func(t *testing.T) {
			var windows, firings int
			for _, z := range source.zones {
				loc := z.load(t)
				changes := transitions(loc)
				if len(changes) == 0 {
					changes = []time.Time{time.Date(2024, 2, 28, 0, 0, 0, 0, time.UTC)}
				}
				if testing.Short() {
					changes = changes[len(changes)-1:]
				}
				for _, change := range changes {
					h := fnv.New64a()
					fmt.Fprint(h, z.name, change.Unix())
					windows++
					firings += compareAround(t, rand.New(rand.NewPCG(*seed, h.Sum64())), loc, change, each)
					if t.Failed() {
						return
					}
				}
			}
			t.Logf("%d zones, %d clock changes, %d firings (seed %d)", len(source.zones), windows, firings, *seed)
		})
	}
}

// compareAround compares so many random expressions around a clock change by minutes, and around some by seconds.
func compareAround(t *testing.T, rng *rand.Rand, loc *time.Location, change time.Time, each int) (firings int) {
	const day = 24 * time.Hour
	ticks := walkClock(loc, change.Add(-3*day), change.Add(3*day), time.Minute)
	from, to := change.Add(-2*day), change.Add(2*day)
	for range each {
		firings += compare(t, rng, loc, randomExpr(rng, change.In(loc), false), ticks, from, to)
	}
	if rng.IntN(20) == 0 {
		ticks := walkClock(loc, change.Add(-4*time.Hour), change.Add(3*time.Hour), time.Second)
		for range each {
			firings += compare(t, rng, loc, randomExpr(rng, change.In(loc), true), ticks, change.Add(-3*time.Hour), change.Add(3*time.Hour))
		}
	}
	return firings
}

// compare checks Next and Prev at each firing in [from, to), just before and after it, and at random instants.
func compare(t *testing.T, rng *rand.Rand, loc *time.Location, expr string, ticks []tick, from, to time.Time) int {
	t.Helper()
	s, err := cron.Parse(expr, loc)
	if errors.Is(err, cron.ErrNever) && !newOracle(expr).fixed {
		return 0 // such as "*/7 3 * 3 7L" in Helsinki, which could fire under the rules of 1981
	}
	if err != nil {
		t.Fatalf("%q in %s: %v", expr, loc, err)
	}
	lo, hi := from.Unix(), to.Unix()
	want := newOracle(expr).firings(ticks, lo, hi)
	at := []int64{lo, hi - 1}
	for range 8 {
		at = append(at, lo+rng.Int64N(hi-lo))
	}
	for _, f := range want {
		at = append(at, f-1, f, f+1)
	}
	for _, unix := range at {
		if unix < lo || unix >= hi {
			continue
		}
		when := time.Unix(unix, rng.Int64N(2)*rng.Int64N(1e9))
		i, _ := slices.BinarySearch(want, unix+1) // want[i] is the first after unix
		if next := s.Next(when).Unix(); i < len(want) && next != want[i] || i == len(want) && next < hi {
			t.Errorf("%q in %s: Next(%s) = %s, the oracle says %s", expr, loc, stamp(unix, loc), stamp(next, loc), nth(want, i, loc))
			return 0
		}
		if prev := s.Prev(when).Unix(); i > 0 && prev != want[i-1] || i == 0 && prev >= lo {
			t.Errorf("%q in %s: Prev(%s) = %s, the oracle says %s", expr, loc, stamp(unix, loc), stamp(prev, loc), nth(want, i-1, loc))
			return 0
		}
	}
	return len(want)
}

func stamp(unix int64, loc *time.Location) string {
	return time.Unix(unix, 0).In(loc).Format("2006-01-02 15:04:05-07:00")
}

func nth(want []int64, i int, loc *time.Location) string {
	if i < 0 || i >= len(want) {
		return "none in the window"
	}
	return stamp(want[i], loc)
}

// randomExpr writes an expression that has a good chance to fire near a local time.
func randomExpr(rng *rand.Rand, near time.Time, seconds bool) string {
	pick := func(choices ...string) string { return choices[rng.IntN(len(choices))] }
	around := func(value, spread, lowest, count int) string {
		v := (value-lowest+rng.IntN(2*spread+1)-spread+count)%count + lowest
		return strconv.Itoa(v)
	}
	list := func(value, spread, lowest, count int) string {
		one := func() string { return around(value, spread, lowest, count) }
		return pick("*", "*", "*", one(), one(), one()+","+one(), one()+"-"+one(), one()+"-"+one()+"/1",
			"*/"+strconv.Itoa(1+rng.IntN(count)), fmt.Sprintf("%d-%d/%d", lowest, lowest+count-1, 1+rng.IntN(count)))
	}
	minute := pick(list(near.Minute(), 30, 0, 60), "0", "30", "15,45", "*/20", "59", "50-10", "*/7")
	hour := pick(list(near.Hour(), 2, 0, 24), around(near.Hour(), 2, 0, 24), around(near.Hour(), 1, 0, 24), "*", "22-2", "0", "23")
	dom := pick("*", "*", "*", "?", list(near.Day(), 1, 1, 31), "L", "L-1", "LW", around(near.Day(), 1, 1, 31)+"W", "*/2")
	month := pick("*", "*", "*", around(int(near.Month()), 1, 1, 12), "OCT-MAR", "*/2")
	dow := pick("*", "*", "*", "?", around(int(near.Weekday()), 1, 0, 7), "SAT-MON", "5-7", "SUN", "0#1,0#2", "7L", "MON-FRI", "*/2")
	if month != "*" {
		dom = "*" // some dates never come
	}
	fields := []string{minute, hour, dom, month, dow}
	if seconds {
		fields = append([]string{pick(list(near.Second(), 30, 0, 60), "0", "*/13", "30,59", "58-2")}, fields...)
	}
	return strings.Join(fields, " ")
}

// TestOracleSeesFaults makes sure that the comparison can fail: an oracle that is told to take a fixed job for an interval job, or
// the other way round, must disagree with the package around a clock change.
func TestOracleSeesFaults(t *testing.T) {
	loc := mustLoad(t, "America/New_York")
	for _, expr := range []string{"30 2 * * *", "*/30 2 * * *", "30 1 * * *", "*/30 1 * * *"} {
		differ := false
		for _, change := range []time.Time{time.Date(2024, 3, 10, 7, 0, 0, 0, time.UTC), time.Date(2024, 11, 3, 6, 0, 0, 0, time.UTC)} {
			ticks := walkClock(loc, change.Add(-24*time.Hour), change.Add(24*time.Hour), time.Minute)
			o := newOracle(expr)
			right := o.firings(ticks, change.Unix()-12*3600, change.Unix()+12*3600)
			o.fixed = !o.fixed
			wrong := o.firings(ticks, change.Unix()-12*3600, change.Unix()+12*3600)
			s := cron.MustParse(expr, loc)
			var got []int64
			for at := s.Next(change.Add(-12*time.Hour - time.Second)); at.Before(change.Add(12 * time.Hour)); at = s.Next(at) {
				got = append(got, at.Unix())
			}
			if !slices.Equal(got, right) {
				t.Errorf("%q: got %v, want %v", expr, got, right)
			}
			differ = differ || !slices.Equal(got, wrong)
		}
		if !differ {
			t.Errorf("%q: the wrong oracle was not noticed", expr)
		}
	}
}
