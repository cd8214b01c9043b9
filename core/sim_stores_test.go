package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// unseenFaults are the faults of a store that a simulation of instances cannot
// show, and why. They are the conformance suite's.
var unseenFaults = map[model.Fault]string{
	model.FaultClaimNotAtomic:    "the simulation makes one call at a time",
	model.FaultOverlapNotAtomic:  "the simulation makes one call at a time",
	model.FaultIDAnyInstance:     "core never uses a claim id twice",
	model.FaultIDAnySlot:         "core never uses a claim id twice",
	model.FaultIDAnyJob:          "core never uses a claim id twice",
	model.FaultTokenCounter:      "no store is restored from a backup here",
	model.FaultTokenHigher:       "core sends no token that it was not granted",
	model.FaultTokenAnySlot:      "core sends no token that it was not granted",
	model.FaultHeartbeatShortens: "a runner's lease has one length",
	model.FaultFinishTwice:       "core never finishes an attempt as something else",
	model.FaultErrorUncut:        "errors are short here",
	model.FaultErrorBytes:        "errors are short here",
	model.FaultHistorySizeFirst:  "history sizes don't change here",
	model.FaultHistoryPageGap:    "core reads one page",
	model.FaultHistoryPageAny:    "core reads one page",
	model.FaultRecallNamedOnly:   "core recalls without names from 1000 jobs on",
	model.FaultRecallNamespaces:  "there is one namespace here",
	model.FaultNamespaceIgnored:  "there is one namespace here",
	model.FaultNamesFolded:       "names are plain here",
	model.FaultNamesCut:          "names are plain here",
	model.FaultNamesTrimmed:      "names are plain here",
	model.FaultNamesCString:      "names are plain here",
	model.FaultSlot32Bits:        "it is 2026 here",
	model.FaultInvalidAccepted:   "core sends nothing invalid",
}

// TestSimulationStoreFaults simulates with each fault of the model switched on:
// the simulation must see that the store is wrong. So a story for each rule of
// the protocol is among its cases.
func TestSimulationStoreFaults(t *testing.T) {
	if testing.Short() || RaceDetector {
		t.Skip("simulates days for each fault")
	}
	var faults []model.Fault
	for _, f := range model.Faults(store.KindLease) {
		if unseenFaults[f] == "" {
			faults = append(faults, f)
		}
	}
	caught := make([]string, len(faults))
	forEachSeed(len(faults), func(i uint64) bool {
		caught[i] = catches(faults[i])
		return true
	})
	var table strings.Builder
	for i, f := range faults {
		if caught[i] == "" {
			t.Errorf("fault %v is not seen: %s", f, f.Doc())
		}
		fmt.Fprintf(&table, "%-28v %s\n", f, caught[i])
	}
	for _, f := range slices.Sorted(maps.Keys(unseenFaults)) {
		fmt.Fprintf(&table, "%-28v not seen: %s\n", f, unseenFaults[f])
	}
	t.Logf("\n%s", &table)
}

// catches returns the invariant that a store with the fault breaks first, with
// the seed. Hard seeds come first.
func catches(f model.Fault) string {
	const hard, others = 15, 30
	for k := range uint64(hard + others) {
		seed := 8*k + 7
		if k >= hard {
			seed = k - hard
		}
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
