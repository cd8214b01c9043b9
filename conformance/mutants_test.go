package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/mutants"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/conformance/verdict"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// The kit's tests run checks in bubbles of virtual time: a lease ends as soon as
// everybody waits for it.

// age is longer than any memory of the models here.
const age = 10 * time.Minute

// bounded is a claim-only store with a short memory.
var bounded = model.ClaimOnly{Memory: store.Memory{Window: 5 * time.Minute, Runs: 40}}

// judge runs one check against one subject, in a bubble.
func judge(t *testing.T, seed uint64, c kit.Check, open func() kit.Subject) (res kit.Result) {
	synctest.Test(t, func(t *testing.T) {
		suite := &kit.Suite{Subject: open(), Seed: seed, Age: age, CallLimit: time.Hour}
		c.Limit = 24 * time.Hour // of virtual time
		if _, err := suite.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		res = suite.Run(t.Context(), c)
		if err := suite.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour) // calls that were left behind end, or the bubble says that they don't
	})
	return res
}

func TestMutantsAreCaught(t *testing.T) {
	kitTest(t)
	t.Parallel()
	for _, m := range mutants.List() {
		t.Run(fmt.Sprintf("%v/%s", m.Kind, m.Name), func(t *testing.T) {
			t.Parallel()
			c, ok := checks.Get(m.Check)
			if !ok || !c.For(m.Kind) {
				t.Fatalf("%s is no check of %v backends", m.Check, m.Kind)
			}
			if _, ok := promise.Get(m.Breaks); !ok {
				t.Errorf("breaks %q, which is no promise", m.Breaks)
			}
			for seed := range uint64(3) {
				res := judge(t, seed, c, func() kit.Subject { return m.Open(mutants.Setting{ClaimOnly: bounded}) })
				if res.Outcome != kit.Fail {
					t.Fatalf("seed %d: %s (%s) must be caught by %s, and that is %v\n%s", seed, m.Name, m.Says, m.Check, res.Outcome, res.Text())
				}
				if seed == 0 {
					t.Log(res.Text())
				}
			}
		})
	}
}

// Every fault of the model is caught by the check named for it, or it is known
// not to be, and then no check catches it.
func TestUncoveredFaults(t *testing.T) {
	kitTest(t)
	t.Parallel()
	for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
		listed := map[string]bool{}
		for _, m := range mutants.List() {
			if m.Kind == kind {
				listed[m.Name] = true
			}
		}
		for _, f := range model.Faults(kind) {
			_, uncovered := mutants.Uncovered(kind)[f]
			if uncovered == listed[f.String()] {
				t.Errorf("%v store, fault %v: listed %v, uncovered %v; it must be one of both", kind, f, listed[f.String()], uncovered)
			}
			if !uncovered {
				continue
			}
			for _, c := range checks.For(kind) {
				res := judge(t, 1, c, func() kit.Subject { return mutants.Model(kind, f, mutants.Setting{ClaimOnly: bounded}) })
				if res.Outcome == kit.Fail {
					t.Errorf("%v store, fault %v is said to be uncovered, and %s catches it", kind, f, c.ID)
				}
			}
		}
	}
}

// A check that no mutant is named for proves nothing yet.
func TestEveryCheckHasAMutant(t *testing.T) {
	kitTest(t)
	for _, c := range checks.All() {
		if !slices.ContainsFunc(mutants.List(), func(m mutants.Mutant) bool { return m.Check == c.ID }) {
			t.Errorf("%s: no mutant is named for it", c.ID)
		}
	}
}

// lags are ways for calls to take time: not at all, as over a network, as on a
// machine that is overloaded, and with rare long stalls.
var lags = map[string]func() time.Duration{
	"none":    nil,
	"network": func() time.Duration { return rand.N(3 * time.Millisecond) },
	"slow":    func() time.Duration { return rand.N(400 * time.Millisecond) },
	"stalls": func() time.Duration {
		if rand.N(50) == 0 {
			return rand.N(3 * time.Second)
		}
		return rand.N(2 * time.Millisecond)
	},
}

// The right stores pass everything, however slow the machine.
func TestTruthPasses(t *testing.T) {
	kitTest(t)
	t.Parallel()
	truths := []struct {
		name string
		kind store.Kind
		model.ClaimOnly
	}{
		{"lease", store.KindLease, model.ClaimOnly{}},
		{"claim-only", store.KindClaimOnly, model.ClaimOnly{}},
		{"claim-only, bounded", store.KindClaimOnly, bounded},
		{"claim-only, no clock", store.KindClaimOnly, model.ClaimOnly{NoClock: true}},
		{"claim-only, no fence", store.KindClaimOnly, model.ClaimOnly{NoFence: true, NoClock: true, Memory: store.Memory{Window: 5 * time.Minute}}},
	}
	for _, truth := range truths {
		expected, err := verdict.For(truth.kind)
		if err != nil {
			t.Fatal(err)
		}
		for lag, f := range lags {
			t.Run(truth.name+"/"+lag, func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(4) {
					var results []kit.Result
					for _, c := range checks.For(truth.kind) {
						setting := mutants.Setting{Lag: f, ClaimOnly: truth.ClaimOnly}
						if c.Needs&kit.NeedSkew != 0 {
							setting.Skew = mutants.TestSkew
						}
						res := judge(t, seed, c, func() kit.Subject {
							return mutants.Model(truth.kind, model.NoFault, setting)
						})
						if res.Outcome != kit.Pass {
							t.Errorf("seed %d: a right store is judged wrongly\n%s", seed, res.Text())
						}
						results = append(results, res)
					}
					if v := verdict.Judge(expected, results); !v.OK || !v.Complete || v.Passed != v.Expected {
						t.Errorf("seed %d: verdict %v", seed, v)
					}
				}
			})
		}
	}
}

// oneNamespace is a subject without the option.
type oneNamespace struct{ *subject.Memory }

func (s oneNamespace) Open(ctx context.Context, namespace string) (kit.Process, error) {
	if namespace != "" {
		return nil, kit.ErrNoNamespace
	}
	return s.Memory.Open(ctx, "")
}

// A plugin without namespaces fails for that, and for that only.
func TestWithoutNamespaces(t *testing.T) {
	kitTest(t)
	for _, c := range checks.For(store.KindLease) {
		res := judge(t, 1, c, func() kit.Subject {
			return oneNamespace{mutants.Model(store.KindLease, model.NoFault, mutants.Setting{}).(*subject.Memory)}
		})
		want := kit.Pass
		switch {
		case slices.Contains(c.Promises, "R-NAME-2"):
			want = kit.Fail
		case c.Needs&kit.NeedSkew != 0:
			want = kit.Skip
		}
		if res.Outcome != want {
			t.Errorf("want %v\n%s", want, res.Text())
		}
	}
}
