package cron_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

// A schedule is what core takes.
var _ interface {
	Next(after time.Time) time.Time
	Prev(at time.Time) time.Time
	MinGap() time.Duration
	String() string
} = (*cron.Schedule)(nil)

// hurry ends the test, with what it was about, if it is not called off in time. What it watches takes microseconds.
func hurry(format string, about ...any) (callOff func()) {
	const most = 5 * time.Second
	timer := time.AfterFunc(most, func() { panic(fmt.Sprintf("longer than %v: "+format, append([]any{most}, about...)...)) })
	return func() { timer.Stop() }
}

// checkSchedule asserts what holds for every schedule and every time.
func checkSchedule(t *testing.T, s *cron.Schedule, at time.Time) {
	t.Helper()
	defer hurry("%s at %s", s, at)()
	const far = 40 * 366 * 24 * time.Hour
	next := s.Next(at)
	if next.IsZero() {
		if year := at.UTC().Year(); year > 2025 && year < 30000 {
			t.Fatalf("%s: nothing after %s", s, at)
		}
		return
	}
	if !next.After(at) || next.Nanosecond() != 0 || next.Sub(at) > far {
		t.Fatalf("%s: Next(%s) = %s", s, at, next)
	}
	if prev := s.Prev(next); !prev.Equal(next) {
		t.Fatalf("%s: Prev(%s) = %s, though it fires then", s, next, prev)
	}
	prev := s.Prev(at)
	if !prev.IsZero() {
		if prev.After(at) || prev.Nanosecond() != 0 {
			t.Fatalf("%s: Prev(%s) = %s", s, at, prev)
		}
		if again := s.Next(prev); !again.Equal(next) {
			t.Fatalf("%s: Next(%s) = %s, but nothing fires between that and %s, and Next(%s) = %s", s, prev, again, at, at, next)
		}
	}
	if before := s.Prev(next.Add(-1)); !before.Equal(prev) {
		t.Fatalf("%s: Prev just before %s is %s, but Prev(%s) = %s", s, next, before, at, prev)
	}
}

// checkNormal asserts that the normal form parses to an equal schedule.
func checkNormal(t *testing.T, s *cron.Schedule, loc *time.Location) {
	t.Helper()
	expr, ok := strings.CutSuffix(s.String(), " "+loc.String())
	if !ok {
		t.Fatalf("%s does not end with %s", s, loc)
	}
	again, err := cron.Parse(expr, loc)
	if err != nil {
		t.Fatalf("normal form of %s: %v", s, err)
	}
	if again.String() != s.String() || again.Fingerprint() != s.Fingerprint() || again.MinGap() != s.MinGap() {
		t.Fatalf("the normal form of %s is that of another schedule, %s", s, again)
	}
}

func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seed, 2))
	locs := loadAll(t, fuzzZones)
	for range 4000 {
		loc := locs[rng.IntN(len(locs))]
		at := time.Unix(rng.Int64N(1<<34)-1<<33, rng.Int64N(1e9)) // the years 1697 to 2242
		s, err := cron.Parse(randomExpr(rng, at.In(loc), rng.IntN(3) == 0), loc)
		if err != nil {
			t.Fatal(err)
		}
		checkSchedule(t, s, at)
		checkNormal(t, s, loc)
	}
}

// TestOddTimes: instants at the edges of what time.Time can hold neither hang nor panic nor go backwards.
func TestOddTimes(t *testing.T) {
	for _, zone := range []string{"UTC", "America/New_York", "Asia/Tokyo"} {
		loc := mustLoad(t, zone)
		for _, expr := range []string{"* * * * * *", "*/5 * * * *", "30 2 * * *", "0 0 29 2 *", "0 0 * 2 MON#5", "*/5 * L 2 *"} {
			s := cron.MustParse(expr, loc)
			for _, at := range []time.Time{
				{},
				time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Date(-1, 12, 31, 23, 59, 59, 999999999, loc),
				time.Date(1, 1, 1, 0, 0, 0, 0, loc),
				time.Date(1969, 12, 31, 23, 59, 59, 1, time.UTC),
				time.Date(2024, 12, 31, 23, 30, 0, 0, loc), // the last day of a leap year, see golang/go#81583
				time.Date(2048, 12, 31, 12, 0, 0, 0, loc),
				time.Date(2096, 3, 1, 0, 0, 0, 0, loc), // 29 February comes after 8 years
				time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
				time.Date(-32000, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Unix(1<<40-1, 0),
				time.Unix(1<<40, 0),
				time.Unix(-1<<40, 0),
				time.Unix(math.MaxInt64, 999999999),
				time.Unix(math.MinInt64, 0),
			} {
				checkSchedule(t, s, at)
				s.Prev(at)
			}
		}
	}
}

// TestYearsApart: the search goes far enough, forwards and backwards.
func TestYearsApart(t *testing.T) {
	for _, c := range []struct {
		expr     string
		from, to int // years
	}{
		{"0 0 29 2 *", 2096, 2104},
		{"0 0 * 2 MON#5", 2072, 2112}, // 40 years
		{"0 0 * 2 FRI#5", 2092, 2104},
	} {
		s := cron.MustParse(c.expr, time.UTC)
		first := time.Date(c.from, 2, 29, 0, 0, 0, 0, time.UTC)
		last := time.Date(c.to, 2, 29, 0, 0, 0, 0, time.UTC)
		if next := s.Next(first); !next.Equal(last) {
			t.Errorf("%s after %s: %s, want %s", c.expr, first, next, last)
		}
		if prev := s.Prev(last.Add(-1)); !prev.Equal(first) {
			t.Errorf("%s before %s: %s, want %s", c.expr, last, prev, first)
		}
	}
}

// TestRulesEndlessly: beyond the table of clock changes the zone's rule goes on, so New York's gap is on the second Sunday of March.
func TestRulesEndlessly(t *testing.T) {
	loc := mustLoad(t, "America/New_York")
	s := cron.MustParse("30 2 * * SUN#2", loc)
	for _, year := range []int{2099, 2100, 2101, 2499, 2500, 2501, 2899, 2900, 9999} {
		got := s.Next(time.Date(year, 3, 1, 0, 0, 0, 0, loc))
		if got.Hour() != 3 || got.Minute() != 0 || got.Weekday() != time.Sunday || got.Month() != time.March || got.Day() < 8 || got.Day() > 14 {
			t.Errorf("in %d the second Sunday's run is at %s, want 03:00", year, got)
		}
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	zone := mustLoad(t, "Europe/Athens")
	s := cron.MustParse("30 2 * * *", zone)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			at := benchFrom
			for range 100 {
				at = s.Next(at)
				s.Prev(at)
			}
			if fp := cron.MustParse("30 2 * * *", zone).Fingerprint(); fp != s.Fingerprint() || s.String() != "30 2 * * * Europe/Athens" {
				t.Errorf("fingerprint %s, then %s", s.Fingerprint(), fp)
			}
		})
	}
	wg.Wait()
}
