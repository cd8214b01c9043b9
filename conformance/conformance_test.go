package conformance

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// flags are those of go test ./conformance.
var flags = runFlags{config: configFlag{}}

func TestMain(m *testing.M) {
	flag.StringVar(&flags.plugin, "plugin", "", "judge the plugin in this `directory or binary`")
	flag.StringVar(&flags.variant, "variant", "", "the `name` of a variant in the plugin's conformance.yaml")
	flag.Var(flags.config, "config", "an option of the plugin, as `key=value`; repeatable")
	flag.StringVar(&flags.report, "report", "", "write conformance.json and junit.xml into this `directory`")
	flag.Uint64Var(&flags.seed, "seed", 0, "repeat the random draws of an earlier run; 0 draws a seed")
	flag.Parse()
	if err := flags.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	status := m.Run()
	for _, f := range afterTests {
		f()
	}
	os.Exit(status)
}

// afterTests remove what tests share.
var afterTests []func()

type runFlags struct {
	plugin, variant, report string
	config                  configFlag
	seed                    uint64
}

// check refuses what would silently do nothing.
func (f *runFlags) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected arguments %q; flags are written -name=value", args)
	case f.plugin == "" && (f.variant != "" || f.report != "" || len(f.config) > 0 || f.seed != 0):
		return errors.New("-variant, -config, -report and -seed need -plugin=DIR_OR_BINARY")
	}
	return nil
}

// configFlag collects options of the plugin.
type configFlag map[string]string

func (c configFlag) String() string { return "" }

// Set reads one "key=value"; the value may hold more equals signs.
func (c configFlag) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	switch _, twice := c[key]; {
	case !ok || key == "":
		return fmt.Errorf("%q is not of the form key=value", s)
	case twice:
		return fmt.Errorf("option %q is given twice", key)
	}
	c[key] = value
	return nil
}

// TestConformance judges the plugin that -plugin names; see the package's
// documentation.
func TestConformance(t *testing.T) {
	if flags.plugin == "" {
		t.Skip("no plugin to judge; name one with -plugin=DIR_OR_BINARY, e.g. go test ./conformance -plugin=./plugins/sqlite")
	}
	run(t, Options{Plugin: flags.plugin, Variant: flags.variant, Config: flags.config, Report: flags.report, Seed: flags.seed}, flags.again)
}

// again is the command that repeats one check.
func (f *runFlags) again(id string, seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "go test ./conformance -plugin=%s -run 'TestConformance/%s$' -seed %d", f.plugin, id, seed)
	if f.variant != "" {
		fmt.Fprintf(&b, " -variant %s", f.variant)
	}
	for _, key := range slices.Sorted(maps.Keys(f.config)) {
		fmt.Fprintf(&b, " -config %s=…", key) // the value may be a secret
	}
	return b.String()
}

// kitTest marks a test of the kit itself: it does not run beside a plugin's.
func kitTest(t *testing.T) {
	t.Helper()
	if flags.plugin != "" {
		t.Skip("a plugin is judged; without -plugin the kit is")
	}
}
