package cron

import (
	"fmt"
	"strings"
)

// maxLength bounds an expression, so that text from a user can't cost much.
const maxLength = 1024

// fieldItems holds the list of each field.
type fieldItems [fieldCount][]item

// secondZero is the seconds field of an expression that has none.
var secondZero = []item{{kind: kindRange}}

// A parser reads one expression; its errors quote it.
type parser struct{ expr string }

func (p *parser) fail(at int, msg, hint string) error {
	return &ParseError{Expr: p.expr[:min(len(p.expr), maxLength)], Column: at + 1, Msg: msg, Hint: hint}
}

func (p *parser) never(why, hint string) error {
	return &ParseError{Expr: p.expr, Column: 1, Msg: ErrNever.Error() + ", " + why, Hint: hint, err: ErrNever}
}

var macros = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

const macroNames = "@yearly, @annually, @monthly, @weekly, @daily, @midnight or @hourly"

func (p *parser) parse() (fieldItems, error) {
	var fields fieldItems
	if len(p.expr) > maxLength {
		return fields, p.fail(maxLength, fmt.Sprintf("the expression has %d characters", len(p.expr)), fmt.Sprintf("at most %d are read", maxLength))
	}
	for i := range len(p.expr) {
		if c := p.expr[i]; c > '~' || c < ' ' && !isSpace(c) {
			return fields, p.fail(i, "a character that no expression has", "remove it; an expression is plain ASCII")
		}
	}
	text, at := p.expr, 0
	for at < len(text) && isSpace(text[at]) {
		at++
	}
	switch {
	case at == len(text):
		return fields, p.fail(at, "the expression is empty", "write five fields: minute, hour, day of month, month, day of week")
	case text[at] == '@':
		full, err := p.parseMacro(at)
		if err != nil {
			return fields, err
		}
		return (&parser{expr: full}).parse()
	}
	if head, _, ok := strings.Cut(text[at:], "="); ok && (strings.EqualFold(head, "TZ") || strings.EqualFold(head, "CRON_TZ")) {
		return fields, p.fail(at, head+"= is not part of an expression", "give the time zone as the location argument")
	}
	return p.parseFields(at)
}

func (p *parser) parseMacro(at int) (string, error) {
	name := strings.ToLower(strings.TrimRight(p.expr[at:], " \t\n\r\v\f"))
	if full, ok := macros[name]; ok {
		return full, nil
	}
	switch {
	case strings.HasPrefix(name, "@every"):
		return "", p.fail(at, "@every is an interval, not a calendar", "use core.Every, which is aligned so that all instances agree")
	case name == "@reboot":
		return "", p.fail(at, "@reboot has no planned time", "call the function when the program starts")
	}
	return "", p.fail(at, fmt.Sprintf("%q is not known", short(name)), "use "+macroNames)
}

func (p *parser) parseFields(at int) (fields fieldItems, err error) {
	type token struct{ from, to int }
	var tokens [fieldCount + 1]token
	n := 0
	for i := at; i < len(p.expr) && n < len(tokens); {
		from := i
		for i < len(p.expr) && !isSpace(p.expr[i]) {
			i++
		}
		tokens[n] = token{from, i}
		n++
		for i < len(p.expr) && isSpace(p.expr[i]) {
			i++
		}
	}
	switch {
	case n > fieldCount:
		return fields, p.fail(tokens[fieldCount].from, "more than six fields", "write five, or six with the seconds first; there is no field for the year")
	case n < fieldCount-1:
		return fields, p.fail(len(p.expr), fmt.Sprintf("only %d of five fields", n), "write minute, hour, day of month, month, day of week; with six fields the seconds come first")
	}
	items := make([]item, 0, 16)
	for i := range n {
		f := fieldCount - n + i // with five fields the first is the minute
		t := tokens[i]
		start := len(items)
		if items, err = p.parseList(&fieldSpecs[f], p.expr[t.from:t.to], t.from, items); err != nil {
			return fields, err
		}
		fields[f] = items[start:len(items):len(items)]
	}
	if n < fieldCount {
		fields[fieldSecond] = secondZero
	}
	return fields, nil
}

// parseList appends the items of one field.
func (p *parser) parseList(f *fieldSpec, text string, at int, items []item) ([]item, error) {
	start := len(items)
	for rest, more := text, true; more; {
		var elem string
		elem, rest, more = strings.Cut(rest, ",")
		if elem == "" {
			return nil, p.fail(at, fmt.Sprintf("the list of the %s field has an empty place", f.name), "write one value between two commas")
		}
		it, err := p.parseItem(f, elem, at)
		if err != nil {
			return nil, err
		}
		if it.kind == kindAny && it.step == 0 && len(elem) != len(text) {
			return nil, p.fail(at, fmt.Sprintf("%s stands in a list and makes the rest of it pointless", elem), "write it alone, or leave it out")
		}
		items = append(items, it)
		at += len(elem) + 1
	}
	return sortItems(items, start), nil
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
