package conformance

import (
	"flag"
	"fmt"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/mutants"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

var seriesSeeds = flag.Int("seeds", 20, "how many seeds right stores must pass in the checks that draw what they do; before a release 50")

// The checks that draw what they do pass right stores with many seeds, whatever the
// machine is like: a false alarm is the likeliest fault of such a check.
func TestSeriesPassTheTruth(t *testing.T) {
	kitTest(t)
	t.Parallel()
	claimOnly := []model.ClaimOnly{bounded, {NoClock: true}, {NoFence: true, NoClock: true}}
	names := []string{"none", "network", "slow", "stalls"}
	for _, id := range []string{"linear/shared", "linear/cut-off", "explore/rules", "explore/names"} {
		c, ok := checks.Get(id)
		if !ok {
			t.Fatalf("no check %s", id)
		}
		for seed := range uint64(*seriesSeeds) {
			for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
				t.Run(fmt.Sprintf("%s/%v/seed %d", id, kind, seed), func(t *testing.T) {
					t.Parallel()
					i := int(seed)
					setting := mutants.Setting{Lag: lags[names[i%len(names)]], ClaimOnly: claimOnly[i%len(claimOnly)]}
					res := judge(t, seed, c, func() kit.Subject { return mutants.Model(kind, model.NoFault, setting) })
					if res.Outcome != kit.Pass {
						t.Errorf("a right store is judged wrongly\n%s", res.Text())
					}
				})
			}
		}
	}
}
