package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// runsOptions say what runs shows, and how.
type runsOptions struct {
	jobs   []string
	limit  int
	json   bool
	follow bool
	pause  time.Duration // between two looks when following
	loc    *time.Location
}

func runsCommand() *cobra.Command {
	var (
		where storeFlags
		zone  zoneFlag
		opts  runsOptions
	)
	cmd := &cobra.Command{
		Use:   "runs [JOB …]",
		Short: "The unfinished runs of a store, and the history of the jobs named",
		Long: `Shows the unfinished runs of all jobs of a store (lease backends), and the history of
the jobs named, newest first. It only looks: it claims nothing and makes no store.

With -follow it goes on, and shows each attempt when it begins and when it ends. With
-json each line is one JSON object: {"unfinished": …} or {"attempt": …}.`,
		Example: `  anarchon runs -config path=jobs.db invoices/nightly
  anarchon runs -plugin postgres -config url=@/run/secrets/db -json -n 1000 invoices/nightly
  anarchon runs -config path=jobs.db -follow invoices/nightly`,
		RunE: func(cmd *cobra.Command, jobs []string) error {
			if opts.limit < 1 || opts.limit > store.MaxHistory {
				return usageError{fmt.Errorf("-n is %d; it must be 1 to %d", opts.limit, store.MaxHistory)}
			}
			if opts.pause < 100*time.Millisecond {
				return usageError{fmt.Errorf("-every is %v; it must be at least 100ms", opts.pause)}
			}
			for _, j := range jobs {
				if err := store.CheckName("job", j); err != nil {
					return usageError{err}
				}
			}
			var err error
			if opts.loc, err = zone.location(); err != nil {
				return err
			}
			opts.jobs = jobs
			return where.open(cmd.Context(), func(ctx context.Context, plugin *storekit.Client, d store.Description) error {
				return opts.show(ctx, cmd.OutOrStdout(), plugin, d)
			})
		},
	}
	where.add(cmd)
	zone.add(cmd)
	f := cmd.Flags()
	f.IntVarP(&opts.limit, "number", "n", 20, "attempts to show of each job, newest first, at most 10000")
	f.BoolVar(&opts.json, "json", false, "print a JSON object per line")
	f.BoolVar(&opts.follow, "follow", false, "go on, and show what changes")
	f.DurationVar(&opts.pause, "every", time.Second, "how often to look when following, at least 100ms")
	return cmd
}

func (o runsOptions) show(ctx context.Context, out io.Writer, s store.Store, d store.Description) error {
	if !d.History && len(o.jobs) > 0 {
		return fmt.Errorf("this backend (%s) keeps no history; see the events of the instances", d.Product)
	}
	if o.follow {
		return o.watch(ctx, out, s, d)
	}
	if d.Kind == store.KindLease {
		ans, err := s.Unfinished(ctx, store.UnfinishedRequest{})
		if err != nil {
			return fmt.Errorf("unfinished runs: %w", err)
		}
		if err := o.printUnfinished(out, ans.Runs); err != nil {
			return err
		}
		if len(ans.Runs) == 0 && len(o.jobs) == 0 && d.History && !o.json {
			fmt.Fprintln(out, "A store does not list its jobs. Name jobs to see their history: anarchon runs … JOB")
		}
	} else if len(o.jobs) == 0 {
		return usageError{errors.New("a claim-only backend does not list unfinished runs; name the jobs whose history you want")}
	}
	for _, job := range o.jobs {
		attempts, err := attemptsOf(ctx, s, job, o.limit)
		if err != nil {
			return err
		}
		if err := o.printHistory(out, job, attempts); err != nil {
			return err
		}
	}
	return nil
}

// attemptsOf reads as many attempts of a job as asked for, page by page.
func attemptsOf(ctx context.Context, s store.Store, job string, limit int) ([]store.Attempt, error) {
	var all []store.Attempt
	req := store.HistoryRequest{Job: job}
	for {
		req.Limit = limit - len(all)
		ans, err := s.History(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("history of %q: %w", job, err)
		}
		all = append(all, ans.Attempts...)
		if ans.Next == "" || len(all) >= limit {
			return all, nil
		}
		if ans.Next == req.Page {
			return nil, fmt.Errorf("history of %q: the plugin says that page %q follows itself; report it to its author", job, ans.Next)
		}
		req.Page = ans.Next
	}
}

// attemptJSON and unfinishedJSON are the lines of -json. Times are RFC 3339, UTC.
type attemptJSON struct {
	Job        string       `json:"job"`
	Slot       time.Time    `json:"slot"`
	Attempt    int          `json:"attempt"`
	Token      store.Token  `json:"token"`
	Instance   string       `json:"instance"`
	Reason     store.Reason `json:"reason"`
	Status     store.Status `json:"status"`
	HandedOver bool         `json:"handedOver"`
	Started    *time.Time   `json:"started"` // null where the store has no clock
	Ended      *time.Time   `json:"ended"`   // null while it runs
	Error      string       `json:"error"`
}

type unfinishedJSON struct {
	Job       string      `json:"job"`
	Slot      time.Time   `json:"slot"`
	Attempt   int         `json:"attempt"`
	Token     store.Token `json:"token"`
	Holder    string      `json:"holder"`
	Open      bool        `json:"open"` // false: handed over, not yet taken
	LeaseLeft float64     `json:"leaseLeftSeconds"`
	Counted   int         `json:"countedAttempts"`
}

func timeOrNull(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := store.Time(ms)
	return &t
}

func jsonOfAttempt(job string, a store.Attempt) any {
	return map[string]any{"attempt": attemptJSON{
		Job: job, Slot: store.Time(a.Slot), Attempt: a.Attempt, Token: a.Token, Instance: a.Instance, Reason: a.Reason,
		Status: a.Status, HandedOver: a.HandedOver, Started: timeOrNull(a.StartedAt), Ended: timeOrNull(a.EndedAt), Error: a.Error,
	}}
}

func (o runsOptions) printUnfinished(out io.Writer, runs []store.UnfinishedRun) error {
	if o.json {
		e := json.NewEncoder(out)
		for _, r := range runs {
			if err := e.Encode(map[string]any{"unfinished": unfinishedJSON{
				Job: r.Job, Slot: store.Time(r.Slot), Attempt: r.Attempt, Token: r.Token, Holder: r.Holder, Open: r.Open,
				LeaseLeft: r.Left.Seconds(), Counted: r.Counted,
			}}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(out, "No unfinished runs.")
		return err
	}
	fmt.Fprintf(out, "Unfinished runs (times in %s):\n", zoneName(o.loc))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  job\tslot\tattempt\tholder\tlease left")
	for _, r := range runs {
		left := "handed over"
		switch {
		case r.Open && r.Left == 0:
			left = "over: a backup takes it over when it is due"
		case r.Open:
			left = tenths(r.Left)
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%s\t%s\n", cell(r.Job, 60), when(r.Slot, o.loc), r.Attempt, cell(r.Holder, 40), left)
	}
	return t.Flush()
}

func (o runsOptions) printHistory(out io.Writer, job string, attempts []store.Attempt) error {
	if o.json {
		e := json.NewEncoder(out)
		for _, a := range attempts {
			if err := e.Encode(jsonOfAttempt(job, a)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(attempts) == 0 {
		_, err := fmt.Fprintf(out, "%s: no run of it is known in this store and namespace; is the name right?\n", plain(job))
		return err
	}
	fmt.Fprintf(out, "%s, newest first (times in %s):\n", plain(job), zoneName(o.loc))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  slot\tattempt\tinstance\treason\tstatus\tstarted\ttook\terror")
	for _, a := range attempts {
		fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", when(a.Slot, o.loc), a.Attempt, cell(a.Instance, 40), a.Reason, statusText(a),
			when(a.StartedAt, o.loc), tookText(a), cell(a.Error, 100))
	}
	return t.Flush()
}

func statusText(a store.Attempt) string {
	if a.HandedOver {
		return a.Status.String() + ", handed over"
	}
	return a.Status.String()
}

func tookText(a store.Attempt) string {
	if a.EndedAt == 0 || a.StartedAt == 0 {
		return ""
	}
	return tenths(time.Duration(a.EndedAt-a.StartedAt) * time.Millisecond)
}
