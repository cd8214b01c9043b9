package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/mutants"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// Evidence of a memory has an end, and a report says where it is.
func TestMemorySaysHowFarItWasTried(t *testing.T) {
	kitTest(t)
	t.Parallel()
	for id, want := range map[string]kit.Figure{
		"memory/granted-slots": {Name: "slots of one job that are remembered", Value: "30; not tried beyond"},
		"memory/other-job":     {Name: "other jobs' runs", Value: "200; not tried beyond"},
	} {
		all := checks.For(store.KindLease)
		c := all[slices.IndexFunc(all, func(c kit.Check) bool { return c.ID == id })]
		res := judge(t, 1, c, func() kit.Subject {
			return mutants.Model(store.KindLease, model.NoFault, mutants.Setting{})
		})
		if res.Outcome != kit.Pass || !slices.Contains(res.Figures, want) {
			t.Errorf("%s: %v %s, figures %v; want %v", id, res.Outcome, strings.TrimSpace(res.Reason), res.Figures, want)
		}
	}
}
