package core

import (
	"fmt"
	"reflect"
	"strings"
)

// simCoverage counts what happened: a simulation in which nothing goes wrong
// proves nothing.
type simCoverage struct {
	events, steps, calls int // how much was simulated

	// Accidents.
	requestsLost, answersLost, appliedAfterDeadline, copies, storeJumps int

	// What the store decided.
	grants, grantedUnasked, settledById, takeovers, handOvers, catchUps int
	overlaps, exhausted, early                                          int

	// What the instances said.
	started, succeeded, failed, interrupted, handedOver, unproven                       int
	lostByHeartbeat, lostByFinish, unconfirmed, unconfirmedCancelled, confirmedAgain    int
	unrecorded, stuck, backups, clockJumps, clockSkews, paused, storeErrors, storeBacks int
	skippedLate, skippedEarly, skippedOverlap, skippedSuperseded, skippedExhausted      int
	skippedCapacity, skippedUnreachable, skippedUnknown, skippedStopped                 int
	startsConfirmedFirst, grantsGivenBack, timeouts, panics                             int
}

func (c *simCoverage) add(o *simCoverage) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for i := range to.NumField() {
		f := to.Field(i)
		reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().SetInt(f.Int() + from.Field(i).Int())
	}
}

// missing names what never happened.
func (c *simCoverage) missing() []string {
	var names []string
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if v.Field(i).Int() == 0 {
			names = append(names, v.Type().Field(i).Name)
		}
	}
	return names
}

func (c *simCoverage) String() string {
	var b strings.Builder
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		fmt.Fprintf(&b, "%12d %s\n", v.Field(i).Int(), v.Type().Field(i).Name)
	}
	return b.String()
}
