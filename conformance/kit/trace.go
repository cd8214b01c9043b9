package kit

import (
	"fmt"
	"sync"
	"time"
)

// keptCalls is how many calls a failure shows.
const keptCalls = 14

// trace remembers the last calls of a check. It is safe for concurrent use.
type trace struct {
	start time.Time

	mu    sync.Mutex
	lines []string // a ring once full
	n     int      // calls seen
}

func (t *trace) add(process, what, answer string, span Span) {
	line := fmt.Sprintf("[%8.2f .. %8.2f ms] %s %s -> %s",
		ms(span.Called.Sub(t.start)), ms(span.Returned.Sub(t.start)), process, what, answer)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) < keptCalls {
		t.lines = append(t.lines, line)
	} else {
		t.lines[t.n%keptCalls] = line
	}
	t.n++
}

// last returns the calls kept, in the order in which they returned.
func (t *trace) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n <= keptCalls {
		return append([]string(nil), t.lines...)
	}
	cut := t.n % keptCalls
	lines := []string{fmt.Sprintf("… %d calls before", t.n-keptCalls)}
	lines = append(lines, t.lines[cut:]...)
	return append(lines, t.lines[:cut]...)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
