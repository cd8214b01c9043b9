package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/conformance/window"
	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

func certifyCommand() *cobra.Command {
	var (
		where    storeFlags
		jobsPath string
		full     bool
		scaled   time.Duration
		asJSON   bool
	)
	cmd := &cobra.Command{
		Use:   "certify",
		Short: "Measure how long a store remembers its runs, and judge jobs by it",
		Long: `Claims slots, finishes them, fills the store, waits, and claims them again: the greatest
age and count at which the store still remembered, and the smallest at which it forgot,
held against what the plugin declares. With -jobs each job of a file is judged by the
timing rules of core, and told what to change. ` + aJobsFile + `
A memory of minutes is measured with a shorter one, of the same plugin on the same
server, if its options allow that (-scaled says how short). -full waits for the real
one: twice as long as it is.

It writes into a namespace of its own, which is left behind; what that is on each
backend, and how to remove it, is on the backend's page.

Exit code 0: the store keeps what it declares and every job may run on it; 1: not so.`,
		Example: `  anarchon certify -plugin nats -config url=nats://localhost:4222 -jobs jobs.yaml
  anarchon certify -plugin redis -config url=redis://localhost:6379 -config strategy=script -full`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if scaled < 2*time.Second {
				return usageError{fmt.Errorf("-scaled is %v; it must be at least 2s, so that a slow machine can't be taken for a store that forgets", scaled)}
			}
			var jobs []jobsfile.Job
			if jobsPath != "" {
				var err error
				if jobs, err = jobsfile.ReadFile(jobsPath); err != nil {
					return usageError{err}
				}
			}
			c := certification{jobs: jobs, full: full, scaled: scaled, progress: cmd.ErrOrStderr()}
			return withPlugin(cmd.Context(), where.plugin, where.config, func(ctx context.Context, p storekit.Plugin) error {
				if err := c.measure(ctx, p); err != nil {
					return err
				}
				var err error
				if asJSON {
					err = printJSON(cmd.OutOrStdout(), c.json())
				} else {
					err = c.print(cmd.OutOrStdout())
				}
				return errors.Join(err, c.verdict())
			})
		},
	}
	where.add(cmd)
	f := cmd.Flags()
	f.StringVar(&jobsPath, "jobs", "", "a YAML file with jobs to judge")
	f.BoolVar(&full, "full", false, "measure the memory as configured, however long it takes")
	f.DurationVar(&scaled, "scaled", 6*time.Second, "without -full: the shorter memory to measure instead, at least 2s")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// certification is one run of certify.
type certification struct {
	jobs     []jobsfile.Job
	full     bool
	scaled   time.Duration
	progress io.Writer

	id      string
	product string
	windows []string // the options that set how long the store remembers
	counts  []string // and how many runs
	took    time.Duration
	window.Report
}

func (c *certification) measure(ctx context.Context, p storekit.Plugin) error {
	begin := time.Now()
	found, err := storekit.Inspect(ctx, p)
	if err != nil {
		return err
	}
	c.id = "certify-" + store.NewClaimID().String()[:12]
	given := p.Config
	p.Config = inNamespace(lookOnly(given, found), found, c.id)
	plugin, d, err := openToMeasure(ctx, p)
	if err != nil {
		return openRemedy(err, given, found, doesNotCreate)
	}
	defer plugin.Close()
	fmt.Fprintf(c.progress, "all that is written is in namespaces that begin with %s\n", c.id)
	c.product = d.Product
	if c.windows, err = c.thatSet(ctx, p, found, storekit.TypeDuration, d.Memory.Window.String(), func(m store.Memory) bool { return m.Window != d.Memory.Window }); err != nil {
		return err
	}
	if c.counts, err = c.thatSet(ctx, p, found, storekit.TypeInt, strconv.Itoa(d.Memory.Runs), func(m store.Memory) bool { return m.Runs != d.Memory.Runs }); err != nil {
		return err
	}
	var short *window.Short
	if !c.full && d.Memory.Window > c.scaled {
		brief, m, err := c.shorter(ctx, p)
		if err != nil {
			return err
		}
		defer brief.Close()
		short = &window.Short{Probe: c.probe(brief), Memory: m}
	}
	c.Report, err = window.Certify(ctx, c.probe(plugin), d, short, c.jobs)
	c.took = time.Since(begin)
	return err
}

func (c *certification) probe(s store.Store) window.Probe {
	return window.Probe{Store: s, Prefix: c.id, Claimant: c.id, Progress: func(text string) { fmt.Fprintln(c.progress, text) }}
}

// thatSet names the options that set the store's memory: those of the type that have
// its value and, if there are several, of these the ones that change it.
func (c *certification) thatSet(ctx context.Context, p storekit.Plugin, found storekit.Inspection, kind storekit.OptionType, value string, changed func(store.Memory) bool) ([]string, error) {
	var names []string
	for _, o := range found.Options {
		has := o.Default
		if v, given := p.Config[o.Name]; given {
			has = fmt.Sprint(v)
		}
		if o.Type == kind && has != "" && has != "0" && same(kind, has, value) {
			names = append(names, o.Name)
		}
	}
	if len(names) < 2 {
		return names, nil
	}
	var sure []string
	for i, name := range names {
		config := with(p.Config, name, half(kind, value))
		d, err := c.describeWith(ctx, p, config, fmt.Sprintf("%s-%s%d", c.id, kind, i))
		if err != nil {
			return nil, fmt.Errorf("with another value of the option %q: %w", name, err)
		}
		if changed(d.Memory) {
			sure = append(sure, name)
		}
	}
	return sure, nil
}

func (c *certification) describeWith(ctx context.Context, p storekit.Plugin, config map[string]any, namespace string) (store.Description, error) {
	if _, ok := config["namespace"]; ok {
		config["namespace"] = namespace // a store may refuse other settings than it was made with
	}
	p.Config = config
	plugin, d, err := openToMeasure(ctx, p)
	if err != nil {
		return d, err
	}
	return d, plugin.Close()
}

// shorter opens the plugin with a shorter memory.
func (c *certification) shorter(ctx context.Context, p storekit.Plugin) (*storekit.Client, store.Memory, error) {
	const instead = "; measure the real one by -full"
	if len(c.windows) == 0 {
		return nil, store.Memory{}, errors.New("no option of the plugin sets how long it remembers, so a shorter memory can't be measured" + instead)
	}
	for _, name := range c.windows {
		p.Config = with(p.Config, name, c.scaled.String())
	}
	if _, ok := p.Config["namespace"]; ok {
		p.Config["namespace"] = c.id + "-short"
	}
	plugin, d, err := openToMeasure(ctx, p)
	names := strings.Join(c.windows, ", ")
	switch {
	case err != nil:
		return nil, d.Memory, fmt.Errorf("with a memory of %v (%s): %w%s, or another one by -scaled", c.scaled, names, err, instead)
	case d.Memory.Window != c.scaled:
		return nil, d.Memory, errors.Join(fmt.Errorf("the plugin was configured for %v (%s) and declares %v%s", c.scaled, names, d.Memory, instead), plugin.Close())
	}
	return plugin, d.Memory, nil
}

func same(kind storekit.OptionType, a, b string) bool {
	if kind != storekit.TypeDuration {
		return a == b
	}
	x, err := time.ParseDuration(a)
	y, err2 := time.ParseDuration(b)
	return err == nil && err2 == nil && x == y
}

func half(kind storekit.OptionType, value string) string {
	if kind == storekit.TypeDuration {
		d, _ := time.ParseDuration(value)
		return (d / 2).String()
	}
	n, _ := strconv.Atoi(value)
	return strconv.Itoa(n / 2)
}

func with(config map[string]any, name, value string) map[string]any {
	out := maps.Clone(config)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = value
	return out
}

func openToMeasure(ctx context.Context, p storekit.Plugin) (*storekit.Client, store.Description, error) {
	plugin, err := storekit.Open(ctx, p)
	if err != nil {
		return nil, store.Description{}, err
	}
	d, err := plugin.Describe(ctx)
	return plugin, d, err
}

// inNamespace is the configuration with a namespace of its own, where the plugin has
// the option and the user named none.
func inNamespace(config map[string]any, found storekit.Inspection, name string) map[string]any {
	out := maps.Clone(config)
	for _, o := range found.Options {
		if _, given := out["namespace"]; o.Name == "namespace" && !given {
			out["namespace"] = name
		}
	}
	return out
}

func (c *certification) verdict() error {
	if c.OK() {
		return nil
	}
	if len(c.Lies) > 0 {
		return errors.New("not certified: the store remembers less than its plugin declares; no job is safe on it")
	}
	return refusedJobs("not certified: ", c.verdicts())
}

// verdicts are the judgements of the jobs, by the store's rules alone.
func (c *certification) verdicts() []jobVerdict {
	out := []jobVerdict{}
	for _, j := range c.Jobs {
		out = append(out, verdictOf(j))
	}
	return out
}

// foundWords says what samples showed.
func foundWords(b window.Bounds, unit func(float64) string) (remembered, forgot string) {
	remembered, forgot = unit(b.Remembered), "never"
	if !math.IsInf(b.Forgot, 1) {
		forgot = unit(b.Forgot)
	}
	return remembered, forgot
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}

func runs(n float64) string { return fmt.Sprintf("%.0f runs", n) }

func (c *certification) print(out io.Writer) error {
	fmt.Fprintf(out, "%s, measured in %v\n", c.product, c.took.Round(100*time.Millisecond))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "memory\tdeclared\tremembered up to\tforgotten from\t")
	declaredAge, declaredRuns := "for ever", "any"
	if m := c.Declared; !m.Forever {
		declaredAge, declaredRuns = "not bounded", "not bounded"
		if m.Window > 0 {
			declaredAge = c.Measured.Window.String()
		}
		if m.Runs > 0 {
			declaredRuns = runs(float64(m.Runs))
		}
	}
	r, f := foundWords(window.AgeBounds(c.Ages), seconds)
	fmt.Fprintf(t, "by age\t%s\t%s\t%s\t\n", declaredAge, r, f)
	r, f = foundWords(window.CountBounds(c.Counts), runs)
	fmt.Fprintf(t, "by count\t%s\t%s\t%s\t\n", declaredRuns, r, f)
	if err := t.Flush(); err != nil {
		return err
	}
	switch {
	case c.Scaled():
		fmt.Fprintf(out, "By age it was measured with %s = %v instead of %v: the same plugin on the same server. -full measures the real one.\n", strings.Join(c.windows, ", "), c.Measured.Window, c.Declared.Window)
	case c.Declared.Forever:
		fmt.Fprintln(out, "For ever can't be waited for; this is how far it was tried.")
	}
	for _, l := range c.Lies {
		fmt.Fprintf(out, "FAULT: %s\n", l)
	}
	return c.printJobs(out)
}

func (c *certification) printJobs(out io.Writer) error {
	if len(c.Jobs) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tschedule\tmust be remembered\tas runs\tdeclared\tverdict\t")
	for _, j := range c.Jobs {
		verdict := "safe"
		switch {
		case len(c.Lies) > 0:
			verdict = "UNSAFE: the store forgets"
		case !j.OK():
			verdict = "REFUSED"
		}
		fmt.Fprintf(t, "%s\t%s\t%v\t%d\t%v\t%s\t\n", cell(j.Job.Name, 50), cell(j.Job.Schedule.String(), 40), j.Need, neededRuns(j), c.Declared, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, v := range c.verdicts() {
		v.printFindings(out, c.thatHelp)
	}
	return nil
}

// thatHelp names the plugin's options that a broken rule is about.
func (c *certification) thatHelp(f *core.RuleError) []string {
	switch {
	case strings.HasPrefix(f.Rule, "runs remembered"):
		return c.counts
	case strings.HasSuffix(f.Rule, "the store's memory"):
		return c.windows
	}
	return nil
}

// neededRuns is the least count that covers what the job needs: count × gap must be
// greater.
func neededRuns(j jobsfile.Judgement) int { return int(j.Need/j.Gap) + 1 }

// json is what -json prints.
func (c *certification) json() any {
	type job struct {
		jobVerdict
		Runs int `json:"asRuns"`
	}
	jobs := []job{}
	for i, v := range c.verdicts() {
		v.OK = v.OK && len(c.Lies) == 0
		jobs = append(jobs, job{v, neededRuns(c.Jobs[i])})
	}
	return map[string]any{
		"certified": c.OK(), "product": c.product, "declared": c.Declared.String(), "measured": c.Measured.String(), "scaled": c.Scaled(),
		"windowOptions": append([]string{}, c.windows...), "countOptions": append([]string{}, c.counts...), "ages": c.Ages, "counts": c.Counts, "faults": append([]string{}, c.Lies...), "jobs": jobs,
		"tookSeconds": c.took.Seconds(), "host": host(),
	}
}

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
