package window

import (
	"context"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/core/store"
)

// Report is what was measured of a store's memory, and what follows for jobs.
type Report struct {
	// Declared is the memory of the store as the user configured it. The count is
	// measured with it.
	Declared store.Memory
	// Measured is the memory that was measured by age: Declared itself, or one with a
	// shorter window, whose outcome carries over.
	Measured store.Memory
	Ages     []Sample
	Counts   []Sample
	// Lies are the ways in which the store remembers less than is declared.
	Lies []string
	Jobs []jobsfile.Judgement
}

// Scaled reports whether a smaller memory than the user's was measured.
func (r Report) Scaled() bool { return r.Declared != r.Measured }

// OK reports whether the store keeps what is declared, and every job may run on it.
func (r Report) OK() bool {
	for _, j := range r.Jobs {
		if !j.OK() {
			return false
		}
	}
	return len(r.Lies) == 0
}

// forEverAge and forEverRuns are how far a memory that is declared to be for ever is
// tried.
const (
	forEverAge  = 5 * time.Second
	forEverRuns = 200
)

// Certify measures the memory that d declares, which p's store has, and judges the jobs.
// By age it measures short, if that is not nil: the same store with a shorter memory.
func Certify(ctx context.Context, p Probe, d store.Description, short *Short, jobs []jobsfile.Job) (Report, error) {
	r := Report{Declared: d.Memory, Measured: d.Memory}
	if d.Memory.IsZero() {
		return r, fmt.Errorf("the plugin declares no memory; core refuses every job on it: report it to its author")
	}
	old := p
	if short != nil {
		old, r.Measured = short.Probe, short.Memory
	}
	var err error
	if r.Counts, err = p.ByCount(ctx, countsOf(r.Declared)); err != nil {
		return r, err
	}
	if r.Ages, err = old.ByAge(ctx, agesOf(r.Measured)); err != nil {
		return r, err
	}
	r.Lies = append(ageLies(r.Measured, r.Ages), countLies(r.Declared, r.Counts)...)
	r.Jobs = jobsfile.Judge(jobs, d)
	return r, nil
}

// Short is a store with a shorter memory than the one that is certified.
type Short struct {
	Probe
	Memory store.Memory
}

// agesOf and countsOf say where a memory is tried: up to what is declared, and beyond
// it, to find where it ends.
func agesOf(m store.Memory) (ages []time.Duration) {
	if m.Forever || m.Window == 0 {
		return []time.Duration{0, forEverAge / 2, forEverAge}
	}
	for _, percent := range []int{0, 25, 50, 75, 90, 98, 110, 125, 150, 200} {
		ages = append(ages, m.Window*time.Duration(percent)/100)
	}
	return ages
}

func countsOf(m store.Memory) (counts []int) {
	if m.Forever || m.Runs == 0 {
		return []int{0, 1, forEverRuns / 2, forEverRuns}
	}
	for _, n := range []int{0, m.Runs / 2, m.Runs - 1, m.Runs + m.Runs/10, m.Runs + m.Runs/2, 2 * m.Runs} {
		counts = append(counts, max(0, n))
	}
	return counts
}

// A slot that is both older than the window and pushed out by the count may be
// forgotten; the samples by age have no newer runs, and those by count are young.

func ageLies(m store.Memory, ages []Sample) (out []string) {
	for _, s := range ages {
		if !s.Remembered && (m.Forever || m.Window == 0 || s.AtMost <= m.Window) {
			out = append(out, fmt.Sprintf("a slot was granted again after %v at most; declared is %v", s.AtMost.Round(time.Millisecond), m))
		}
	}
	return out
}

func countLies(m store.Memory, counts []Sample) (out []string) {
	for _, s := range counts {
		within := m.Forever || m.Window == 0 || s.AtMost <= m.Window
		if !s.Remembered && within && (m.Forever || m.Runs == 0 || s.Runs < m.Runs) {
			out = append(out, fmt.Sprintf("a slot was granted again after %d newer runs of its job; declared is %v", s.Runs, m))
		}
	}
	return out
}
