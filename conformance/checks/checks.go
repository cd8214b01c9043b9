// Package checks holds the conformance checks, one file per family. The rules
// that they judge by are the promises of package promise; how to write one is in
// package kit.
package checks

import (
	"slices"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// All returns every check, family by family.
func All() []kit.Check {
	return slices.Concat(
		describe(), claim(), taken(), retry(), fence(), lease(), overlap(), late(), finish(),
		attempts(), memory(), history(), recall(), names(), invalid(), unknown(), batch(), kill(),
		linear(), explore(),
		process(), link(), clock(), format(), server(), scarce(),
	)
}

// For returns the checks that judge backends of a kind.
func For(kind store.Kind) []kit.Check {
	return slices.DeleteFunc(All(), func(c kit.Check) bool { return !c.For(kind) })
}

// Get returns the check with that id.
func Get(id string) (kit.Check, bool) {
	all := All()
	i := slices.IndexFunc(all, func(c kit.Check) bool { return c.ID == id })
	if i < 0 {
		return kit.Check{}, false
	}
	return all[i], true
}

// processes is how many plugin processes contend for a run.
const processes = 6
