package cron

import (
	"fmt"
	"strings"
)

// parseSpecial reads what only day fields know. It answers false, without an error, for anything else.
func (p *parser) parseSpecial(f *fieldSpec, text string, at int) (item, bool, error) {
	switch f.field {
	case fieldDom:
		return p.parseSpecialDom(strings.ToUpper(text), at)
	case fieldDow:
		return p.parseSpecialDow(f, strings.ToUpper(text), at)
	}
	return item{}, false, nil
}

// parseSpecialDom reads L, L-n, nW and LW.
func (p *parser) parseSpecialDom(text string, at int) (item, bool, error) {
	fail := func(at int, msg, hint string) (item, bool, error) { return item{}, false, p.fail(at, msg, hint) }
	switch {
	case text == "L":
		return item{kind: kindLast}, true, nil
	case text == "LW":
		return item{kind: kindLastBiz}, true, nil
	case strings.HasPrefix(text, "L-"):
		n, ok := number(text[2:])
		if !ok || n < 1 || n > 30 {
			return fail(at+2, fmt.Sprintf("%q is not a number of days before the last of the month", short(text[2:])),
				"write L for the last day, L-1 to L-30 for an earlier one")
		}
		return item{kind: kindLast, lo: uint8(n)}, true, nil
	case strings.HasSuffix(text, "W"):
		n, ok := number(text[:len(text)-1])
		if !ok || n < 1 || n > 31 {
			return fail(at, fmt.Sprintf("%q has no day of the month before the W", short(text)),
				"write 1W to 31W for the workday nearest to a day, LW for the last workday of the month")
		}
		return item{kind: kindNearest, lo: uint8(n)}, true, nil
	case strings.HasSuffix(text, "L"):
		return fail(at, fmt.Sprintf("%q is not a day of the month", short(text)),
			"write L for the last day, L-3 for the third before it; 5L, the last Friday, goes into the day-of-week field")
	case strings.Contains(text, "#"):
		return fail(at, "# is for the day-of-week field", "5#3 there is the third Friday")
	}
	return item{}, false, nil
}

// parseSpecialDow reads nL and n#k.
func (p *parser) parseSpecialDow(f *fieldSpec, text string, at int) (item, bool, error) {
	fail := func(at int, msg, hint string) (item, bool, error) { return item{}, false, p.fail(at, msg, hint) }
	if day, nth, ok := strings.Cut(text, "#"); ok {
		dow, err := p.parseValue(f, day, at)
		if err != nil {
			return item{}, false, err
		}
		n, ok := number(nth)
		if !ok || n < 1 || n > 5 {
			return fail(at+len(day)+1, fmt.Sprintf("%q is not a week of the month", short(nth)), "use 1 to 5, or 5L for the last Friday")
		}
		return item{kind: kindNthDow, lo: f.fold(dow), hi: uint8(n)}, true, nil
	}
	switch {
	case text == "L":
		return fail(at, "L alone does not name a weekday",
			"write 5L for the last Friday of the month, or L in the day-of-month field for the last day")
	case strings.HasSuffix(text, "L"):
		dow, err := p.parseValue(f, text[:len(text)-1], at)
		if err != nil {
			return item{}, false, err
		}
		return item{kind: kindLastDow, lo: f.fold(dow)}, true, nil
	case strings.HasSuffix(text, "W"):
		return fail(at, "W is for the day-of-month field", "15W there is the workday nearest to the 15th")
	}
	return item{}, false, nil
}
