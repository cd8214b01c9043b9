package conformance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/report"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/conformance/verdict"
	"github.com/anarchon-go/anarchon/core/store"
)

// Options say what is judged, and how.
type Options struct {
	// Plugin is a directory with a plugin's main package, which is built first, or
	// a built plugin. A relative path counts from where the command was typed, or
	// from a directory above the test's, up to the module's root.
	Plugin string
	// Variant of the plugin's conformance.yaml; empty: the only one, or "default".
	Variant string
	// Config holds options of the plugin as a user writes them. They replace those
	// of the variant.
	Config map[string]string
	// Report is a directory for the report's files; empty: none are written.
	Report string
	// Seed repeats the random draws of an earlier run; 0 draws a seed.
	Seed uint64
}

// Run judges a plugin: each check is a parallel subtest of t, and when all are
// over the verdict on them fails t if anything is wrong, or missing. The checks
// begin when the test function that called Run returns.
func Run(t *testing.T, o Options) {
	t.Helper()
	ctx := launchContext(t)
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	out := openConsole(t)
	out.printf("conformance of %s, seed %d: finding, building and opening the plugin", o.Plugin, o.Seed)
	p, err := subject.Load(ctx, subject.Options{Path: o.Plugin, Variant: o.Variant, Config: o.Config})
	if err != nil {
		t.Fatalf("error: %v", err)
	}
	r := &run{
		suite: kit.Suite{Subject: p, Seed: o.Seed},
		kind:  p.Kind(),
		out:   out,
		again: func(id string) string { return o.again(id) },
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("error: %v", err)
		}
	})
	r.start(t, func() { r.write(t, o.Report) })
}

// again is the command that repeats one check.
func (o Options) again(id string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "go test ./conformance -plugin=%s -run 'TestConformance/%s$' -seed %d", o.Plugin, id, o.Seed)
	if o.Variant != "" {
		fmt.Fprintf(&b, " -variant %s", o.Variant)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Config)) {
		fmt.Fprintf(&b, " -config %s=…", key) // the value may be a secret
	}
	return b.String()
}

// run is one run of the suite, as subtests.
type run struct {
	suite kit.Suite
	kind  store.Kind // what the subject must declare; 0 if left open
	out   *consoleWriter
	again func(id string) string
	began time.Time

	checks []kit.Check
	mu     sync.Mutex
	done   map[string]kit.Result
	report report.Report
}

// start opens the subject and begins the checks. The verdict comes in a cleanup
// of t, which then calls after.
func (r *run) start(t *testing.T, after func()) {
	r.began, r.done = time.Now(), map[string]kit.Result{}
	description, err := r.suite.Start(t.Context())
	if err != nil {
		t.Fatalf("error: %v", err)
	}
	if r.kind != 0 && r.kind != description.Kind {
		t.Errorf("the settings say that the plugin is of kind %v; it declares %v", r.kind, description.Kind)
	}
	expected, err := verdict.For(description.Kind)
	if err != nil {
		t.Fatalf("the plugin declares what no backend is: %v", err)
	}
	r.checks = checks.For(description.Kind)
	t.Cleanup(func() {
		if err := r.suite.Close(); err != nil {
			t.Errorf("error: closing the subject: %v", err)
		}
		r.finish(t, description, expected)
		after()
	})
	for _, c := range r.checks {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			r.check(t, c)
		})
	}
}

// check runs one check and says what came of it.
func (r *run) check(t *testing.T, c kit.Check) {
	res := r.suite.Run(t.Context(), c)
	r.mu.Lock()
	r.done[c.ID] = res
	n := len(r.done)
	r.mu.Unlock()
	r.out.printf("%3d/%d %-8v %-28s %6.2f s", n, len(r.checks), res.Outcome, c.ID, res.Took.Seconds())
	switch res.Outcome {
	case kit.Pass:
		for _, f := range res.Figures {
			t.Logf("%s: %s", f.Name, f.Value)
		}
	case kit.Skip:
		t.Skip(res.Reason)
	default:
		t.Errorf("%s  again:  %s", res.Text(), r.again(c.ID))
	}
}

// finish judges the run. A check whose subtest was never started was turned off
// by -run or -skip.
func (r *run) finish(t *testing.T, d store.Description, expected []verdict.Expected) {
	results := make([]kit.Result, 0, len(r.checks))
	for _, c := range r.checks {
		res, ran := r.done[c.ID]
		if !ran {
			res = kit.Result{Check: c, Outcome: kit.Disabled, Reason: "not selected"}
		}
		results = append(results, res)
	}
	r.report = report.Report{
		Subject: r.suite.Subject.About(), Description: d, Seed: r.suite.Seed,
		Started: r.began, Took: time.Since(r.began), Results: results, Verdict: verdict.Judge(expected, results),
	}
	r.out.printf("%s", r.report.Table())
	if !r.report.Verdict.OK {
		t.Errorf("%s\n%s", r.report.Line(), r.report.Verdict)
	}
}

// write writes the report's files, if a directory for them was given.
func (r *run) write(t *testing.T, dir string) {
	if dir == "" {
		return
	}
	path, err := subject.Out(dir)
	if err == nil {
		err = r.report.Write(path)
	}
	if err != nil {
		t.Errorf("error: writing the report: %v", err)
		return
	}
	r.out.printf("report: %s", path)
}

// timeNeeded is what a run may take on a slow machine, build included.
const timeNeeded = 4 * time.Minute

// launchContext ends with the test's own deadline, and fails the test at once if
// that is too near: a run that is killed half way says nothing.
func launchContext(t *testing.T) context.Context {
	t.Helper()
	end, limited := t.Deadline()
	if !limited {
		return t.Context()
	}
	if left := time.Until(end); left < timeNeeded {
		t.Fatalf("error: go test ends this run in %v, and it may need %v; pass -timeout %v, or -timeout 0 for no limit", left.Round(time.Second), timeNeeded, 2*timeNeeded)
	}
	ctx, cancel := context.WithDeadline(t.Context(), end.Add(-10*time.Second))
	t.Cleanup(cancel)
	return ctx
}
