package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

func runsCommand() *cobra.Command {
	var (
		plugin string
		config []string
		limit  int
	)
	cmd := &cobra.Command{
		Use:     "runs [JOB …]",
		Short:   "The unfinished runs of a store, and the history of jobs",
		Example: "  anarchon runs -config path=jobs.db long",
		RunE: func(cmd *cobra.Command, jobs []string) error {
			if limit < 1 || limit > store.MaxHistory {
				return usageError{fmt.Errorf("-n is %d; it must be 1 to %d", limit, store.MaxHistory)}
			}
			dir, err := os.MkdirTemp("", "anarchon-runs-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			p, err := choosePlugin(cmd.Context(), plugin, dir)
			if err != nil {
				return err
			}
			if p.Config, err = parseConfig(config); err != nil {
				return err
			}
			return printHistory(cmd.Context(), cmd.OutOrStdout(), p, jobs, limit)
		},
	}
	f := cmd.Flags()
	f.StringVar(&plugin, "plugin", "sqlite", "the plugin: a name or a path")
	f.StringArrayVar(&config, "config", nil, "an option of the plugin, key=value; repeatable")
	f.IntVarP(&limit, "number", "n", 20, "attempts to show of each job, newest first")
	return cmd
}

// printHistory prints what a store remembers: the unfinished runs of all jobs,
// and the history of the jobs named.
func printHistory(ctx context.Context, out io.Writer, p storekit.Plugin, jobs []string, limit int) error {
	p.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	plugin, err := storekit.Open(ctx, p)
	if err != nil {
		return err
	}
	defer plugin.Close()
	desc, err := plugin.Describe(ctx)
	if err != nil {
		return err
	}
	if desc.Kind == store.KindLease {
		if err := printUnfinished(ctx, out, plugin); err != nil {
			return err
		}
	}
	for _, job := range jobs {
		ans, err := plugin.History(ctx, store.HistoryRequest{Job: job, Limit: limit})
		if err != nil {
			return fmt.Errorf("history of %q: %w", job, err)
		}
		fmt.Fprintf(out, "%s, newest first:\n", job)
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  slot\tattempt\tinstance\treason\tstatus\tstarted\ttook\terror")
		for _, a := range ans.Attempts {
			fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", clock(a.Slot), a.Attempt, a.Instance, a.Reason, statusText(a), clock(a.StartedAt), tookText(a), a.Error)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func printUnfinished(ctx context.Context, out io.Writer, s store.Store) error {
	ans, err := s.Unfinished(ctx, store.UnfinishedRequest{})
	if err != nil {
		return fmt.Errorf("unfinished runs: %w", err)
	}
	if len(ans.Runs) == 0 {
		fmt.Fprintln(out, "No unfinished runs.")
		return nil
	}
	fmt.Fprintln(out, "Unfinished runs:")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  job\tslot\tattempt\tholder\tlease left")
	for _, r := range ans.Runs {
		left := "handed over"
		if r.Open {
			left = tenths(r.Left)
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%s\t%s\n", r.Job, clock(r.Slot), r.Attempt, r.Holder, left)
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
