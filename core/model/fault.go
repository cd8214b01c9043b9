package model

import (
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Fault is one way for a store to be wrong: it switches one rule off or bends
// it. Faults are for testing tests: a suite that passes a store with a fault
// switched on has a hole. The zero value is no fault.
type Fault uint8

// fault describes one of them. Exactly what it bends differs from the truth.
type fault struct {
	name   string
	doc    string // what goes wrong, in a sentence
	breaks string // the promise of docs/protocol.md that it breaks first
	kinds  kinds  // where it can be seen

	job   func(*steps)      // bends the rules of a lease store's job
	taken func(*takenSteps) // bends the rules of a claim-only store's job
	store func(*storeSteps) // bends what a store does around its jobs
}

type kinds uint8

const (
	lease kinds = 1 << iota
	claimOnly
	both = lease | claimOnly
)

// The rules with each fault; index 0 is the truth. They are filled at start
// because faults refer to the rules, and the rules to these.
var (
	jobSteps   [faultCount]steps
	takenRules [faultCount]takenSteps
	storeRules [faultCount]storeSteps
)

func init() {
	for f := range faultCount {
		jobSteps[f], takenRules[f], storeRules[f] = truth, takenTruth, storeTruth
		if bend := faults[f].job; bend != nil {
			bend(&jobSteps[f])
		}
		if bend := faults[f].taken; bend != nil {
			bend(&takenRules[f])
		}
		if bend := faults[f].store; bend != nil {
			bend(&storeRules[f])
		}
	}
}

func (j *Job) steps() *steps { return &jobSteps[j.fault] }

// Faults returns all faults of stores of this kind.
func Faults(kind store.Kind) []Fault {
	var list []Fault
	for f := Fault(1); f < faultCount; f++ {
		if f.appliesTo(kind) {
			list = append(list, f)
		}
	}
	return list
}

func (f Fault) appliesTo(kind store.Kind) bool {
	switch kind {
	case store.KindLease:
		return faults[f].kinds&lease != 0
	case store.KindClaimOnly:
		return faults[f].kinds&claimOnly != 0
	}
	return false
}

// ParseFault reads what [Fault.String] wrote.
func ParseFault(name string) (Fault, error) {
	i := slices.IndexFunc(faults[:], func(f fault) bool { return f.name == name })
	if i < 0 {
		return 0, fmt.Errorf("model: unknown fault %.60q; see model.Faults", name)
	}
	return Fault(i), nil
}

// String returns the fault's name, in words joined by hyphens.
func (f Fault) String() string {
	if f >= faultCount {
		return fmt.Sprintf("fault(%d)", uint8(f))
	}
	return faults[f].name
}

// Doc says in a sentence what goes wrong.
func (f Fault) Doc() string { f.must(); return faults[f].doc }

// Breaks returns the id of the promise, in docs/protocol.md, that the fault
// breaks; empty for no fault.
func (f Fault) Breaks() string { f.must(); return faults[f].breaks }

// must stops a program that made up a fault: to go on without it would let a
// test of tests pass for nothing.
func (f Fault) must() {
	if f >= faultCount {
		panic(fmt.Sprintf("model: %v is none of the faults that this package declares", f))
	}
}
