package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// instanceCommand is one instance: what demo starts three of, and what a person
// starts by hand to play the failure scenarios.
func instanceCommand() *cobra.Command {
	var (
		c        hostprog.Config
		plugin   string
		config   []string
		jobs     []string
		lifeline bool
		lines    bool
	)
	cmd := &cobra.Command{
		Use:   "instance",
		Short: "One instance with jobs that only take time, to be killed, frozen or stopped by hand",
		Long: `instance runs jobs that only take time, and says in sentences, on standard output, what
happens. Warnings of the scheduler and of the plugin go to standard error, as lines of
a log; 2>FILE keeps them apart.`,
		Example: `  anarchon demo instance -name A -config path=jobs.db -job long,every=20s,takes=15s
  anarchon demo instance -name B -config path=jobs.db -job long,every=20s,takes=15s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range jobs {
				j, err := hostprog.ParseJob(text)
				if err != nil {
					return usageError{err}
				}
				c.Jobs = append(c.Jobs, j)
			}
			if len(c.Jobs) == 0 {
				c.Jobs = demoJobs
			}
			dir, err := os.MkdirTemp("", "anarchon-instance-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			if c.Plugin, err = choosePlugin(cmd.Context(), plugin, dir); err != nil {
				return err
			}
			if c.Plugin.Config, err = parseConfig(config); err != nil {
				return err
			}
			ctx := cmd.Context()
			if lifeline {
				ctx = untilEOF(ctx, os.Stdin)
			}
			c.Log = os.Stderr
			out := io.Writer(os.Stdout)
			if !lines {
				fmt.Fprintf(os.Stderr, "instance %s is process %d: try kill -9, -STOP, -CONT or -TERM on it\n", c.Name, os.Getpid())
				out = newSpoken(os.Stdout)
			}
			return hostprog.Run(ctx, out, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Name, "name", "A", "the instance's name")
	f.StringVar(&plugin, "plugin", "sqlite", "the plugin: a name or a path")
	f.StringArrayVar(&config, "config", nil, "an option of the plugin, key=value; repeatable")
	f.StringArrayVar(&jobs, "job", nil, "a job, NAME,every=10s,takes=1s[,overlap=allow][,ignores=true][,first=2026-01-02T15:04:05Z]; repeatable; default: the demo's")
	f.DurationVar(&c.Lease, "lease", 6*time.Second, "lease of a run")
	f.DurationVar(&c.Heartbeat, "heartbeat", time.Second, "time between renewals")
	f.DurationVar(&c.Grace, "grace", 0, "how long running jobs are left alone at stop")
	f.DurationVar(&c.Stop, "stop-timeout", 10*time.Second, "how long a cancelled job may need to return")
	f.BoolVar(&lines, "json", false, "print JSON lines")
	f.BoolVar(&lifeline, "lifeline", false, "stop when standard input ends")
	return cmd
}

// untilEOF returns a context that is done when r ends: whoever started this
// process is gone.
func untilEOF(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, r)
	}()
	return ctx
}

// spoken turns an instance's lines into sentences.
type spoken struct {
	out   io.Writer
	scene *scene
}

func newSpoken(out io.Writer) *spoken { return &spoken{out: out, scene: newScene()} }

func (s *spoken) Write(b []byte) (int, error) {
	l, err := hostprog.ParseLine(b)
	if err != nil {
		return 0, err
	}
	if text := s.scene.take(l); text != "" {
		fmt.Fprintln(s.out, text)
	}
	return len(b), nil
}
