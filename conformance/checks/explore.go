package checks

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// explore: scripts and names that nobody thought of, drawn at random and, if one
// fails, made small.
func explore() []kit.Check {
	return []kit.Check{{
		ID:       "explore/rules",
		Promises: []string{"R-CLAIM-2", "R-CLAIM-1", "R-CLAIM-7", "R-CLAIM-10", "R-OVERLAP-1", "R-TOKEN-3", "R-FINISH-1"},
		Says:     "thirty random scripts of claims, repeats, renewals, ends, recalls and pauses, one call after the other: each answer is the one that the rules give",
		Causes:   "a rule that holds alone and not together with another; see the script",
		Limit:    4 * time.Minute,
		Do:       exploreRules,
	}, {
		ID:       "explore/names",
		Promises: []string{"R-NAME-1"},
		Says:     "sixty random sets of job names, each set of names that differ by very little: all names work, and are different jobs",
		Causes:   "names that are joined, escaped, folded, normalised, trimmed or cut on their way into a key",
		Limit:    4 * time.Minute,
		Do:       exploreNames,
	}}
}

// rapidly lets rapid call a property with that many random examples, and shrink one
// for which it fails; it reports whether there was one. The last call that failed
// is then the smallest known. The store is not reset between calls, so one that
// failed proves the fault also if it can't be repeated.
func rapidly(r *kit.Run, examples int, shrink time.Duration, property func(*rapid.T)) (failed bool) {
	ran := 0
	var tb quietTB
	seed := 1 + r.IntN(1<<30)
	r.Parallel(1, func(int) {
		rapidTurn.Lock()
		defer rapidTurn.Unlock()
		defer setRapid(examples, seed, shrink)()
		rapid.Check(&tb, func(t *rapid.T) { property(t); ran++ })
	})
	r.Figure("examples", "%d", ran)
	if !tb.failed && ran < examples {
		r.Inconclusive("rapid tried %d examples of %d: %s", ran, examples, tb.last)
	}
	return tb.failed
}

// rapidTurn is had by the one check that uses rapid: its settings are global.
var rapidTurn sync.Mutex

// setRapid sets rapid up and returns what restores the settings.
func setRapid(examples, seed int, shrink time.Duration) (restore func()) {
	// rapid asks the testing package for -short, also where no test is run.
	testing.Init()
	if !flag.Parsed() {
		flag.CommandLine.Parse(nil)
	}
	if testing.Short() {
		examples *= 5 // it divides
	}
	old := map[string]string{}
	for name, value := range map[string]string{
		"checks": strconv.Itoa(examples), "seed": strconv.Itoa(seed), "shrinktime": shrink.String(), "nofailfile": "true", "failfile": "",
	} {
		f := flag.Lookup("rapid." + name)
		old[f.Name] = f.Value.String()
		f.Value.Set(value)
	}
	return func() {
		for name, value := range old {
			flag.Lookup(name).Value.Set(value)
		}
	}
}

// quietTB is a test for rapid to fail.
type quietTB struct {
	failed bool
	last   string
}

func (t *quietTB) say(s string) { t.last = s }

func (t *quietTB) Helper()                        {}
func (t *quietTB) Name() string                   { return "conformance" }
func (t *quietTB) Logf(format string, a ...any)   { t.say(fmt.Sprintf(format, a...)) }
func (t *quietTB) Log(a ...any)                   { t.say(fmt.Sprint(a...)) }
func (t *quietTB) Skipf(format string, a ...any)  { t.Logf(format, a...); runtime.Goexit() }
func (t *quietTB) Skip(a ...any)                  { t.Log(a...); runtime.Goexit() }
func (t *quietTB) SkipNow()                       { runtime.Goexit() }
func (t *quietTB) Errorf(format string, a ...any) { t.Logf(format, a...); t.Fail() }
func (t *quietTB) Error(a ...any)                 { t.Log(a...); t.Fail() }
func (t *quietTB) Fatalf(format string, a ...any) { t.Logf(format, a...); t.FailNow() }
func (t *quietTB) Fatal(a ...any)                 { t.Log(a...); t.FailNow() }
func (t *quietTB) Fail()                          { t.failed = true }
func (t *quietTB) FailNow()                       { t.Fail(); runtime.Goexit() }
func (t *quietTB) Failed() bool                   { return t.failed }
