package cron

import (
	"fmt"
	"math/bits"
	"sync"
	"time"
)

// A Schedule is a parsed expression in a time zone. It never changes and is safe for concurrent use; it must not be copied.
// [Parse] makes it. The zero value never fires.
type Schedule struct {
	seconds, minutes uint64 // bits 0 to 59
	hours            uint32 // bits 0 to 23
	months           uint16 // bits 1 to 12
	fixed            bool
	days             *dayTable

	firstTime, lastTime int // seconds of the day of its first and last firing
	minGap              time.Duration

	loc  *time.Location
	zone *zone
	expr string // in normal form

	print   sync.Once
	printed string
}

// Parse reads an expression, which means times in a location. The package documentation has the syntax.
//
// Every error is a [*ParseError]. An expression that can never fire is refused with one that wraps [ErrNever]: there is no such
// date, or, for a job that follows real time, the location's clock changes swallow each of its firings in the 40 years from 2025 on.
//
// time.Local is taken, but means what each machine is set to: instances that must agree should name their zone.
func Parse(expr string, loc *time.Location) (*Schedule, error) {
	p := parser{expr: expr}
	if loc == nil {
		return nil, p.fail(0, "the location is nil", "pass time.UTC or what time.LoadLocation gave")
	}
	fields, err := p.parse()
	if err != nil {
		return nil, err
	}
	s := &Schedule{loc: loc, zone: zoneOf(loc), expr: normalForm(&fields, expr)}
	s.compile(&fields)
	if !s.days.fires(s.months) {
		return nil, p.never("none of its months has such a day", "correct the day-of-month or the month field")
	}
	if !s.fixed {
		if _, ok := s.next(printFrom); !ok {
			return nil, p.never(fmt.Sprintf("in %s the clock is put forward over each of its times", loc),
				"choose another hour, or name hours and minutes without * and /: such a job makes up for skipped times")
		}
	}
	s.minGap = s.nominalGap()
	return s, nil
}

// MustParse is [Parse] for expressions in the source of a program: it panics if there is an error.
func MustParse(expr string, loc *time.Location) *Schedule {
	s, err := Parse(expr, loc)
	if err != nil {
		panic(err)
	}
	return s
}

// String gives the expression in a normal form and the name of the location, such as "30 2 * * 1-5 Europe/Athens". It is the same
// on each instance, and the expression in it parses to an equal schedule. Numbers stand for names, lists are sorted, macros
// and ? are spelled out, and a seconds field that says 0 is left out.
func (s *Schedule) String() string {
	if s.loc == nil {
		return "never"
	}
	return s.expr + " " + s.loc.String()
}

// compile turns the items into bit sets.
func (s *Schedule) compile(fields *fieldItems) {
	s.fixed = true
	for _, items := range fields[:fieldHour+1] {
		for _, it := range items {
			s.fixed = s.fixed && it.kind != kindAny && it.step == 0
		}
	}
	s.seconds = setOf(fieldSecond, fields[fieldSecond])
	s.minutes = setOf(fieldMinute, fields[fieldMinute])
	s.hours = uint32(setOf(fieldHour, fields[fieldHour]))
	s.months = uint16(setOf(fieldMonth, fields[fieldMonth]))
	s.firstTime = bits.TrailingZeros32(s.hours)*3600 + bits.TrailingZeros64(s.minutes)*60 + bits.TrailingZeros64(s.seconds)
	s.lastTime = (bits.Len32(s.hours)-1)*3600 + (bits.Len64(s.minutes)-1)*60 + bits.Len64(s.seconds) - 1

	rule := dayRule{
		anyDom: fields[fieldDom][0] == item{kind: kindAny},
		anyDow: fields[fieldDow][0] == item{kind: kindAny},
		dom:    uint32(setOf(fieldDom, fields[fieldDom])),
		dow:    uint32(setOf(fieldDow, fields[fieldDow])),
	}
	for _, items := range fields[fieldDom : fieldDow+1] {
		for _, it := range items {
			rule.add(it)
		}
	}
	s.days = rule.table()
}

// add takes L, W and # into the rule.
func (r *dayRule) add(it item) {
	switch it.kind {
	case kindLast:
		r.last |= 1 << it.lo
	case kindNearest:
		r.near |= 1 << it.lo
	case kindLastBiz:
		r.lastBiz = true
	case kindLastDow:
		r.lastDow |= 1 << it.lo
	case kindNthDow:
		r.nthDow[it.hi-1] |= 1 << it.lo
	}
}

// setOf gives the set of values of a field; L, W and # add none.
func setOf(field int, items []item) uint64 {
	f := &fieldSpecs[field]
	var set uint64
	for _, it := range items {
		if it.kind >= kindSpecials {
			continue
		}
		lo := f.min
		if it.kind == kindRange {
			lo = int(it.lo)
		}
		for n, step := it.size(f), max(int(it.step), 1); n > 0; n -= step {
			set |= 1 << lo
			if lo += step; lo > f.max {
				lo -= f.count()
			}
		}
	}
	return set
}
