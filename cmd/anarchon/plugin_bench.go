package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

func pluginBenchCommand() *cobra.Command {
	var (
		config  []string
		length  time.Duration
		callers int
		asJSON  bool
	)
	cmd := &cobra.Command{
		Use:   "bench NAME|PATH",
		Short: "How long a plugin takes to claim, renew and finish runs: one caller, then many",
		Long: `bench runs claim, heartbeat and finish through a plugin, first with one caller and
then with many at once, and prints how long they took.

Run it where the service runs, against the store that the service uses. It leaves
some records behind: one for each caller, and a short history. Where the plugin has
the option namespace they are in the namespace anarchon-bench, unless -config names
another.`,
		Example: `  anarchon plugin bench sqlite -config path=jobs.db
  anarchon plugin bench redis -config url=redis://localhost:6379 -callers 256 -for 20s`,
		Args: onePlugin,
		RunE: func(cmd *cobra.Command, args []string) error {
			if length < time.Second || length > time.Hour {
				return usageError{fmt.Errorf("-for is %v; it must be 1s to 1h", length)}
			}
			if callers < 1 || callers > 10_000 {
				return usageError{fmt.Errorf("-callers is %d; it must be 1 to 10000", callers)}
			}
			return withPlugin(cmd.Context(), args[0], config, func(ctx context.Context, p storekit.Plugin) error {
				r, err := benchPlugin(ctx, p, length, callers)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), r)
				}
				return r.print(cmd.OutOrStdout())
			})
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&config, "config", nil, "an option of the plugin, key=value; repeatable")
	f.DurationVar(&length, "for", 6*time.Second, "how long, a third of it with one caller")
	f.IntVar(&callers, "callers", 64, "callers at once in the second part")
	f.BoolVar(&asJSON, "json", false, "print JSON, times in milliseconds")
	return cmd
}

// benchReport is what plugin bench tells.
type benchReport struct {
	Plugin  string       `json:"plugin"`
	Version string       `json:"version"`
	Store   string       `json:"store"`
	Kind    store.Kind   `json:"kind"`
	Start   milliseconds `json:"start"` // launch, handshake and configuration
	Parts   []benchPart  `json:"parts"`
}

// benchPart is one part of a bench.
type benchPart struct {
	Callers int          `json:"callers"`
	Job     string       `json:"job"` // of the first caller; the others' differ in the number
	Took    milliseconds `json:"took"`
	Verbs   []benchVerb  `json:"verbs"`
}

// benchVerb is what a verb's calls took.
type benchVerb struct {
	Verb      string       `json:"verb"`
	Calls     int          `json:"calls"`
	PerSecond float64      `json:"per_second"` // of all callers together, among the other verbs
	Median    milliseconds `json:"median"`
	P99       milliseconds `json:"p99"`
	Worst     milliseconds `json:"worst"`
}

// milliseconds is a duration that JSON and people read as milliseconds.
type milliseconds time.Duration

func (m milliseconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(m) / float64(time.Millisecond))
}

func (m milliseconds) String() string {
	return fmt.Sprintf("%.2f ms", float64(m)/float64(time.Millisecond))
}

const benchNamespace = "anarchon-bench"

// benchPlugin opens a plugin and uses it for a while.
func benchPlugin(ctx context.Context, p storekit.Plugin, length time.Duration, callers int) (*benchReport, error) {
	found, err := storekit.Inspect(ctx, p)
	if err != nil {
		return nil, err
	}
	if _, given := p.Config["namespace"]; !given && slices.ContainsFunc(found.Options, func(o storekit.Option) bool { return o.Name == "namespace" }) {
		p.Config["namespace"] = benchNamespace
	}
	begin := time.Now()
	plugin, err := storekit.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer plugin.Close()
	r := &benchReport{Plugin: found.Name, Version: found.Version, Start: milliseconds(time.Since(begin))}
	d, err := plugin.Describe(ctx)
	if err != nil {
		return nil, err
	}
	r.Store, r.Kind = d.Product, d.Kind
	for _, part := range []struct {
		callers int
		length  time.Duration
	}{{1, length / 3}, {callers, length * 2 / 3}} {
		b := bench{store: plugin, kind: d.Kind, name: store.NewClaimID().String()}
		measured, err := b.run(ctx, part.callers, part.length)
		if err != nil {
			return nil, err
		}
		r.Parts = append(r.Parts, measured)
	}
	return r, nil
}

// bench measures one part.
type bench struct {
	store store.Store
	kind  store.Kind
	name  string // of this part, in job names

	mu    sync.Mutex
	times map[string][]time.Duration
}

func (b *bench) run(ctx context.Context, callers int, length time.Duration) (benchPart, error) {
	b.times = map[string][]time.Duration{}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make(chan error, callers)
	begin := time.Now()
	end := begin.Add(length)
	for i := range callers {
		go func() {
			err := b.caller(ctx, i, begin, end)
			if err != nil {
				cancel() // the others need not go on
			}
			errs <- err
		}()
	}
	var first error
	for range callers {
		first = cmp.Or(first, <-errs)
	}
	part := benchPart{Callers: callers, Job: b.job(0), Took: milliseconds(time.Since(begin))}
	if first != nil {
		return part, first
	}
	for _, verb := range []string{"claim", "heartbeat", "finish"} {
		if times := b.times[verb]; len(times) > 0 {
			part.Verbs = append(part.Verbs, summary(verb, times, time.Duration(part.Took)))
		}
	}
	return part, nil
}

func (b *bench) job(caller int) string { return fmt.Sprintf("bench/%s/%d", b.name, caller) }

// caller claims runs of a job of its own, one after the other, renews each once and
// finishes it. The first is not counted: it makes the job's record.
func (b *bench) caller(ctx context.Context, number int, begin, end time.Time) error {
	req := store.ClaimRequest{
		Job: b.job(number), Slot: begin.UnixMilli(), Instance: "anarchon-bench", Reason: store.ReasonScheduled,
		Lease: time.Minute, MaxEarly: store.MaxBound, MaxLate: store.MaxBound, Overlap: store.OverlapSkip, MaxAttempts: 1, HistorySize: 10,
	}
	times := map[string][]time.Duration{}
	for n := 0; n == 0 || time.Now().Before(end); n++ {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
		took, err := b.oneRun(ctx, req)
		if err != nil {
			return err
		}
		for verb, d := range took {
			if n > 0 {
				times[verb] = append(times[verb], d)
			}
		}
		req.Slot++
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for verb, ds := range times {
		b.times[verb] = append(b.times[verb], ds...)
	}
	return nil
}

var errNotGranted = errors.New("a run that nobody else can have claimed was not granted")

func (b *bench) oneRun(ctx context.Context, req store.ClaimRequest) (map[string]time.Duration, error) {
	took := make(map[string]time.Duration, 3)
	timed := func(verb string, call func() error) error {
		begin := time.Now()
		err := call()
		took[verb] = time.Since(begin)
		return err
	}
	req.ID = store.NewClaimID()
	var won store.ClaimAnswer
	if err := timed("claim", func() (err error) { won, err = b.store.Claim(ctx, req); return err }); err != nil {
		return nil, err
	}
	if won.Verdict != store.VerdictWon {
		return nil, fmt.Errorf("%w: %v", errNotGranted, won.Verdict)
	}
	if b.kind == store.KindLease {
		beat := store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: won.Token, Lease: req.Lease}
		if err := timed("heartbeat", func() error { _, err := b.store.Heartbeat(ctx, beat); return err }); err != nil {
			return nil, err
		}
	}
	finish := store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: won.Token, ID: req.ID, Outcome: store.OutcomeSuccess}
	if err := timed("finish", func() error { _, err := b.store.Finish(ctx, finish); return err }); err != nil {
		return nil, err
	}
	return took, nil
}

func summary(verb string, times []time.Duration, took time.Duration) benchVerb {
	slices.Sort(times)
	at := func(q float64) milliseconds { return milliseconds(times[int(q*float64(len(times)-1))]) }
	return benchVerb{
		Verb: verb, Calls: len(times), PerSecond: float64(len(times)) / took.Seconds(),
		Median: at(0.5), P99: at(0.99), Worst: at(1),
	}
}

func (r *benchReport) print(out io.Writer) error {
	fmt.Fprintf(out, "%s %s, %s, %v\nstarted in %v\n", r.Plugin, r.Version, r.Store, r.Kind, r.Start)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "callers\tverb\tcalls\tper second\tmedian\tp99\tworst\t")
	for _, p := range r.Parts {
		for _, v := range p.Verbs {
			fmt.Fprintf(t, "%d\t%s\t%d\t%.0f\t%v\t%v\t%v\t\n", p.Callers, v.Verb, v.Calls, v.PerSecond, v.Median, v.P99, v.Worst)
		}
	}
	return t.Flush()
}
