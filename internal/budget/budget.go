// Package budget states a performance budget inside a test and judges it.
//
// A budget test calls Only first, measures, and reports each ratio by Row. It is
// skipped unless the flag -budget is given, since it wants the machine for itself;
// make bench gives the flag, runs the budget tests of all packages one after the
// other, and prints their rows as one table (scripts/budgets).
//
// Figures are ratios inside one run wherever the machine's speed would matter: what
// is measured and what it is compared with run in turn on the same machine and
// server, and the best of each is compared, since a neighbour slows one turn and not
// the other.
package budget

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"testing"
)

var on = flag.Bool("budget", false, "measure the budgets of this package; wants the machine for itself")

// Only skips the test unless -budget was given.
func Only(t *testing.T) {
	t.Helper()
	if !*on {
		t.Skip("a measurement, which wants the machine for itself: ask for it by -budget (make bench)")
	}
}

// Bound is the rule that a measured value is held to.
type Bound struct {
	Limit float64
	Least bool // the value must reach Limit; else it must not pass it
}

// AtLeast holds for values of limit and more.
func AtLeast(limit float64) Bound { return Bound{Limit: limit, Least: true} }

// AtMost holds for values of limit and less.
func AtMost(limit float64) Bound { return Bound{Limit: limit} }

// Holds tells whether the value keeps the bound.
func (b Bound) Holds(value float64) bool {
	if b.Least {
		return value >= b.Limit
	}
	return value <= b.Limit
}

func (b Bound) String() string {
	if b.Least {
		return fmt.Sprintf("≥ %v", b.Limit)
	}
	return fmt.Sprintf("≤ %v", b.Limit)
}

// Result is one row of the table.
type Result struct {
	Part   string  `json:"part"`   // what it belongs to: core, redis, ...
	What   string  `json:"what"`   // what was measured, against what
	Value  float64 `json:"value"`  // the measured value
	Unit   string  `json:"unit"`   // "×" for a ratio, "ms", "MB", ...
	Rule   string  `json:"rule"`   // the bound as text
	Detail string  `json:"detail"` // the figures behind it
	Holds  bool    `json:"holds"`
}

// Mark begins a line of a test's output that carries a Result as JSON.
const Mark = "BUDGET "

// Row reports a measured value and fails the test, without ending it, if it does not
// keep the bound. Detail says the figures behind the value, with their units.
func Row(t testing.TB, part, what string, value float64, unit string, bound Bound, detail string) {
	t.Helper()
	r := Result{Part: part, What: what, Value: value, Unit: unit, Rule: bound.String(), Detail: detail, Holds: bound.Holds(value)}
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("budget: %s: %v", what, err) // a value that is no number
	}
	t.Log(Mark + string(line))
	if !r.Holds {
		t.Errorf("%s: %s is %.3g %s; the budget is %s (%s)", part, what, value, unit, bound, detail)
	}
}

// Best returns the largest of the values.
func Best(v []float64) float64 { return slices.Max(v) }

// Least returns the smallest of the values.
func Least(v []float64) float64 { return slices.Min(v) }

// Median returns the middle one of the values, the upper one of two.
func Median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
