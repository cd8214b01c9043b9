package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/conformance/session"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/nearest"
)

// conformOptions say what is judged, and how.
type conformOptions struct {
	path    string
	variant string
	config  []string
	report  string
	only    string
	seed    uint64
	explain string
}

func conformCommand() *cobra.Command {
	var o conformOptions
	cmd := &cobra.Command{
		Use:   "conform PLUGIN",
		Short: "Judge a plugin: does it keep the protocol's promises?",
		Long: `Runs the conformance suite on a plugin: a directory with a Go main package, which is built
first, a built plugin in any language, or a name, such as sqlite. Its conformance.yaml, beside it, says in which
variants it is judged and which servers they need; -config replaces options, and with a
server's address no container is started.

It is the same suite as go test ./conformance -plugin=PLUGIN, without Go.

Exit code 0: no fault was found (with -run, among the selected checks: the verdict then
says PARTIAL); 1: the plugin does not conform, or could not be judged.`,
		Example: `  anarchon conform ./mybackend
  anarchon conform ./mybackend -report report -run '^(claim|retry)/'
  anarchon conform ./bin/anarchon-plugin-redis -config url=redis://localhost:6379
  anarchon conform -explain R-CLAIM-7`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && (o.explain == "" || len(args) != 0) {
				return usageError{fmt.Errorf("%d arguments; name one plugin, by its directory, its file or its name", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.explain != "" {
				return explain(cmd.OutOrStdout(), o.explain)
			}
			o.path = args[0]
			return o.judge(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.variant, "variant", "", "the variant of the plugin's conformance.yaml; default: the only one, or \"default\"")
	f.StringArrayVar(&o.config, "config", nil, "an option of the plugin, key=value; repeatable")
	f.StringVar(&o.report, "report", "", "write the certificate, an HTML page and JUnit into this directory")
	f.StringVar(&o.only, "run", "", "run only checks whose name this regular expression finds, e.g. '^lease/'; the verdict is then partial")
	f.Uint64Var(&o.seed, "seed", 0, "repeat the random draws of an earlier run; 0 draws a seed")
	f.StringVar(&o.explain, "explain", "", "explain a promise (R-CLAIM-7) or a check (claim/follows) instead")
	cmd.AddCommand(conformVerifyCommand(), conformCompareCommand())
	return cmd
}

func (o conformOptions) judge(ctx context.Context, out, errs io.Writer) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return usageError{fmt.Errorf("-run: %w", err)}
	}
	config, err := parseConfig(o.config)
	if err != nil {
		return err
	}
	options := map[string]string{}
	for k, v := range config {
		options[k] = fmt.Sprint(v)
	}
	if !exists(o.path) {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		if o.path, err = pluginPath(o.path, root); err != nil {
			return err
		}
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()
	}
	fmt.Fprintf(errs, "conformance of %s, seed %d: finding, building and opening the plugin\n", o.path, o.seed)
	var words logBuffer
	about := subject.Options{
		Path: o.path, Variant: o.variant, Config: options,
		Logger: slog.New(slog.NewTextHandler(&words, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	p, err := subject.Load(ctx, about)
	if err != nil {
		return err
	}
	defer p.Close()
	s, err := session.Open(ctx, &kit.Suite{Subject: p, Seed: o.seed}, p.Kind())
	if err != nil {
		return err
	}
	selected := func(c kit.Check) bool { return only.MatchString(c.ID) }
	if !slices.ContainsFunc(s.Checks(), selected) {
		_, err := s.Close()
		return errors.Join(usageError{fmt.Errorf("-run %q finds no check of a %v backend; their names are in docs/conformance-matrix.md, as %q", o.only, p.Kind(), s.Checks()[0].ID)}, err)
	}
	s.RunAll(ctx, runtime.GOMAXPROCS(0), selected, func(res kit.Result) {
		fmt.Fprintf(errs, "%3d/%d %-8v %-28s %6.2f s\n", s.Done(), len(s.Checks()), res.Outcome, res.Check.ID, res.Took.Seconds())
		if res.Outcome.Bad() {
			fmt.Fprintf(errs, "%s  again:  %s\n", res.Text(), about.Again(res.Check.ID, o.seed))
		}
	})
	r, err := s.Close()
	if ctx.Err() != nil {
		return errors.New("stopped before the verdict")
	}
	fmt.Fprint(out, r.Table())
	if o.report != "" {
		err = errors.Join(err, r.Write(o.report))
	}
	if !r.Verdict.OK {
		if text := words.String(); text != "" {
			fmt.Fprintf(errs, "the last warnings of plugins and host:\n%s", text)
		}
		return errors.Join(err, errors.New("the plugin does not conform"))
	}
	return err
}

// logBuffer keeps the end of what plugins log. It is safe for concurrent use.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const keptLog = 16 << 10

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p)
	if over := l.b.Len() - keptLog; over > 0 {
		l.b.Next(over)
	}
	return len(p), nil
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// explain tells what a promise means, and which checks prove it; or what a check does.
func explain(out io.Writer, what string) error {
	var all []kit.Check
	for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
		for _, c := range checks.For(kind) {
			if !slices.ContainsFunc(all, func(known kit.Check) bool { return known.ID == c.ID }) {
				all = append(all, c)
			}
		}
	}
	if p, ok := promise.Get(strings.ToUpper(what)); ok {
		who := map[promise.Applies]string{promise.All: "every backend", promise.Lease: "lease backends", promise.ClaimOnly: "claim-only backends"}[p.Applies]
		fmt.Fprintf(out, "%s (%s): %s\n", p.ID, who, p.Sentence)
		for _, c := range all {
			if slices.Contains(c.Promises, p.ID) {
				fmt.Fprintln(out)
				explainCheck(out, c)
			}
		}
		return nil
	}
	for _, c := range all {
		if c.ID == what {
			explainCheck(out, c)
			for _, id := range c.Promises {
				p, _ := promise.Get(id)
				fmt.Fprintf(out, "\n%s: %s\n", id, p.Sentence)
			}
			return nil
		}
	}
	known := []string{}
	for _, p := range promise.List() {
		known = append(known, p.ID)
	}
	for _, c := range all {
		known = append(known, c.ID)
	}
	if near := nearest.Word(what, known); near != "" {
		return usageError{fmt.Errorf("%q is neither a promise nor a check; did you mean %s?", what, near)}
	}
	return usageError{fmt.Errorf("%q is neither a promise, such as R-CLAIM-1, nor a check, such as claim/one-winner; docs/conformance-matrix.md has all", what)}
}

func explainCheck(out io.Writer, c kit.Check) {
	fmt.Fprintf(out, "%s\n  %s\n", c.ID, c.Says)
	if c.Causes != "" {
		fmt.Fprintf(out, "  usual causes of a failure: %s\n", c.Causes)
	}
}
