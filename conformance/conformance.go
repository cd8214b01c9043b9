package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/report"
	"github.com/anarchon-go/anarchon/conformance/session"
	"github.com/anarchon-go/anarchon/conformance/subject"
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
	run(t, o, func(id string, seed uint64) string { return o.again(t.Name(), id, seed) })
}

// again says how to repeat a check of a test. The command takes the seed without a
// change of the test.
func (o Options) again(test, id string, seed uint64) string {
	return fmt.Sprintf("go test -run '%s/%s$', with Options.Seed %d\n     or:  %s", test, id, seed, o.subject().Again(id, seed))
}

// subject says which plugin is opened, and how.
func (o Options) subject() subject.Options {
	return subject.Options{Path: o.Plugin, Variant: o.Variant, Config: o.Config}
}

// run is Run; again is the command that repeats a check.
func run(t *testing.T, o Options, again func(id string, seed uint64) string) {
	t.Helper()
	ctx := launchContext(t)
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	out := openConsole(t)
	out.printf("conformance of %s, seed %d: finding, building and opening the plugin", o.Plugin, o.Seed)
	t.Attr("subject", label(o.Plugin, o.Variant)) // for readers of go test -json: which run was it?
	words := &pluginLog{}
	opens := o.subject()
	opens.Logger = words.logger()
	p, err := subject.Load(ctx, opens)
	if err != nil {
		t.Fatalf("error: %v\n%s", err, failed(label(o.Plugin, o.Variant), "no check: error: "+err.Error()))
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("error: %v", err)
		}
		if said := leak(10 * time.Second); said != "" && !t.Failed() { // a hanging call leaves some, and failed
			t.Errorf("error: %s", said)
		}
	})
	s, err := session.Open(ctx, &kit.Suite{Subject: p, Seed: o.Seed}, p.Kind())
	if err != nil {
		t.Fatalf("error: %v\n%s", err, failed(label(o.Plugin, o.Variant), "no check: error: "+err.Error()))
	}
	t.Cleanup(func() {
		finish(t, s, label(o.Plugin, o.Variant), o.Report, out)
		if text := words.String(); t.Failed() && text != "" {
			t.Logf("the last warnings of plugins and host:\n%s", text)
		}
	})
	for _, c := range s.Checks() {
		t.Run(c.ID, func(t *testing.T) {
			if !c.Alone { // those that are run now, before all others
				t.Parallel()
			}
			res := s.Run(ctx, c)
			out.printf("%3d/%d %-8v %-28s %6.2f s", s.Done(), len(s.Checks()), res.Outcome, c.ID, res.Took.Seconds())
			tell(t, res, again(c.ID, o.Seed))
		})
	}
}

// tell makes a result one of go test's.
func tell(t *testing.T, res kit.Result, again string) {
	switch res.Outcome {
	case kit.Pass:
		for _, f := range res.Figures {
			t.Logf("%s: %s", f.Name, f.Value)
		}
	case kit.Skip:
		t.Skip(res.Reason)
	default:
		t.Errorf("%s  again:  %s", res.Text(), again)
	}
}

// label names a run: the plugin's directory and the variant.
func label(plugin, variant string) string {
	if variant == "" {
		variant = "default"
	}
	return filepath.Base(plugin) + "/" + variant
}

// failed is a line that says on its own what failed, to be found in a long log.
// scripts/conformance.sh repeats such lines at its end.
func failed(label, what string) string {
	what, _, _ = strings.Cut(what, "\n")
	return fmt.Sprintf("conformance: FAILED %s: %s", label, what)
}

// failures are the lines of all that is wrong with a run.
func failures(r *report.Report, label string) string {
	var b strings.Builder
	said := map[string]bool{}
	for _, res := range r.Results {
		if res.Outcome.Bad() {
			said[fmt.Sprintf("%s: %v", res.Check.ID, res.Outcome)] = true
			fmt.Fprintln(&b, failed(label, fmt.Sprintf("%s: %v: %s", res.Check.ID, res.Outcome, res.Reason)))
		}
	}
	for _, p := range r.Verdict.Problems {
		if !said[p] {
			fmt.Fprintln(&b, failed(label, p))
		}
	}
	return b.String()
}

// finish judges the run and writes the report, if a directory for it was given.
func finish(t *testing.T, s *session.Session, label, dir string, out *consoleWriter) {
	r, err := s.Close()
	if err != nil {
		t.Errorf("error: closing the subject: %v", err)
	}
	out.printf("%s", r.Table())
	if !r.Verdict.OK {
		t.Errorf("%s\n%s\n%s", r.Line(), r.Verdict, failures(r, label))
	}
	if dir == "" {
		return
	}
	path, err := subject.Out(dir)
	if err == nil {
		err = r.Write(path)
	}
	if err != nil {
		t.Errorf("error: writing the report: %v", err)
		return
	}
	out.printf("report: %s", path)
}

// timeNeeded is what a run may take on a slow machine, build included.
const timeNeeded = 4 * time.Minute

// launchContext ends with the test's own deadline, and fails the test at once if
// that is too near: a run that is killed half way says nothing.
func launchContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // t's own ends before its cleanups
	t.Cleanup(cancel)
	end, limited := t.Deadline()
	if !limited {
		return ctx
	}
	if left := time.Until(end); left < timeNeeded {
		t.Fatalf("error: go test ends this run in %v, and it may need %v; pass -timeout %v, or -timeout 0 for no limit", left.Round(time.Second), timeNeeded, 2*timeNeeded)
	}
	ctx, stop := context.WithDeadline(ctx, end.Add(-10*time.Second))
	t.Cleanup(stop)
	return ctx
}
