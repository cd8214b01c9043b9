package wire

import (
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// The enumerations have the same numbers in Go and in the proto (a test holds
// them together), so that converting is a range check.

// outOf decodes an enum value of a plugin's answer.
func outOf[T ~uint8, P ~int32](what string, p P, last T) (T, error) {
	if p < 1 || int64(p) > int64(last) {
		return 0, fmt.Errorf("%s %d, which this host does not know", what, p)
	}
	return T(p), nil
}

// unsetOr is outOf for fields that may be unset.
func unsetOr[T ~uint8, P ~int32](what string, p P, last T) (T, error) {
	if p == 0 {
		return 0, nil
	}
	return outOf(what, p, last)
}

// asked decodes an enum value of a request: what is unknown becomes a value that
// Validate refuses and names.
func asked[T ~uint8, P ~int32](p P) T {
	if p < 0 || p > 255 {
		return T(255)
	}
	return T(p)
}

const (
	lastKind    = store.KindClaimOnly
	lastClock   = store.ClockNone
	lastReason  = store.ReasonTakeover
	lastStatus  = store.StatusInterrupted
	lastVerdict = store.VerdictEarly
)
