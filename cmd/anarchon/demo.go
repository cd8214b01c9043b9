package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/storekit"
)

func demoCommand() *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Three instances share jobs on SQLite; one is killed, another takes its run over",
		Long: `demo starts three real processes that share three jobs through a SQLite file, and
shows who waits, claims, runs and skips:

  tick    every 2 s, short: the instances take turns
  slow    every 3 s, takes 7 s: slots that are due meanwhile are skipped
  report  every minute, takes 8 s: its runner is killed with kill -9, and a backup
          goes on when the lease (3 s) is over

The killed instance is started again later. At the end, or on Ctrl-C, all stop
gracefully and the history is printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.DurationVar(&d.length, "for", 30*time.Second, "how long the instances run, at least 10s")
	f.StringVar(&d.plugin, "plugin", "sqlite", "the sqlite plugin: a name or a path")
	f.StringVar(&d.db, "db", "", "the database file; default: a temporary one")
	f.BoolVar(&d.plain, "plain", false, "print lines only, as when the output is no terminal")
	cmd.AddCommand(instanceCommand())
	return cmd
}

// The demo's own timings: short, so that a takeover is seen soon.
const (
	demoLease     = 3 * time.Second
	demoHeartbeat = 500 * time.Millisecond
	killAfter     = 2500 * time.Millisecond // from the start of the run that loses its runner
	restartAfter  = 12 * time.Second        // from the kill
	stopWithin    = 10 * time.Second
	// demoLeast lets the first slot, the kill and the lease pass, and leaves 2.5 s for the
	// instances to start, the jitter, and a backup to claim.
	demoLeast = 10 * time.Second
)

var demoJobs = []hostprog.Job{
	{Name: "tick", Every: 2 * time.Second, Takes: 300 * time.Millisecond, Overlap: "skip"},
	{Name: "slow", Every: 3 * time.Second, Takes: 7 * time.Second, Overlap: "skip"},
	{Name: victimJob, Every: time.Minute, Takes: 8 * time.Second, Overlap: "skip"},
}

const victimJob = "report"

// demoFirst is when the victim's job is due for the first time, from the start of the
// demo on. Were its slots aligned to the clock, a demo that starts at the end of a
// minute would not show a takeover: no run is taken over when a newer slot is due.
const demoFirst = 2 * time.Second

// plot is the demo's jobs for a demo that starts now.
func plot(now time.Time) []hostprog.Job {
	jobs := slices.Clone(demoJobs)
	for i := range jobs {
		if jobs[i].Name == victimJob {
			jobs[i].First = now.Truncate(time.Second).Add(demoFirst).UnixMilli()
		}
	}
	return jobs
}

// demo is one run of the demo.
type demo struct {
	length     time.Duration
	plugin, db string
	plain      bool
}

func (d *demo) run(ctx context.Context) error {
	if d.length < demoLeast {
		return usageError{fmt.Errorf("-for is %v; it must be at least %v: no takeover is seen before", d.length, demoLeast)}
	}
	dir, err := os.MkdirTemp("", "anarchon-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if d.db == "" {
		d.db = filepath.Join(dir, "demo.db")
	}
	plugin, err := choosePlugin(ctx, d.plugin, dir)
	if err != nil {
		return err
	}
	plugin.Config = map[string]any{"path": d.db}
	if err := tryStore(ctx, plugin); err != nil {
		return err // once, and not by each instance
	}

	show := newPlainView(os.Stdout)
	if !d.plain && term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd())) {
		show = newLiveView()
	}
	stage := &stage{demo: d, plugin: plugin, view: show, scene: newScene(), jobs: plot(time.Now())}
	err = stage.play(ctx)
	show.close()
	if err != nil {
		return err
	}
	fmt.Println()
	if err := printWhatIsLeft(context.WithoutCancel(ctx), plugin); err != nil {
		return err
	}
	fmt.Println()
	return stage.verdict(os.Stdout)
}

// tryStore opens the store and closes it again.
func tryStore(ctx context.Context, p storekit.Plugin) error {
	plugin, err := storekit.Open(ctx, p)
	if err != nil {
		return err
	}
	return plugin.Close()
}

// printWhatIsLeft shows what the store remembers at the end.
func printWhatIsLeft(ctx context.Context, p storekit.Plugin) error {
	plugin, err := storekit.Open(ctx, p)
	if err != nil {
		return err
	}
	defer plugin.Close()
	desc, err := plugin.Describe(ctx)
	if err != nil {
		return err
	}
	return runsOptions{jobs: jobNames(demoJobs), limit: 12, loc: time.Local}.show(ctx, os.Stdout, plugin, desc)
}

func jobNames(jobs []hostprog.Job) []string {
	names := make([]string, len(jobs))
	for i, j := range jobs {
		names[i] = j.Name
	}
	return names
}

var errNoTakeover = errors.New("the killed runner's run was not taken over in time")
