package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

func doctorCommand() *cobra.Command {
	var (
		where    storeFlags
		jobsPath string
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Is this store, so configured, safe, and for these jobs?",
		Long: `Opens a store, and shows what the plugin found there: settings that matter, warnings,
format, how long it remembers, how far its clock is from this machine's, and unfinished
runs that nobody takes over. With -jobs it judges each job of a file by the timing
rules that core applies when a job is added. ` + aJobsFile + `
It claims nothing. What a store really remembers is measured by anarchon certify.

Exit code 0: fit; 1: a job breaks a rule, or the store can't be opened.`,
		Example: `  anarchon doctor -plugin postgres -config url=@/run/secrets/db -jobs jobs.yaml
  anarchon doctor -config path=jobs.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var jobs []jobsfile.Job
			if jobsPath != "" {
				var err error
				if jobs, err = jobsfile.ReadFile(jobsPath); err != nil {
					return usageError{err}
				}
			}
			return where.open(cmd.Context(), func(ctx context.Context, plugin *storekit.Client, d store.Description) error {
				r, err := examine(ctx, plugin, d, jobs)
				if err != nil {
					return err
				}
				if asJSON {
					err = printJSON(cmd.OutOrStdout(), r)
				} else {
					err = r.print(cmd.OutOrStdout())
				}
				return errors.Join(err, r.verdict())
			})
		},
	}
	where.add(cmd)
	f := cmd.Flags()
	f.StringVar(&jobsPath, "jobs", "", "a YAML file with jobs to judge")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// examination is what doctor found.
type examination struct {
	Store storeReport `json:"store"`
	// ClockAhead is how far the store's clock is ahead of this machine's, at the
	// middle of a call that took RoundTrip; null where it can't be told.
	ClockAhead *float64      `json:"clockAheadSeconds"`
	RoundTrip  time.Duration `json:"roundTripNanoseconds"`
	Abandoned  []string      `json:"abandoned"` // unfinished runs without a lease
	Jobs       []jobVerdict  `json:"jobs"`
}

func examine(ctx context.Context, plugin *storekit.Client, d store.Description, jobs []jobsfile.Job) (examination, error) {
	r := examination{Store: reportOf(d), Abandoned: []string{}, Jobs: []jobVerdict{}}
	if d.Kind == store.KindLease {
		sent := time.Now()
		ans, err := plugin.Unfinished(ctx, store.UnfinishedRequest{})
		if err != nil {
			return r, err
		}
		r.RoundTrip = time.Since(sent)
		if ans.Now != 0 {
			ahead := time.UnixMilli(ans.Now).Sub(sent.Add(r.RoundTrip / 2)).Seconds()
			r.ClockAhead = &ahead
		}
		n := len(ans.Runs)
		r.Store.Unfinished = &n
		for _, u := range ans.Runs {
			if u.Left == 0 {
				r.Abandoned = append(r.Abandoned, fmt.Sprintf("%s, slot %s, attempt %d, last held by %s", plain(u.Job), when(u.Slot, time.UTC), u.Attempt, plain(u.Holder)))
			}
		}
	}
	for _, j := range jobsfile.Judge(jobs, d) {
		r.Jobs = append(r.Jobs, verdictOf(j))
	}
	return r, nil
}

// verdict is nil if no job breaks a rule.
func (r examination) verdict() error { return refusedJobs("", r.Jobs) }

func (r examination) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	r.Store.print(t)
	if r.ClockAhead != nil {
		side := "ahead of"
		ahead := time.Duration(*r.ClockAhead * float64(time.Second)).Round(time.Millisecond)
		if ahead < 0 {
			side, ahead = "behind", -ahead
		}
		fmt.Fprintf(t, "  store's clock\t%v %s this machine's (a call took %v)\n", ahead, side, r.RoundTrip.Round(10*time.Microsecond))
		if ahead > time.Second {
			fmt.Fprintf(t, "  warning\tclocks more than a second apart shift who wins, and more than 10 s cost runs: see that NTP runs on both\n")
		}
	}
	for _, a := range r.Abandoned {
		fmt.Fprintf(t, "  waits for a takeover\t%s\n", a)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Abandoned) > 0 {
		fmt.Fprintln(out, "\nAn instance that knows the job takes such a run over within a lease. If none does, the job was renamed or removed, or no instance runs.")
	}
	if len(r.Jobs) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tschedule\tsmallest gap\tmust be remembered\tverdict\t")
	for _, j := range r.Jobs {
		verdict := "ok"
		if !j.OK {
			verdict = "REFUSED"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", cell(j.Name, 50), cell(j.Schedule, 40), j.Gap, j.Need, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, j := range r.Jobs {
		j.printFindings(out, nil)
	}
	return nil
}
