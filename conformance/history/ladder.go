package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Ladder draws a history as text: a line per call, in the order of the calls, with a
// column per process. A call's mark stands in its process's column; what it was, and
// what came of it, on the right; a line above says what the marks mean. Times count in
// milliseconds from the first call.
func Ladder(h *History) string {
	ops := slices.Clone(h.Ops)
	slices.SortStableFunc(ops, byCall)
	if len(ops) == 0 {
		return "no calls\n"
	}
	columns := processes(ops)
	begin := ops[0].Call
	var b strings.Builder
	b.WriteString(legend(ops))
	if len(columns) > 1 {
		b.WriteString("; · a call of another process")
	}
	fmt.Fprintf(&b, "\n%10s %10s  ", "called", "returned")
	for _, c := range columns {
		fmt.Fprintf(&b, "%-*s ", width(c), c)
	}
	b.WriteByte('\n')
	for _, o := range ops {
		fmt.Fprintf(&b, "%10.2f %10s  ", millis(o.Call-begin), o.returned(begin))
		for _, c := range columns {
			mark := "·"
			if c == o.Process {
				mark = o.mark()
			}
			b.WriteString(mark + strings.Repeat(" ", width(c)-utf8.RuneCountInString(mark)+1))
		}
		fmt.Fprintf(&b, " %s -> %s\n", o.request(), o.answer())
	}
	return b.String()
}

func (o *Op) returned(begin time.Duration) string {
	if isPending(o) {
		return "-"
	}
	return fmt.Sprintf("%.2f", millis(o.Return-begin))
}

// processes are the callers, in the order of their names' lengths, then names: p2
// comes before p10.
func processes(ops []*Op) []string {
	var names []string
	for _, o := range ops {
		if !slices.Contains(names, o.Process) {
			names = append(names, o.Process)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names
}

func width(column string) int { return max(2, utf8.RuneCountInString(column)) }

// mark is the call in a sign; see [legend].
func (o *Op) mark() string {
	verb := "R"
	switch {
	case o.Claim != nil:
		verb = "C"
	case o.Heartbeat != nil:
		verb = "H"
	case o.Finish != nil:
		verb = "F"
	}
	switch {
	case isPending(o):
		return verb + "?"
	case o.won(), o.Heartbeat != nil && o.Beaten.Renewed, o.Finish != nil && o.Finished.Recorded:
		return verb + "+"
	}
	return verb
}

// legend says what the marks of these calls mean.
func legend(ops []*Op) string {
	explain := func(all [][2]string) string {
		var said []string
		for _, x := range all {
			if slices.ContainsFunc(ops, func(o *Op) bool { return strings.Contains(o.mark(), x[0]) }) {
				said = append(said, x[0]+" "+x[1])
			}
		}
		return strings.Join(said, ", ")
	}
	text := explain([][2]string{{"C", "claim"}, {"H", "heartbeat"}, {"F", "finish"}, {"R", "recall"}})
	if signs := explain([][2]string{{"+", "it changed the store"}, {"?", "it may have changed it"}}); signs != "" {
		text += "; " + signs
	}
	return text
}
