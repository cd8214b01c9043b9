package cron_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oracle answers by brute force and shares no code with the package: it reads the expression by asking of each value of each
// field whether the text allows it, takes dates from package time, and walks real time tick by tick as a cron daemon does.

// An oracleExpr is an expression as the oracle understands it.
type oracleExpr struct {
	text      string
	bySeconds bool
	fixed     bool
	sec       [60]bool
	min       [60]bool
	hour      [24]bool
	fields    []string // six
	dayMemo   map[int32]bool
}

func newOracle(text string) *oracleExpr {
	fields := strings.Fields(text)
	o := &oracleExpr{text: text, bySeconds: len(fields) == 6, dayMemo: map[int32]bool{}}
	if len(fields) == 5 {
		fields = append([]string{"0"}, fields...)
	}
	o.fields = fields
	o.fixed = !strings.ContainsAny(strings.Join(fields[:3], " "), "*/")
	for v := range 60 {
		o.sec[v] = allows(fields[0], v, 0, 59, nil)
		o.min[v] = allows(fields[1], v, 0, 59, nil)
	}
	for v := range 24 {
		o.hour[v] = allows(fields[2], v, 0, 23, nil)
	}
	return o
}

var (
	monthNames = strings.Fields("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC")
	dayNames   = strings.Fields("SUN MON TUE WED THU FRI SAT")
)

// allows says whether a plain list (values, ranges, steps) allows a value. The first name stands for lowest.
func allows(list string, value, lowest, highest int, names []string) bool {
	number := func(s string) int {
		if i := slices.Index(names, strings.ToUpper(s)); i >= 0 {
			return i + lowest
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(fmt.Sprintf("oracle: %q in %q", s, list))
		}
		return n
	}
	for _, elem := range strings.Split(list, ",") {
		if isSpecial(strings.ToUpper(elem)) {
			continue // looked at in allowsDayOfMonth
		}
		base, stepText, _ := strings.Cut(elem, "/")
		step := 1
		if stepText != "" {
			step = number(stepText)
		}
		first, last := lowest, highest
		if base != "*" && base != "?" {
			from, to, isRange := strings.Cut(base, "-")
			first = number(from)
			last = first
			if isRange {
				last = number(to)
			}
		}
		for v, n := first, 0; ; n++ {
			if n%step == 0 && (v == value || names != nil && lowest == 0 && v == value+7) {
				return true
			}
			if v == last {
				break
			}
			if v++; v > highest && v != last {
				v = lowest
			}
		}
	}
	return false
}

// isSpecial says whether an element is one of those with L, W or #. JUL is the one name that ends like them.
func isSpecial(elem string) bool {
	return elem[0] == 'L' || strings.HasSuffix(elem, "W") || strings.Contains(elem, "#") ||
		strings.HasSuffix(elem, "L") && !strings.HasSuffix(elem, "JUL")
}

// allowsDay says whether the two day fields and the month allow a day (counted from 1970-01-01).
func (o *oracleExpr) allowsDay(day int32) bool {
	if ok, known := o.dayMemo[day]; known {
		return ok
	}
	date := time.Unix(int64(day)*24*60*60, 0).UTC()
	ok := allows(o.fields[4], int(date.Month()), 1, 12, monthNames) && o.allowsDayOfMonth(date)
	o.dayMemo[day] = ok
	return ok
}

func (o *oracleExpr) allowsDayOfMonth(date time.Time) bool {
	dom, dow := o.fields[3], o.fields[5]
	anyDom, anyDow := dom == "*" || dom == "?", dow == "*" || dow == "?"
	byDom := allows(dom, date.Day(), 1, 31, nil)
	for _, elem := range strings.Split(strings.ToUpper(dom), ",") {
		byDom = byDom || specialDom(elem, date)
	}
	byDow := allows(dow, int(date.Weekday()), 0, 6, dayNames)
	for _, elem := range strings.Split(strings.ToUpper(dow), ",") {
		byDow = byDow || specialDow(elem, date)
	}
	switch {
	case anyDom && anyDow:
		return true
	case anyDom:
		return byDow
	case anyDow:
		return byDom
	}
	return byDom || byDow
}

func specialDom(elem string, date time.Time) bool {
	last := time.Date(date.Year(), date.Month()+1, 0, 0, 0, 0, 0, time.UTC)
	switch {
	case elem == "L":
		return date.Equal(last)
	case elem == "LW":
		return date.Equal(nearestByTrial(last))
	case strings.HasPrefix(elem, "L-"):
		n, _ := strconv.Atoi(elem[2:])
		return date.Equal(last.AddDate(0, 0, -n))
	case strings.HasSuffix(elem, "W"):
		n, _ := strconv.Atoi(elem[:len(elem)-1])
		want := time.Date(date.Year(), date.Month(), n, 0, 0, 0, 0, time.UTC)
		return want.Month() == date.Month() && date.Equal(nearestByTrial(want))
	}
	return false
}

// nearestByTrial tries days at a growing distance until one is a workday of the same month.
func nearestByTrial(date time.Time) time.Time {
	for _, d := range []int{0, -1, 1, -2, 2} {
		t := date.AddDate(0, 0, d)
		if t.Month() == date.Month() && t.Weekday() != time.Saturday && t.Weekday() != time.Sunday {
			return t
		}
	}
	panic("unreachable")
}

func specialDow(elem string, date time.Time) bool {
	weekday := func(s string) time.Weekday {
		if i := slices.Index(dayNames, s); i >= 0 {
			return time.Weekday(i)
		}
		n, _ := strconv.Atoi(s)
		return time.Weekday(n % 7)
	}
	if day, nth, ok := strings.Cut(elem, "#"); ok {
		n, _ := strconv.Atoi(nth)
		before := date.AddDate(0, 0, -7*(n-1)) // the first one of the month, if this is the n-th
		return date.Weekday() == weekday(day) && before.Month() == date.Month() && before.AddDate(0, 0, -7).Month() != date.Month()
	}
	if day, ok := strings.CutSuffix(elem, "L"); ok {
		return date.Weekday() == weekday(day) && date.AddDate(0, 0, 7).Month() != date.Month()
	}
	return false
}

// A tick is a civil time that a clock on the wall shows or skips, and the instants at which jobs of that time run.
type tick struct {
	hour, min, sec uint8
	day            int32 // counted from 1970-01-01
	interval       int64 // Unix seconds, or none: the time was skipped
	fixed          int64 // Unix seconds, or none: the time had been there before
}

const none = int64(-1) << 62

// walkClock goes through real time in steps and keeps, as cronie does, a civil time that only goes forward: times that the clock
// jumps over run at once, times that it shows again don't run again. Interval jobs see each real tick.
func walkClock(loc *time.Location, from, to time.Time, step time.Duration) []tick {
	ticks := make([]tick, 0, int(to.Sub(from)/step)*6/5)
	add := func(civil, interval, fixed int64) { // civil: what the clock shows, counted from 1970-01-01 00:00; the walks start later
		s := civil % (24 * 60 * 60)
		ticks = append(ticks, tick{uint8(s / 3600), uint8(s / 60 % 60), uint8(s % 60), int32(civil / (24 * 60 * 60)), interval, fixed})
	}
	reached := none // the civil time that fixed jobs have got to
	for t := from; t.Before(to); t = t.Add(step) {
		unix := t.Unix()
		_, offset := t.In(loc).Zone()
		civil := unix + int64(offset)
		if reached == none {
			reached = civil
		}
		for ; reached < civil; reached += int64(step / time.Second) {
			add(reached, none, unix)
		}
		if civil < reached {
			add(civil, unix, none)
			continue
		}
		add(civil, unix, unix)
		reached = civil + int64(step/time.Second)
	}
	return ticks
}

// firings gives the instants in [from, to) at which the expression fires.
func (o *oracleExpr) firings(ticks []tick, from, to int64) []int64 {
	var out []int64
	for _, t := range ticks {
		at := t.interval
		if o.fixed {
			at = t.fixed
		}
		if at < from || at >= to || !o.hour[t.hour] || !o.min[t.min] || !o.sec[t.sec] || !o.allowsDay(t.day) {
			continue
		}
		if len(out) == 0 || out[len(out)-1] != at {
			out = append(out, at)
		}
	}
	return out
}
