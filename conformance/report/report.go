// Package report writes down what a conformance run found: for people a table
// and a line, for machines JSON and JUnit XML.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/verdict"
	"github.com/anarchon-go/anarchon/core/store"
)

// Report is one run of the suite.
type Report struct {
	Subject     kit.About
	Description store.Description
	Seed        uint64
	Started     time.Time
	Took        time.Duration
	Results     []kit.Result
	Verdict     verdict.Verdict
}

// Line is the verdict in one line: on what, and how it went.
func (r *Report) Line() string {
	v := r.Verdict
	line := fmt.Sprintf("%s: plugin %s %s on %s, %v, variant %s, seed %d: %d of %d expected checks passed in %v",
		v.Word(), r.Subject.Plugin, r.Subject.Version, orUnknown(r.Description.Product), r.Description.Kind, r.Subject.Variant, r.Seed,
		v.Passed, v.Expected, r.Took.Round(100*time.Millisecond))
	if !v.Complete {
		line += "; the others were not selected, so this is no verdict on the backend"
	}
	return line
}

func orUnknown(product string) string {
	if product == "" {
		return "an unnamed store"
	}
	return product
}

// Table is one line per family, and the verdict: what was wrong, and the line.
func (r *Report) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-10s %5s %5s %5s %5s %5s %9s\n", "family", "pass", "skip", "off", "fail", "error", "time")
	total := row{name: "all"}
	for _, f := range r.families() {
		if !f.unselected() {
			f.write(&b)
		}
		total.add(f)
	}
	total.write(&b)
	for _, p := range r.Verdict.Problems {
		fmt.Fprintf(&b, "  %s\n", firstLine(p))
	}
	b.WriteString(r.Line())
	b.WriteByte('\n')
	return b.String()
}

type row struct {
	name  string
	count map[kit.Outcome]int
	took  time.Duration
}

// families sums the results up, in the order in which families first appear.
func (r *Report) families() []row {
	var rows []row
	for _, res := range r.Results {
		i := slices.IndexFunc(rows, func(f row) bool { return f.name == res.Check.Family() })
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{name: res.Check.Family(), count: map[kit.Outcome]int{}})
		}
		rows[i].count[res.Outcome]++
		rows[i].took += res.Took
	}
	return rows
}

// unselected tells a family of which no check was asked for.
func (t *row) unselected() bool {
	for o, n := range t.count {
		if o != kit.Disabled && n > 0 {
			return false
		}
	}
	return true
}

func (t *row) add(f row) {
	if t.count == nil {
		t.count = map[kit.Outcome]int{}
	}
	for o, n := range f.count {
		t.count[o] += n
	}
	t.took += f.took
}

func (t *row) write(b *strings.Builder) {
	fmt.Fprintf(b, "%-10s", t.name)
	for _, o := range kit.Outcomes() {
		fmt.Fprintf(b, " %5s", blank(t.count[o]))
	}
	fmt.Fprintf(b, " %8.1fs\n", t.took.Seconds())
}

func blank(n int) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprint(n)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
