package bench

import (
	"fmt"
	"testing"
	"time"

	netresearch "github.com/netresearch/go-cron"
	robfig "github.com/robfig/cron/v3"

	"github.com/anarchon-go/anarchon/core/cron"
	"github.com/anarchon-go/anarchon/internal/budget"
)

// cronRows are common schedules, which are held to nextBudget, and a rare one.
var cronRows = []struct {
	expr, zone string
	common     bool
}{
	{"*/5 * * * *", "UTC", true},
	{"30 2 * * *", "UTC", true},
	{"*/5 * * * *", "America/New_York", true},
	{"30 2 * * *", "America/New_York", true},
	{"0 9 * * 1-5", "America/New_York", true},
	{"0 0 1 * *", "America/New_York", true},
	{"0 0 29 2 *", "America/New_York", false},
}

// cronFrom is a fixed instant, so that runs can be compared, and not in this season, so that no cache for the present helps.
var cronFrom = time.Date(2031, 7, 15, 13, 37, 12, 0, time.UTC)

const (
	nextBudget  = 250    // ns, on common rows
	parseBudget = 10_000 // ns: 100 000 jobs in a second
)

// A peer is a library under comparison: parse and next are what is measured.
type peer struct {
	name  string
	parse func(expr, zone string, loc *time.Location) (func(time.Time) time.Time, error)
}

var peers = []peer{
	{"anarchon", func(expr, _ string, loc *time.Location) (func(time.Time) time.Time, error) {
		s, err := cron.Parse(expr, loc)
		if err != nil {
			return nil, err
		}
		return s.Next, nil
	}},
	{"robfig", func(expr, zone string, _ *time.Location) (func(time.Time) time.Time, error) {
		s, err := robfig.ParseStandard("CRON_TZ=" + zone + " " + expr)
		if err != nil {
			return nil, err
		}
		return s.Next, nil
	}},
	{"netresearch", func(expr, zone string, _ *time.Location) (func(time.Time) time.Time, error) {
		s, err := netresearch.ParseStandard("CRON_TZ=" + zone + " " + expr)
		if err != nil {
			return nil, err
		}
		return s.Next, nil
	}},
}

// parsers leave the zone out: its file is no part of what is compared.
var parsers = []struct {
	name  string
	parse func(expr string) error
}{
	{"anarchon", func(expr string) error { _, err := cron.Parse(expr, time.UTC); return err }},
	{"robfig", func(expr string) error { _, err := robfig.ParseStandard(expr); return err }},
	{"netresearch", func(expr string) error { _, err := netresearch.ParseStandard(expr); return err }},
}

func location(tb testing.TB, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func BenchmarkCronNext(b *testing.B) {
	for _, row := range cronRows {
		for _, p := range peers {
			b.Run(row.expr+" "+row.zone+"/"+p.name, func(b *testing.B) {
				next, err := p.parse(row.expr, row.zone, location(b, row.zone))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					next(cronFrom)
				}
			})
		}
	}
}

func BenchmarkCronParse(b *testing.B) {
	for _, row := range cronRows {
		for _, p := range parsers {
			b.Run(row.expr+"/"+p.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := p.parse(row.expr); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// fastest times each function over and over, in turns, and gives the best time of each per call, in nanoseconds: noise of the machine only adds.
func fastest(calls int, fns ...func()) []float64 {
	best := make([]float64, len(fns))
	for round := range 15 {
		for i, fn := range fns {
			start := time.Now()
			for range calls {
				fn()
			}
			if took := float64(time.Since(start).Nanoseconds()) / float64(calls); round == 0 || took < best[i] {
				best[i] = took
			}
		}
	}
	return best
}

// TestBudgetCronNext: on each row Next is faster than its peers and does not allocate, and on common rows it takes at most 250 ns.
func TestBudgetCronNext(t *testing.T) {
	budget.Only(t)
	for _, row := range cronRows {
		loc := location(t, row.zone)
		nexts := make([]func(), len(peers))
		for i, p := range peers {
			next, err := p.parse(row.expr, row.zone, loc)
			if err != nil {
				t.Fatal(err)
			}
			nexts[i] = func() { next(cronFrom) }
		}
		ns := fastest(5000, nexts...)
		what := fmt.Sprintf("Next of %s, %s", row.expr, row.zone)
		detail := fmt.Sprintf("%.0f ns; robfig/cron %.0f ns, netresearch/go-cron %.0f ns", ns[0], ns[1], ns[2])
		budget.Row(t, "cron", what+", against the faster of robfig/cron and netresearch/go-cron", min(ns[1], ns[2])/ns[0], "×", budget.AtLeast(1), detail)
		if row.common {
			budget.Row(t, "cron", what, ns[0], "ns", budget.AtMost(nextBudget), "best of 15 rounds, no allocation")
		}
		if n := testing.AllocsPerRun(100, nexts[0]); n != 0 {
			t.Errorf("%s allocates %v times; it must not", what, n)
		}
	}
}

// TestBudgetCronParse holds the slowest expression to the budget. The peers are shown and not compared with: Parse does more (the smallest
// gap, whether the schedule can fire at all).
func TestBudgetCronParse(t *testing.T) {
	budget.Only(t)
	slowest, detail := 0.0, ""
	for _, row := range cronRows {
		parses := make([]func(), len(parsers))
		for i, p := range parsers {
			parses[i] = func() {
				if err := p.parse(row.expr); err != nil {
					t.Fatal(err)
				}
			}
		}
		if ns := fastest(2000, parses...); ns[0] > slowest {
			slowest = ns[0]
			detail = fmt.Sprintf("%s; robfig/cron %.0f ns, netresearch/go-cron %.0f ns", row.expr, ns[1], ns[2])
		}
	}
	budget.Row(t, "cron", "Parse, the slowest row", slowest, "ns", budget.AtMost(parseBudget), detail)
}
