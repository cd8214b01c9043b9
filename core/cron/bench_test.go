package cron_test

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

// benchRows are common schedules and the rarest date.
var benchRows = []struct{ expr, zone string }{
	{"*/5 * * * *", "UTC"},
	{"30 2 * * *", "UTC"},
	{"*/5 * * * *", "America/New_York"},
	{"30 2 * * *", "America/New_York"},
	{"0 9 * * MON-FRI", "America/New_York"},
	{"0 18 L * *", "America/New_York"},
	{"0 0 29 2 *", "America/New_York"},
	{"*/5 * 29 2 *", "America/New_York"},
}

// benchFrom is in another season than most runs of this benchmark, so that nothing is gained by a cache for the present.
var benchFrom = time.Date(2031, 7, 15, 13, 37, 12, 0, time.UTC)

func BenchmarkNext(b *testing.B) {
	for _, row := range benchRows {
		b.Run(row.expr+" "+row.zone, func(b *testing.B) {
			s := cron.MustParse(row.expr, mustLoad(b, row.zone))
			b.ReportAllocs()
			for b.Loop() {
				s.Next(benchFrom)
			}
		})
	}
}

func BenchmarkPrev(b *testing.B) {
	for _, row := range benchRows {
		b.Run(row.expr+" "+row.zone, func(b *testing.B) {
			s := cron.MustParse(row.expr, mustLoad(b, row.zone))
			b.ReportAllocs()
			for b.Loop() {
				s.Prev(benchFrom)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	loc := mustLoad(b, "America/New_York")
	for _, expr := range []string{"*/5 * * * *", "30 2 * * *", "0 9 * * MON-FRI", "0,15,30,45 8-18 1,15,L * *", "0 0 29 2 *", "@daily"} {
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cron.Parse(expr, loc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstParse includes the table of the zone's clock changes, which is made once per location.
func BenchmarkFirstParse(b *testing.B) {
	for _, source := range zoneSources(b) {
		for _, z := range source.zones {
			if z.name != "America/New_York" && z.name != "US/Eastern" { // the same zone, whichever name comes first
				continue
			}
			b.Run(source.name, func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					loc := z.load(b)
					b.StartTimer()
					if _, err := cron.Parse("30 2 * * *", loc); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	s := cron.MustParse("30 2 * * *", mustLoad(b, "America/New_York"))
	b.ReportAllocs()
	for b.Loop() {
		s.Fingerprint()
	}
}

func TestNoAllocation(t *testing.T) {
	for _, row := range append(benchRows, struct{ expr, zone string }{"30 30 2 * 3 0#2", "America/New_York"}) {
		s := cron.MustParse(row.expr, mustLoad(t, row.zone))
		at := benchFrom
		if n := testing.AllocsPerRun(100, func() { at = s.Next(at) }); n != 0 {
			t.Errorf("%s %s: Next allocates %v times", row.expr, row.zone, n)
		}
		if n := testing.AllocsPerRun(100, func() { at = s.Prev(at.Add(-1)) }); n != 0 {
			t.Errorf("%s %s: Prev allocates %v times", row.expr, row.zone, n)
		}
	}
}
