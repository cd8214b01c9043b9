// Package mutants holds stores that are wrong in one way each, and names for
// each the check that must catch it. They test the checks: one that passes the
// store that breaks its rule proves nothing.
//
// Most are the faults of package model. The others bend what is around the
// rules: what a store declares, what it does when its process dies, what becomes
// of calls that go together.
package mutants

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// Mutant is a store with one fault.
type Mutant struct {
	Name   string
	Says   string     // what goes wrong, in a sentence
	Kind   store.Kind // of the store, or what it says it is
	Breaks string     // the promise
	Check  string     // must catch it
	Open   func(Setting) kit.Subject
}

// Setting is how a store inside this process behaves apart from its rules.
type Setting struct {
	// Lag is how long a call takes on each way, see [subject.Memory].
	Lag func() time.Duration
	// Skew is how far the store's clock is ahead of this machine's.
	Skew time.Duration
	// ClaimOnly bounds a claim-only store; it is not looked at for lease stores.
	ClaimOnly model.ClaimOnly
}

// List returns all mutants.
func List() []Mutant {
	var list []Mutant
	for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
		for _, f := range model.Faults(kind) {
			check, ok := catcher(kind, f)
			if !ok {
				continue // see Uncovered
			}
			list = append(list, Mutant{
				Name: f.String(), Says: f.Doc(), Kind: kind, Breaks: f.Breaks(), Check: check,
				Open: func(s Setting) kit.Subject { return Model(kind, f, s) },
			})
		}
	}
	return slices.Concat(list, bends(), faultBends(), scarceBends())
}

// Model returns the model as a subject, with a fault or [model.NoFault].
func Model(kind store.Kind, f model.Fault, s Setting) kit.Subject {
	all := model.New(options(kind, f, s))
	return &subject.Memory{
		Name:    "model",
		Lag:     s.Lag,
		Process: func(namespace string) store.Store { return all.Namespace(namespace) },
		Fresh:   newFiles(kind, s),
	}
}

func options(kind store.Kind, f model.Fault, s Setting) model.Options {
	o := model.Options{Fault: f, Now: func() time.Time { return time.Now().Add(s.Skew) }}
	if kind == store.KindClaimOnly {
		o.ClaimOnly = &s.ClaimOnly
	}
	return o
}
