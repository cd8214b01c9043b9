package jobsfile

import (
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
)

// Judgement says whether a job may run on a store.
type Judgement struct {
	Job    Job
	Gap    time.Duration // the smallest gap between its slots
	Timing core.Timing   // complete, with core's defaults
	// Need is how long the store must remember a granted slot: jitter + max late + 20 s.
	Need     time.Duration
	Warnings []string
	Faults   []*core.RuleError // the rules that it breaks; none if it may run
}

// OK reports whether no rule is broken.
func (j Judgement) OK() bool { return len(j.Faults) == 0 }

// Judge holds the jobs against the store that d describes, by [core.CheckTiming].
// Give it a description with another Memory to judge by what was measured instead of
// by what the store declares.
func Judge(jobs []Job, d store.Description) []Judgement {
	out := make([]Judgement, 0, len(jobs))
	for _, j := range jobs {
		gap := j.Schedule.MinGap()
		full, warnings, err := core.CheckTiming(j.Timing, gap, d)
		out = append(out, Judgement{
			Job: j, Gap: gap, Timing: full, Need: core.MemoryNeed(full), Warnings: warnings, Faults: ruleErrors(err),
		})
	}
	return out
}

func ruleErrors(err error) (rules []*core.RuleError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			rules = append(rules, ruleErrors(e)...)
		}
		return rules
	}
	var rule *core.RuleError
	if errors.As(err, &rule) {
		return []*core.RuleError{rule}
	}
	return nil
}
