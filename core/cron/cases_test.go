package cron_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

// A nextCase is a line of testdata/cases.tsv.
type nextCase struct {
	expr, zone string
	from       time.Time
	want       []time.Time // three runs, or none:
	refused    string      // "never" or "reject"
	note       string
}

const caseTime = "2006-01-02 15:04:05-07:00"

func readCases(t testing.TB) []nextCase {
	text, err := os.ReadFile("testdata/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var cases []nextCase
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cols := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cols) != 5 {
			t.Fatalf("%d columns in %q", len(cols), line)
		}
		c := nextCase{expr: cols[0], zone: cols[1], note: cols[4]}
		if c.from, err = time.Parse(time.RFC3339, cols[2]); err != nil {
			t.Fatal(err)
		}
		if cols[3] == "never" || cols[3] == "reject" {
			c.refused = cols[3]
			cases = append(cases, c)
			continue
		}
		for _, text := range strings.Split(cols[3], " | ") {
			at, err := time.Parse(caseTime, text)
			if err != nil {
				t.Fatal(err)
			}
			c.want = append(c.want, at)
		}
		cases = append(cases, c)
	}
	if len(cases) < 60 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func TestCases(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.expr+" "+c.zone, func(t *testing.T) {
			loc := mustLoad(t, c.zone)
			s, err := cron.Parse(c.expr, loc)
			if c.refused != "" {
				if err == nil {
					t.Fatalf("accepted (%s)", c.note)
				}
				if never := errors.Is(err, cron.ErrNever); never != (c.refused == "never") {
					t.Fatalf("%v: ErrNever is %t (%s)", err, never, c.note)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			at := c.from
			for i, want := range c.want {
				next := s.Next(at)
				if got := next.Format(caseTime); got != want.In(loc).Format(caseTime) || next.Location() != loc {
					t.Fatalf("run %d after %s is %s, want %s (%s)", i+1, at, got, want.Format(caseTime), c.note)
				}
				if i > 0 {
					if prev := s.Prev(next.Add(-1)); !prev.Equal(at) {
						t.Errorf("Prev just before %s is %s, want %s", next, prev, at)
					}
				}
				if prev := s.Prev(next); !prev.Equal(next) {
					t.Errorf("Prev(%s) is %s, want the same", next, prev)
				}
				at = next
			}
		})
	}
}

// TestOracleAgreesWithCases holds the oracle of the other tests to the same answers, where the walk is not too long.
func TestOracleAgreesWithCases(t *testing.T) {
	checked := 0
	for _, c := range readCases(t) {
		if c.refused != "" {
			continue
		}
		step, longest := time.Minute, 150*24*time.Hour
		if len(strings.Fields(c.expr)) == 6 {
			step, longest = time.Second, 24*time.Hour
		}
		last := c.want[len(c.want)-1]
		if last.Sub(c.from) > longest {
			continue
		}
		checked++
		ticks := walkClock(mustLoad(t, c.zone), c.from.Add(-min(step*3000, time.Hour*6)), last.Add(step), step)
		got := newOracle(c.expr).firings(ticks, c.from.Unix()+1, last.Unix()+1)
		if len(got) != len(c.want) {
			t.Errorf("%s: the oracle has %d firings, want %d", c.expr, len(got), len(c.want))
			continue
		}
		for i, want := range c.want {
			if got[i] != want.Unix() {
				t.Errorf("%s %s: the oracle's run %d is %s, want %s", c.expr, c.zone, i+1, time.Unix(got[i], 0).In(want.Location()), want)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d cases were short enough to check", checked)
	}
}
