package cron

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"weak"
)

var tableZones = []string{"UTC", "America/New_York", "Europe/Athens", "Europe/Dublin", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca",
	"Asia/Gaza", "Asia/Tokyo", "America/Nuuk", "Pacific/Apia", "Pacific/Kwajalein", "Africa/Monrovia", "Asia/Kathmandu"}

// TestZoneTable compares the table with the location, around each change, on the last days of years and at random, before and after the
// point from which it repeats.
func TestZoneTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range tableZones {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := newZone(loc)
		check := func(unix int64) {
			t.Helper()
			_, want := time.Unix(unix, 0).In(loc).Zone()
			g := z.at(unix)
			if g.offset != int64(want) || unix < g.start || unix >= g.end {
				t.Fatalf("%s: at %s the table says %+v, the location %d", name, time.Unix(unix, 0).UTC(), g, want)
			}
		}
		prev := segment{end: -forever, offset: 1 << 20}
		for _, g := range z.segments {
			if g.start != prev.end || g.end <= g.start || g.offset == prev.offset {
				t.Fatalf("%s: %+v follows %+v", name, g, prev)
			}
			if prev.offset != 1<<20 && g.from != prev.end+prev.offset {
				t.Errorf("%s: the window of %+v does not begin where that of %+v ends", name, g, prev)
			}
			for _, d := range []int64{-86400, -1, 0, 1, 86400} {
				if at := g.start + d; at > minUnix {
					check(at)
				}
			}
			prev = g
		}
		for year := 2020; year < 3400; year++ {
			check(time.Date(year, 12, 31, 12, 0, 0, 0, time.UTC).Unix())
			check(time.Date(year, 12, 31, 23, 59, 59, 0, loc).Unix())
			check(time.Date(year+1, 1, 1, 0, 0, 0, 0, loc).Unix())
		}
		for range 5000 {
			check(rng.Int64N(1<<36) - 1<<33) // the years 1697 to 3875
		}
		check(minUnix + 1)
		check(maxUnix - 1)
	}
}

// TestZonesAreForgotten: the table of a location goes when the location goes.
func TestZonesAreForgotten(t *testing.T) {
	load := func() weak.Pointer[time.Location] {
		loc, err := time.LoadLocation("Asia/Gaza")
		if err != nil {
			t.Fatal(err)
		}
		MustParse("30 2 * * *", loc)
		key := weak.Make(loc)
		if _, ok := zones.Load(key); !ok {
			t.Fatal("the table is not kept while the location is in use")
		}
		runtime.KeepAlive(loc)
		return key
	}
	key := load()
	for deadline := time.Now().Add(10 * time.Second); ; {
		runtime.GC()
		if _, ok := zones.Load(key); !ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the table is still there")
		}
		runtime.Gosched()
	}
}

// TestEqualZonesShareATable: each call of LoadLocation gives another location.
func TestEqualZonesShareATable(t *testing.T) {
	load := func(name string) *Schedule {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return MustParse("30 2 * * *", loc)
	}
	a, b, other := load("Europe/Athens"), load("Europe/Athens"), load("Europe/Helsinki")
	if a.loc == b.loc || a.zone != b.zone {
		t.Errorf("locations %p and %p have the tables %p and %p", a.loc, b.loc, a.zone, b.zone)
	}
	if a.zone == other.zone {
		t.Error("Athens and Helsinki have one table")
	}
	// The table outlives the first of its locations, and goes with the last.
	kept := weak.Make(a.zone)
	a, other = nil, nil
	runtime.GC()
	if kept.Value() == nil || b.zone != kept.Value() {
		t.Error("the table of a location in use is gone")
	}
	runtime.KeepAlive(b)
	b = nil
	for deadline := time.Now().Add(10 * time.Second); kept.Value() != nil; runtime.Gosched() {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("the table is still there")
		}
	}
}

// TestCalendar compares the calendar with package time.
func TestCalendar(t *testing.T) {
	for day := -800000; day < 800000; day += 1 + day&3 {
		date := time.Unix(int64(day)*secondsPerDay, 0).UTC()
		y, m, d := date.Date()
		year, month, dom := dateOf(day)
		if year != y || month != int(m) || dom != d {
			t.Fatalf("day %d is %d-%d-%d, want %s", day, year, month, dom, date)
		}
		if got := firstOf(year, month); got != day-dom+1 {
			t.Fatalf("%d-%d begins on day %d, want %d", year, month, got, day-dom+1)
		}
		if got := weekdayOf(day); got != int(date.Weekday()) {
			t.Fatalf("day %d is weekday %d, want %s", day, got, date.Weekday())
		}
		if got, want := lengthOf(year, month), time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day(); got != want {
			t.Fatalf("%d-%d has %d days, want %d", year, month, got, want)
		}
	}
	for _, c := range []struct {
		civil       int64
		day, second int
	}{{0, 0, 0}, {86399, 0, 86399}, {86400, 1, 0}, {-1, -1, 86399}, {-86400, -1, 0}, {-86401, -2, 86399}} {
		if day, second := splitDay(c.civil); day != c.day || second != c.second {
			t.Errorf("splitDay(%d) = %d, %d", c.civil, day, second)
		}
	}
}
