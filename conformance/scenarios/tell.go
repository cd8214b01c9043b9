package scenarios

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/anarchon-go/anarchon/core/store"
)

// Times says what times in results and timelines count from.
const Times = "Slots, such as +3s, and times are told from time zero of their play, a whole second: in most plays the first slot, +0s, is due then."

// Tell writes a result in words: each expectation with what was measured. With
// timeline, or if something does not hold, what happened follows, line by line.
func Tell(w io.Writer, r *Result, timeline bool) {
	fmt.Fprintf(w, "%d %s on %s (%v): ", r.Scenario.ID, r.Scenario.Title, r.Backend, r.Kind)
	if r.NA != "" {
		fmt.Fprintf(w, "does not apply: %s\n", r.NA)
		return
	}
	fmt.Fprintln(w, verdict(r))
	if r.Err != nil {
		fmt.Fprintf(w, "  FAULT %v\n", r.Err)
	}
	for _, j := range r.Judged {
		mark, figure := "ok   ", ""
		if j.Figure != "" {
			figure = " (" + j.Figure + ")"
		}
		if j.Err != nil {
			mark = "FAULT"
			figure += ": " + j.Err.Error()
		}
		fmt.Fprintf(w, "  %s %s%s\n", mark, j.Says, figure)
	}
	if r.Record != nil && (timeline || !r.OK()) {
		r.Record.Timeline(w)
	}
	fmt.Fprintln(w)
}

func verdict(r *Result) string {
	switch {
	case r.NA != "":
		return "n/a"
	case r.OK():
		return "as it must be"
	default:
		return "NOT as it must be"
	}
}

// byScenario sorts results by scenario, lease backends first.
func byScenario(results []*Result) []*Result {
	return slices.SortedStableFunc(slices.Values(results), func(a, b *Result) int {
		return cmp.Or(a.Scenario.ID-b.Scenario.ID, cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Backend, b.Backend))
	})
}

// Table writes the results side by side: a line per scenario, a column for each kind
// of backend that was played on.
func Table(w io.Writer, results []*Result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	kinds := kindsOf(results)
	fmt.Fprint(t, "\tscenario")
	for _, k := range kinds {
		fmt.Fprintf(t, "\t%v", k)
	}
	fmt.Fprintln(t)
	for _, s := range scenariosOf(results) {
		fmt.Fprintf(t, "%d\t%s", s.ID, s.Title)
		for _, k := range kinds {
			var cells []string
			for _, r := range byScenario(results) {
				if r.Scenario.ID == s.ID && r.Kind == k {
					cells = append(cells, r.Backend+" "+map[bool]string{true: "ok", false: "FAULT"}[r.OK()])
					if r.NA != "" {
						cells[len(cells)-1] = r.Backend + " n/a"
					}
				}
			}
			fmt.Fprintf(t, "\t%s", strings.Join(cells, ", "))
		}
		fmt.Fprintln(t)
	}
}

func kindsOf(results []*Result) []store.Kind {
	var kinds []store.Kind
	for _, r := range results {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

func scenariosOf(results []*Result) []*Scenario {
	var all []*Scenario
	for _, r := range byScenario(results) {
		if len(all) == 0 || all[len(all)-1].ID != r.Scenario.ID {
			all = append(all, r.Scenario)
		}
	}
	return all
}
