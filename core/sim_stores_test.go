package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// unseenFaults are the faults of a store that no instance can notice, or that
// break nothing that instances promise: what core never asks for, or asks for in
// one way only.
var unseenFaults = map[model.Fault]string{}

// TestSimulationStoreFaults simulates with each fault of the model switched on:
// the simulation must see that the store is wrong. So each rule of the protocol
// is among its cases.
func TestSimulationStoreFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates some days for each fault")
	}
	faults := model.Faults(store.KindLease)
	caught := make([]string, len(faults))
	forEachSeed(len(faults), func(i uint64) bool {
		caught[i] = catches(faults[i])
		return true
	})
	var table strings.Builder
	for i, f := range faults {
		why, unseen := unseenFaults[f]
		switch {
		case unseen && caught[i] != "":
			t.Errorf("fault %v is seen after all (%s): take it off the list", f, caught[i])
		case !unseen && caught[i] == "":
			t.Errorf("fault %v is not seen: %s", f, f.Doc())
		case unseen:
			caught[i] = "not seen: " + why
		}
		fmt.Fprintf(&table, "%-28v %s\n", f, caught[i])
	}
	t.Logf("\n%s", &table)
}

// catches returns the invariant that a store with the fault breaks first, with
// the seed.
func catches(f model.Fault) string {
	for seed := uint64(0); seed < 60; seed++ {
		plan := planOf(seed, 6*time.Hour)
		if plan.kind != store.KindLease {
			continue
		}
		plan.fault = f
		if w := simulate(plan); w.broken != nil {
			return fmt.Sprintf("%s (seed %d)", w.broken.rule, seed)
		}
	}
	return ""
}

var _ = slices.Sort[[]int]
