package cron

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNever is wrapped by the [ParseError] of an expression that is well formed but names no time that exists, such as
// "0 0 30 2 *".
var ErrNever = errors.New("the schedule never fires")

// ParseError says what is wrong with an expression, where, and what to write instead. [Parse] returns no other error type.
type ParseError struct {
	Expr   string // the expression as given; its first 1024 bytes if it is longer
	Column int    // where, 1-based; bytes and characters are the same here: the first character that is not ASCII is an error itself
	Msg    string // what is wrong
	Hint   string // what to do about it
	err    error  // a sentinel for errors.Is, or nil
}

// Error gives all fields in one line. Of a long expression it shows the surroundings of the column.
func (e *ParseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cron: %s, column %d: %s", e.excerpt(), e.Column, e.Msg)
	if e.Hint != "" {
		b.WriteString(": ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

// Unwrap gives [ErrNever] for an expression that can never fire, else nil.
func (e *ParseError) Unwrap() error { return e.err }

func (e *ParseError) excerpt() string {
	const around = 40
	from, to := max(e.Column-1-around, 0), min(e.Column-1+around, len(e.Expr))
	if len(e.Expr) <= 2*around {
		from, to = 0, len(e.Expr)
	}
	from = min(from, to)
	text := fmt.Sprintf("%q", e.Expr[from:to])
	if from > 0 {
		text = "…" + text
	}
	if to < len(e.Expr) {
		text += "…"
	}
	return text
}

// short cuts a piece of the expression for a message.
func short(text string) string {
	const longest = 20
	if len(text) <= longest {
		return text
	}
	return text[:longest] + "…"
}
