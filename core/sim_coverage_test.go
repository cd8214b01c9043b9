package core

import (
	"fmt"
	"reflect"
	"strings"
)

// simCoverage counts what happened: a simulation in which nothing goes wrong
// proves nothing.
type simCoverage struct {
	Events, Steps, Calls int // how much was simulated

	// Accidents.
	RequestsLost, AnswersLost, AppliedAfterDeadline, Copies, StoreJumps int

	// What the store decided.
	Grants, GrantedUnasked, SettledByID, Takeovers, HandOvers, CatchUps int
	Overlaps, Exhausted, Early                                          int

	// What the instances said.
	Started, Succeeded, Failed, Interrupted, HandedOver, Unproven                       int
	LostByHeartbeat, LostByFinish, Unconfirmed, UnconfirmedCancelled, ConfirmedAgain    int
	Unrecorded, Stuck, Backups, ClockJumps, ClockSkews, Paused, StoreErrors, StoreBacks int
	SkippedLate, SkippedEarly, SkippedOverlap, SkippedSuperseded, SkippedExhausted      int
	SkippedCapacity, SkippedUnreachable, SkippedUnknown, SkippedStopped                 int
	StartsConfirmedFirst, GrantsGivenBack, Timeouts, Panics                             int
}

func (c *simCoverage) add(o *simCoverage) {
	to, from := reflect.ValueOf(c).Elem(), reflect.ValueOf(o).Elem()
	for i := range to.NumField() {
		to.Field(i).SetInt(to.Field(i).Int() + from.Field(i).Int())
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
