//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/scenarios"
)

// scenarioFlags are what the user of the scenarios command asked for.
type scenarioFlags struct {
	plugins, variants, config []string
	all, real                 bool
	only                      string
	report                    string
	pictures                  string
	parallel, takeovers       int
	chaos                     time.Duration
	seed                      uint64
}

func scenariosCommand() *cobra.Command {
	var f scenarioFlags
	cmd := &cobra.Command{
		Use:   "scenarios",
		Short: "Play failures with real processes on real stores, and judge what each backend shows",
		Long: `scenarios starts instances A, B and C as processes, kills, freezes, stops, cuts off
and restarts them by a script, and judges their event logs and the store's history:
who ran which attempt when. Lease and claim-only backends are shown side by side.

A plugin's directory may name the servers that it needs (conformance.yaml); they are
started in containers. Scenarios that kill or cut off the store need such a server.`,
		Example: `  anarchon scenarios -plugin sqlite
  anarchon scenarios -plugin redis -variant default -variant stream-id -only 2,3
  anarchon scenarios -all -report report/
  anarchon scenarios -plugin postgres -takeovers 50
  anarchon scenarios -plugin redis -chaos 10m -seed 7`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.plugins, "plugin", nil, "a plugin: a directory with its source, a binary, or a name; repeatable; default: sqlite")
	fl.BoolVar(&f.all, "all", false, "all plugins of this module, in their default variants")
	fl.StringArrayVar(&f.variants, "variant", nil, "a variant of the plugins' conformance.yaml; repeatable")
	fl.StringArrayVar(&f.config, "config", nil, "an option of the plugin, key=value; repeatable; a server that it names is not started")
	fl.StringVar(&f.only, "only", "", "the numbers of scenarios to play, e.g. 1,3; default: all")
	fl.StringVar(&f.report, "report", "", "write a page (index.html) and pictures into this directory")
	fl.StringVar(&f.pictures, "pictures", "", "write the pictures only into this directory")
	fl.BoolVar(&f.real, "real", false, "a lease of 30 s and a heartbeat of 5 s; default: 4 s and 500 ms")
	fl.IntVar(&f.parallel, "parallel", 8, "how many plays are performed at once")
	fl.IntVar(&f.takeovers, "takeovers", 0, "instead: kill so many runners with kill -9, and tell how long takeovers took")
	fl.DurationVar(&f.chaos, "chaos", 0, "instead: break things at random for so long, and judge what happened by rules")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of -chaos; default: a random one")
	cmd.AddCommand(&cobra.Command{
		Use: "host", Hidden: true, Args: cobra.NoArgs,
		Short: "One instance, told by standard input what to do",
		Run:   func(*cobra.Command, []string) { os.Exit(scenarios.HostMain()) },
	})
	return cmd
}

func (f *scenarioFlags) run(ctx context.Context, out io.Writer) error {
	chosen, err := chooseScenarios(f.only)
	if err != nil {
		return err
	}
	if f.parallel < 1 {
		return usageError{fmt.Errorf("-parallel is %d; it must be at least 1", f.parallel)}
	}
	options, err := f.stages()
	if err != nil {
		return err
	}
	timing := scenarios.Short
	if f.real {
		timing = scenarios.Real
	}
	stages, err := scenarios.OpenAll(ctx, options)
	if err != nil {
		return err
	}
	switch {
	case f.chaos > 0:
		err = f.runChaos(ctx, out, stages, timing)
	case f.takeovers > 0:
		err = f.runTakeovers(ctx, out, stages, timing)
	default:
		err = f.play(ctx, out, stages, chosen, timing)
	}
	return errors.Join(err, scenarios.CloseAll(stages))
}

func (f *scenarioFlags) play(ctx context.Context, out io.Writer, stages []*scenarios.Stage, chosen []*scenarios.Scenario, t scenarios.Timing) error {
	fmt.Fprintf(out, "%s\n\n", scenarios.Times)
	var results []*scenarios.Result
	scenarios.Perform(ctx, stages, chosen, t, f.parallel, func(r *scenarios.Result) {
		results = append(results, r)
		scenarios.Tell(out, r, len(chosen) == 1)
	})
	scenarios.Table(out, results)
	var errs []error
	if f.report != "" {
		errs = append(errs, scenarios.Report(f.report, results))
	}
	if f.pictures != "" {
		errs = append(errs, scenarios.Pictures(f.pictures, results))
	}
	if failed := countFailed(results); failed > 0 {
		errs = append(errs, fmt.Errorf("%d of %d plays failed", failed, len(results)))
	}
	return errors.Join(errs...)
}

// runTakeovers measures one stage after the other, so that they don't disturb each
// other.
func (f *scenarioFlags) runTakeovers(ctx context.Context, out io.Writer, stages []*scenarios.Stage, t scenarios.Timing) error {
	for _, st := range stages {
		took, err := st.Takeovers(ctx, t, f.takeovers, f.parallel)
		if err != nil {
			return err
		}
		over := func(d time.Duration) string { return fmt.Sprintf("lease %+.2f s", (d - t.Lease).Seconds()) }
		fmt.Fprintf(out, "%s: %d runners killed with kill -9, lease %v, heartbeat %v; from the kill to the backup's start: shortest %s, median %s, worst %s\n",
			st.Name, len(took), t.Lease, t.Heartbeat, over(took[0]), over(took[len(took)/2]), over(took[len(took)-1]))
		if worst := took[len(took)-1]; worst > t.Lease+time.Second {
			return fmt.Errorf("%s: the worst takeover took %v; the aim is the lease and 1 s", st.Name, worst)
		}
	}
	return nil
}

// runChaos rages on all stages at once: they have nothing in common but the machine.
func (f *scenarioFlags) runChaos(ctx context.Context, out io.Writer, stages []*scenarios.Stage, t scenarios.Timing) error {
	seed := f.seed
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, st := range stages {
		wg.Go(func() {
			r, err := st.Chaos(ctx, t, f.chaos, seed)
			mu.Lock()
			defer mu.Unlock()
			if r != nil {
				r.Tell(out)
				r.TellJobs(out)
				if !r.OK() {
					errs = append(errs, fmt.Errorf("%s: chaos with seed %d broke a rule", st.Name, seed))
				}
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", st.Name, err))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func countFailed(results []*scenarios.Result) (n int) {
	for _, r := range results {
		if !r.OK() {
			n++
		}
	}
	return n
}

// stages are what to play on, as the flags say.
func (f *scenarioFlags) stages() ([]scenarios.Options, error) {
	plugins := f.plugins
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	switch {
	case f.all && len(plugins) > 0:
		return nil, usageError{errors.New("-all and -plugin exclude each other")}
	case f.all && root == "":
		return nil, usageError{errors.New("-all needs anarchon's own module as the working directory; name plugins with -plugin")}
	case f.all:
		dirs, err := filepath.Glob(filepath.Join(root, "plugins", "*", "conformance.yaml"))
		if err != nil {
			return nil, err
		}
		for _, d := range dirs {
			plugins = append(plugins, filepath.Dir(d))
		}
	case len(plugins) == 0:
		plugins = []string{"sqlite"}
	}
	pairs, err := parseConfig(f.config)
	if err != nil {
		return nil, err
	}
	config := make(map[string]string, len(pairs))
	for name, value := range pairs {
		config[name] = value.(string)
	}
	variants := f.variants
	if len(variants) == 0 {
		variants = []string{""}
	}
	var all []scenarios.Options
	for _, p := range plugins {
		path, err := pluginPath(p, root)
		if err != nil {
			return nil, err
		}
		for _, v := range variants {
			all = append(all, scenarios.Options{Path: path, Variant: v, Config: config, Host: scenarioHost})
		}
	}
	return all, nil
}

// pluginPath is where a plugin lies that may be given by its name: its source in the
// module, or a built one.
func pluginPath(named, root string) (string, error) {
	if strings.ContainsRune(named, filepath.Separator) {
		return named, nil
	}
	if dir := filepath.Join(root, "plugins", named); root != "" && isDir(dir) {
		return dir, nil
	}
	return builtPluginFile(named)
}

// scenarioHost is the command of an instance: this program.
func scenarioHost() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, "scenarios", "host")
}

func chooseScenarios(only string) ([]*scenarios.Scenario, error) {
	all := scenarios.Scenarios()
	if only == "" {
		return all, nil
	}
	var chosen []*scenarios.Scenario
	for text := range strings.SplitSeq(only, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		i := slices.IndexFunc(all, func(s *scenarios.Scenario) bool { return s.ID == n })
		if err != nil || i < 0 {
			return nil, usageError{fmt.Errorf("-only: %q is no scenario; they are numbered 1 to %d", text, len(all))}
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
