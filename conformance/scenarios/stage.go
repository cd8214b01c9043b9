package scenarios

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// Stage is a backend to play on: a plugin, and its servers in containers.
type Stage struct {
	Name string // "redis", or "redis stream-id"
	Kind store.Kind

	plugin *subject.Plugin
	server *containers.Container // nil: none of ours
	host   func() *exec.Cmd
}

// Options say what to play on.
type Options struct {
	Path    string            // the plugin's directory, which is built, or its binary
	Variant string            // of its conformance.yaml; empty: the only one, or "default"
	Config  map[string]string // its options, instead of the variant's
	Logger  *slog.Logger      // for the plugin's own words; nil drops them
	// Host returns a command whose process runs [HostMain].
	Host func() *exec.Cmd
}

// Open builds the plugin if need be, and starts its servers. Close the stage.
func Open(ctx context.Context, o Options) (*Stage, error) {
	plugin, err := subject.Load(ctx, subject.Options{Path: o.Path, Variant: o.Variant, Config: o.Config, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	st := &Stage{Name: plugin.About().Plugin, plugin: plugin, server: serverOf(plugin.Containers()), host: o.Host}
	if v := plugin.About().Variant; v != "default" {
		st.Name += " " + v
	}
	process, err := plugin.Open(ctx, "")
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	desc, err := process.Describe(ctx)
	if err = errors.Join(err, process.Close(ctx)); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	st.Kind = desc.Kind
	return st, nil
}

// Close removes the servers.
func (st *Stage) Close() error { return st.plugin.Close() }

// serverOf is the container of the store, nil if there is not exactly one of ours.
func serverOf(all map[string]*containers.Container) *containers.Container {
	if len(all) != 1 {
		return nil
	}
	for _, c := range all {
		return c
	}
	return nil
}

// Result is what became of a scenario on a backend.
type Result struct {
	Scenario *Scenario
	Backend  string
	Kind     store.Kind
	Record   *Record // nil if it was not played
	NA       string  // why it does not apply
	Err      error   // the play itself failed, or left something behind
	Judged   []Judged
}

// Judged is an expectation with its outcome.
type Judged struct {
	Says   string
	Figure string // what was measured, if anything was
	Err    error
}

// OK reports whether all expectations hold, or the scenario does not apply.
func (r *Result) OK() bool {
	for _, j := range r.Judged {
		if j.Err != nil {
			return false
		}
	}
	return r.Err == nil
}

// applies returns why a scenario does not apply to the backend, or "".
func (st *Stage) applies(s *Scenario) string {
	switch {
	case s.Expects(st.Kind) == nil && st.Kind == store.KindClaimOnly:
		return "a claim-only backend has no leases"
	case s.Expects(st.Kind) == nil:
		return "not for lease backends"
	case s.Breaks != BreaksNothing && st.server == nil:
		return "needs one server in a container of ours, to be cut off or killed"
	}
	return ""
}

// Play plays a scenario. A machine so slow that the instances are not up before
// time zero gets more time, twice.
func (st *Stage) Play(ctx context.Context, s *Scenario, t Timing) *Result {
	r := &Result{Scenario: s, Backend: st.Name, Kind: st.Kind}
	if r.NA = st.applies(s); r.NA != "" {
		return r
	}
	lead := max(s.Lead, 3*time.Second)
	for range 3 {
		r.Record, r.Err = st.play(ctx, s, t, lead)
		if !errors.Is(r.Err, errTooSlow) {
			break
		}
		lead *= 2
	}
	if r.Record == nil {
		return r
	}
	for _, e := range s.Expects(st.Kind) {
		figure, err := e.Check(r.Record)
		r.Judged = append(r.Judged, Judged{e.Says, figure, err})
	}
	return r
}

func (st *Stage) play(ctx context.Context, s *Scenario, t Timing, lead time.Duration) (*Record, error) {
	var set func(string, *hostprog.Config)
	if s.Host != nil {
		set = func(lane string, c *hostprog.Config) { s.Host(lane, c, t) }
	}
	p, err := st.open(ctx, s.Jobs(t), t, set, s.Breaks == BreaksLink, lead)
	if err != nil {
		return nil, err
	}
	err = p.perform(s.Script(t))
	rec, endErr := p.end()
	return rec, errors.Join(err, endErr, p.close())
}

func (p *Play) perform(steps []Step) error {
	for _, step := range steps {
		if step.Kind != 0 && step.Kind != p.kind {
			continue
		}
		if err := step.Do(p); err != nil {
			return fmt.Errorf("step %q: %w", step.Says, err)
		}
	}
	return nil
}
