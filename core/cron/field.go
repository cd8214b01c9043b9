package cron

import (
	"fmt"
	"strings"
)

const (
	fieldSecond = iota
	fieldMinute
	fieldHour
	fieldDom
	fieldMonth
	fieldDow
	fieldCount
)

// A fieldSpec says what one field of an expression may hold.
type fieldSpec struct {
	field    int
	name     string
	min, max int
	values   string // the same for a hint
	names    string // three letters each, the first stands for min; empty if the field takes numbers only
}

var fieldSpecs = [fieldCount]fieldSpec{
	{fieldSecond, "second", 0, 59, "0 to 59", ""},
	{fieldMinute, "minute", 0, 59, "0 to 59", ""},
	{fieldHour, "hour", 0, 23, "0 to 23", ""},
	{fieldDom, "day-of-month", 1, 31, "1 to 31", ""},
	{fieldMonth, "month", 1, 12, "1 to 12 or JAN to DEC", "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
	{fieldDow, "day-of-week", 0, 6, "0 to 7 (0 and 7 are Sunday) or SUN to SAT", "SUNMONTUEWEDTHUFRISAT"},
}

// count gives the number of different values of the field.
func (f *fieldSpec) count() int { return f.max - f.min + 1 }

// isDay says whether the field takes ?, L, W and #.
func (f *fieldSpec) isDay() bool { return f.field == fieldDom || f.field == fieldDow }

type itemKind uint8

const (
	kindAny      itemKind   = iota // * or ?, with a step: */n
	kindRange                      // lo-hi, with a step: lo-hi/n; lo = hi without a step is a single value; hi < lo wraps
	kindLast                       // L, L-lo: a day before the last of the month
	kindNearest                    // loW: the workday nearest to day lo
	kindLastBiz                    // LW: the last workday of the month
	kindLastDow                    // loL: the last weekday lo of the month
	kindNthDow                     // lo#hi: the hi-th weekday lo of the month
	kindSpecials = kindLast        // this and all later kinds are for day fields
)

// An item is one element of a field's list.
type item struct {
	kind   itemKind
	lo, hi uint8
	step   uint8 // 0: none
}

// parseItem reads one element of a list; at is its 0-based place in the expression.
func (p *parser) parseItem(f *fieldSpec, text string, at int) (item, error) {
	base, _, hasStep := strings.Cut(text, "/")
	if base == "*" || base == "?" {
		return p.parseAny(f, text, at, hasStep)
	}
	if it, ok, err := p.parseSpecial(f, text, at); ok || err != nil {
		return it, err
	}
	loText, hiText, isRange := strings.Cut(base, "-")
	lo, err := p.parseValue(f, loText, at)
	if err != nil {
		return item{}, err
	}
	if !isRange {
		if !hasStep {
			return item{kind: kindRange, lo: f.fold(lo), hi: f.fold(lo)}, nil
		}
		step, err := p.parseStep(f, text, at, f.count(), "*")
		if err != nil {
			return item{}, err
		}
		hint := fmt.Sprintf("write %s, or */%d", short(base), step)
		if int(step) <= f.max-int(f.fold(lo)) {
			hint = fmt.Sprintf("write %s-%d/%d to go on to the end of the field, or */%d", short(base), f.max, step, step)
		}
		return item{}, p.fail(at, fmt.Sprintf("%q has a step but no range", short(text)), hint)
	}
	hiAt := at + len(loText) + 1
	if i := strings.IndexByte(hiText, '-'); i >= 0 {
		return item{}, p.fail(hiAt+i, fmt.Sprintf("%q has more than one -", short(base)), "a range is FIRST-LAST; separate several by commas")
	}
	hi, err := p.parseValue(f, hiText, hiAt)
	if err != nil {
		return item{}, err
	}
	it := item{kind: kindRange, lo: f.fold(lo), hi: f.fold(hi)}
	if f.field == fieldDow && lo == 0 && hi == 7 {
		it.hi = 6 // from Sunday to Sunday: all week
	}
	if hasStep {
		it.step, err = p.parseStep(f, text, at, it.size(f), base)
	}
	return it, err
}

// fold turns weekday 7 into 0.
func (f *fieldSpec) fold(value int) uint8 {
	if f.field == fieldDow {
		value %= 7
	}
	return uint8(value)
}

// size gives the number of values that a range covers.
func (it item) size(f *fieldSpec) int {
	if it.kind == kindAny {
		return f.count()
	}
	return (int(it.hi)-int(it.lo)+f.count())%f.count() + 1
}

// parseAny reads *, ? and */n.
func (p *parser) parseAny(f *fieldSpec, text string, at int, hasStep bool) (item, error) {
	it := item{kind: kindAny}
	if text[0] == '?' {
		if !f.isDay() {
			return it, p.fail(at, fmt.Sprintf("? is for the two day fields, not for the %s field", f.name), "write *")
		}
		if hasStep {
			return it, p.fail(at, fmt.Sprintf("%q puts a step on ?", short(text)), "write * instead of ?")
		}
	}
	var err error
	if hasStep {
		it.step, err = p.parseStep(f, text, at, f.count(), "*")
	}
	return it, err
}

// parseStep reads what follows the / of an item. A step that never steps (more than size, the number of values it runs over) is refused.
func (p *parser) parseStep(f *fieldSpec, text string, at, size int, base string) (uint8, error) {
	i := strings.IndexByte(text, '/') + 1
	stepText := text[i:]
	at += i
	step, ok := number(stepText)
	switch {
	case stepText == "":
		return 0, p.fail(at, fmt.Sprintf("%q lacks its step", short(text)), fmt.Sprintf("write %s/2 for every second one", base))
	case !ok:
		return 0, p.fail(at, fmt.Sprintf("%q is not a step", short(stepText)), "a step is a whole number from 1 on")
	case step == 0:
		return 0, p.fail(at, "a step of 0 would stand still", fmt.Sprintf("use 1 to %d", size))
	case step > size:
		hint := fmt.Sprintf("use 1 to %d", size)
		if f.field <= fieldHour {
			hint += "; for an interval that cron can't say, use core.Every"
		}
		return 0, p.fail(at, fmt.Sprintf("a step of %s is more than the %d values of %s in the %s field", short(stepText), size, base, f.name), hint)
	}
	return uint8(step), nil
}

// parseValue reads a number or a name.
func (p *parser) parseValue(f *fieldSpec, text string, at int) (int, error) {
	if text == "" {
		return 0, p.fail(at, fmt.Sprintf("a value is missing in the %s field", f.name), "a range is FIRST-LAST")
	}
	if n, ok := number(text); ok {
		top := f.max
		if f.field == fieldDow {
			top = 7
		}
		if n < f.min || n > top {
			return 0, p.fail(at, fmt.Sprintf("%s is out of the range of the %s field", short(text), f.name), "use "+f.values)
		}
		return n, nil
	}
	if len(text) == 3 && f.names != "" {
		if i := strings.Index(f.names, strings.ToUpper(text)); i >= 0 && i%3 == 0 {
			return f.min + i/3, nil
		}
	}
	return 0, p.fail(at, fmt.Sprintf("%q is not a value of the %s field", short(text), f.name), "use "+f.values)
}

// number reads a whole number without a sign; 99999 stands for everything with more than four digits.
func number(text string) (int, bool) {
	n := 0
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > 9999 {
			n = 99999
		}
	}
	return n, text != ""
}
