package core

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	mutantNamed = flag.String("mutant", "", "TestMutants: try this one only, and show what its tests say")
	mutantOn    = flag.Int("mutant.on", -1, "in a test binary that TestMutants built: switch this one on")
)

// mutant is a way to break the machine.
type mutant struct {
	name string
	file string
	// place is a piece of the file's text that occurs once. What is between
	// ⟦ and ⟧ is replaced: statements, or an expression of type typ.
	place string
	typ   string
	new   string
	by    string // what must catch it: an invariant of the simulation, or a script
}

// TestMutants tests the tests: each mutant of the machine must fail the
// simulation or the script or case that is named for it. They are built into one
// test binary, from copies of the sources, as switches; the sources stay as they
// are. With -v it prints what caught which.
//
//	go test ./core -run TestMutants -v -mutant=no-sweep
func TestMutants(t *testing.T) {
	if testing.Short() || RaceDetector || *mutantOn >= 0 {
		t.Skip("builds the package anew, and runs it for each mutant")
	}
	binary := buildMutants(t)
	results := make([]*caught, len(mutants))
	var wg sync.WaitGroup
	next := make(chan int)
	for range 2 {
		wg.Go(func() {
			for i := range next {
				results[i] = tryMutant(t, binary, i)
			}
		})
	}
	for i, m := range mutants {
		if *mutantNamed == "" || *mutantNamed == m.name {
			next <- i
		}
	}
	close(next)
	wg.Wait()
	var table strings.Builder
	for i, m := range mutants {
		c := results[i]
		if c == nil {
			continue
		}
		isTest := strings.HasPrefix(m.by, "Test")
		switch {
		case isTest && !slices.Contains(c.tests, m.by), !isTest && !slices.Contains(c.rules, m.by):
			t.Errorf("mutant %s must be caught by %q; it is caught by %v", m.name, m.by, c)
		}
		fmt.Fprintf(&table, "%-36s %v\n", m.name, c)
	}
	t.Logf("\n%s", &table)
	if c := tryMutant(t, binary, len(mutants)); c.failed {
		t.Errorf("with no mutant switched on the same binary fails: %v", c)
	}
}

// caught is what failed with a mutant switched on: rules of the simulation, and
// scripts and cases.
type caught struct {
	failed       bool
	rules, tests []string
	output       string
}

func (c *caught) String() string {
	switch {
	case !c.failed:
		return "nothing"
	case len(c.rules)+len(c.tests) == 0:
		return "something without a name:\n" + c.output[max(0, len(c.output)-2000):]
	}
	all := slices.Concat(c.rules, c.tests)
	if n := len(all); n > 4 {
		all = append(all[:3:3], fmt.Sprintf("%d more", n-3))
	}
	return strings.Join(all, "; ")
}

var (
	brokenRule = regexp.MustCompile(`(?m)^.* seed \d+ breaks "(.+)"$`)
	failedTest = regexp.MustCompile(`(?m)^ *--- FAIL: (Test(?:Scripts|SimulationCases)/\S+)`)
)

// mutantRule is the invariant that is to catch the mutant that is switched on. The seeds
// are played until one breaks it; each stops at the first that it breaks.
func mutantRule() string {
	if *mutantOn < len(mutants) {
		return mutants[*mutantOn].by
	}
	return ""
}

// tryMutant runs scripts, cases and simulation with a mutant switched on.
func tryMutant(t *testing.T, binary string, i int) *caught {
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^(TestScripts|TestSimulation|TestSimulationCases)$", "-test.timeout=2m",
		"-sim.seeds=48", "-sim.hours=4", fmt.Sprintf("-mutant.on=%d", i))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // the seeds in their order: it is always the same ones that fail
	out, err := cmd.CombinedOutput()
	if *mutantNamed != "" && i < len(mutants) {
		t.Logf("%s", out)
	}
	c := &caught{failed: err != nil, output: string(out)}
	for _, found := range brokenRule.FindAllStringSubmatch(c.output, -1) {
		if !slices.Contains(c.rules, found[1]) {
			c.rules = append(c.rules, found[1])
		}
	}
	for _, found := range failedTest.FindAllStringSubmatch(c.output, -1) {
		c.tests = append(c.tests, found[1])
	}
	return c
}

// buildMutants builds a test binary of this package in which every mutant is a
// switch.
func buildMutants(t *testing.T) string {
	dir := t.TempDir()
	replaced := map[string]string{}
	for _, file := range mutatedFiles() {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := withSwitches(string(source), file)
		if err != nil {
			t.Fatal(err)
		}
		absolute, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		replaced[absolute] = filepath.Join(dir, file)
		if err := os.WriteFile(replaced[absolute], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	config, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mutants.test")
	if err := os.WriteFile(config, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay="+config, "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("a mutant does not compile: %v\n%s", err, out)
	}
	return binary
}

func mutatedFiles() []string {
	var files []string
	for _, m := range mutants {
		files = append(files, m.file)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// edit replaces a part of a file.
type edit struct {
	from, to int
	text     string
}

// withSwitches returns a file's source with its mutants as switches. Mutants of
// the same place are put inside each other.
func withSwitches(source, file string) (string, error) {
	var edits []edit
	for i, m := range mutants {
		if m.file != file {
			continue
		}
		before, rest, ok1 := strings.Cut(m.place, "⟦")
		old, after, ok2 := strings.Cut(rest, "⟧")
		at := strings.Index(source, before+old+after)
		if n := strings.Count(source, before+old+after); !ok1 || !ok2 || n != 1 {
			return "", fmt.Errorf("mutant %s: its place occurs %d times in %s; it must occur once, with ⟦ and ⟧ in it", m.name, n, file)
		}
		from := at + len(before)
		e := edit{from, from + len(old), m.with(i, old)}
		if k := slices.IndexFunc(edits, func(o edit) bool { return o.from == e.from && o.to == e.to }); k >= 0 {
			edits[k].text = m.with(i, edits[k].text)
			continue
		}
		edits = append(edits, e)
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.from, a.from) })
	for i, e := range edits {
		if i > 0 && e.to > edits[i-1].from {
			return "", fmt.Errorf("two mutants overlap in %s: %q", file, source[e.from:e.to])
		}
		source = source[:e.from] + e.text + source[e.to:]
	}
	return source, nil
}

// with writes the switch between the mutant and what stands there.
func (m *mutant) with(i int, old string) string {
	if m.typ == "" {
		return fmt.Sprintf("if *mutantOn == %d {\n%s\n} else {\n%s\n}", i, m.new, old)
	}
	return fmt.Sprintf("func() %s { if *mutantOn == %d { return %s }; return %s }()", m.typ, i, m.new, old)
}
