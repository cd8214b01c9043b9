// Package verdict compares what a conformance run did with the list of checks
// that such a backend must pass. The lists are checked in, and not derived from
// what the backend says or from the checks that happen to exist: a check that is
// gone, or that was skipped for no reason that the list names, fails the run.
package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// Verdict is the judgement of a whole run.
type Verdict struct {
	OK       bool     `json:"ok"`       // nothing is wrong with what ran
	Complete bool     `json:"complete"` // everything that was expected ran; else OK proves little
	Expected int      `json:"expected"`
	Passed   int      `json:"passed"`
	Problems []string `json:"problems,omitempty"` // each names a check, or what else is wrong
}

// Judge compares results with the expected checks.
func Judge(expected []Expected, results []kit.Result) Verdict {
	v := Verdict{OK: true, Complete: true, Expected: len(expected)}
	byID := map[string]kit.Result{}
	for _, r := range results {
		if _, twice := byID[r.Check.ID]; twice {
			v.Add("%s: reported twice", r.Check.ID)
		}
		byID[r.Check.ID] = r
	}
	for _, e := range expected {
		r, ran := byID[e.ID]
		switch {
		case !ran:
			v.Add("%s: expected, and did not run", e.ID)
		case r.Outcome == kit.Pass:
			v.Passed++
		case r.Outcome == kit.Disabled:
			v.Complete = false
		case r.Outcome == kit.Skip && e.Needs != 0 && e.Needs&r.Check.Needs == e.Needs:
			// The list allows it, and the reason is in the report.
		case r.Outcome == kit.Skip:
			v.Add("%s: skipped, and the list does not allow that: %s", e.ID, r.Reason)
		default:
			v.Add("%s: %v", e.ID, r.Outcome)
		}
	}
	for _, r := range results {
		if !slices.ContainsFunc(expected, func(e Expected) bool { return e.ID == r.Check.ID }) {
			v.Add("%s: ran, and is not on the list of expected checks", r.Check.ID)
		}
	}
	return v
}

// Add adds a problem to the verdict, which is bad from then on.
func (v *Verdict) Add(format string, args ...any) {
	v.OK = false
	v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
}

// Word is the verdict in one word: PASS, FAIL, or PARTIAL, which is a run of a
// selection that went well and proves little.
func (v Verdict) Word() string {
	switch {
	case !v.OK:
		return "FAIL"
	case !v.Complete:
		return "PARTIAL"
	}
	return "PASS"
}

// String is the verdict in a sentence.
func (v Verdict) String() string {
	s := fmt.Sprintf("%d of %d expected checks passed", v.Passed, v.Expected)
	if !v.Complete {
		s += "; others were not selected, so this is no verdict on the backend"
	}
	if len(v.Problems) > 0 {
		s += ":\n  " + strings.Join(v.Problems, "\n  ")
	}
	return s
}
