package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/core"
)

// aJobsFile shows, in the help of the commands that judge jobs, how a file of jobs looks.
const aJobsFile = `The file looks so:

  jobs:
    - name: invoices/nightly
      schedule: 30 2 * * *   # or: every 5m
`

// jobVerdict is the judgement of one job, as doctor and certify tell it.
type jobVerdict struct {
	Name     string   `json:"name"`
	Schedule string   `json:"schedule"`
	Gap      string   `json:"smallestGap"`
	Need     string   `json:"mustBeRemembered"`
	OK       bool     `json:"ok"`
	Faults   []string `json:"faults"`
	Warnings []string `json:"warnings"`

	rules []*core.RuleError // the faults, as core names them
}

func verdictOf(j jobsfile.Judgement) jobVerdict {
	v := jobVerdict{
		Name: j.Job.Name, Schedule: j.Job.Schedule.String(), Gap: j.Gap.String(), Need: j.Need.String(),
		OK: j.OK(), Faults: []string{}, Warnings: append([]string{}, j.Warnings...), rules: j.Faults,
	}
	for _, f := range j.Faults {
		v.Faults = append(v.Faults, f.Error())
	}
	return v
}

// printFindings prints a line for each fault and warning. If help is not nil, it names
// the plugin's options that a broken rule is about.
func (v jobVerdict) printFindings(out io.Writer, help func(*core.RuleError) []string) {
	for i, f := range v.Faults {
		fmt.Fprintf(out, "%s: %s\n", plain(v.Name), f)
		if help == nil {
			continue
		}
		if options := help(v.rules[i]); len(options) > 0 {
			fmt.Fprintf(out, "  the option of the plugin: %s\n", strings.Join(options, ", "))
		}
	}
	for _, w := range v.Warnings {
		fmt.Fprintf(out, "%s: warning: %s\n", plain(v.Name), w)
	}
}

// refusedJobs is nil if every job may run; else it names those that may not, after the
// words.
func refusedJobs(words string, jobs []jobVerdict) error {
	var bad []string
	for _, j := range jobs {
		if !j.OK {
			bad = append(bad, plain(j.Name))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("%s%d of %d jobs can't run on this store: %s", words, len(bad), len(jobs), strings.Join(bad, ", "))
}
