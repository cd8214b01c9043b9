package store

import (
	"fmt"
	"time"
)

// Description says what a store, so configured, can do. A conformance run
// verifies each line in both directions: what is declared is there, and what is
// not declared is refused.
type Description struct {
	Kind     Kind
	Strategy string // the backend's variant, e.g. "lease"; empty if it has one only
	Memory   Memory
	Clock    Clock
	Fenced   bool // grants carry rising tokens, and stale ones are refused
	History  bool // finished runs can be recalled

	Product  string    // the store's product and version as observed, e.g. "SQLite 3.53.4"
	Settings []Setting // safety-relevant settings as observed
	Warnings []string  // what the operator should know; each names the setting and the remedy. The host tells it: a plugin need not log it
	Format   int       // the store's format, from 1
}

// Setting is one observed setting of the store.
type Setting struct{ Name, Value string }

// Memory says how long a store remembers that a slot was granted. The zero value
// means "not known" and is refused by core.
type Memory struct {
	Forever bool          // whatever the age and the count
	Window  time.Duration // at least so long, counted from the grant; 0 means not bounded by age
	Runs    int           // at least so many runs of the job; 0 means not bounded by count
}

// IsZero reports whether nothing was declared.
func (m Memory) IsZero() bool { return m == Memory{} }

// String says it in words, e.g. "for ever" or "5m0s and 1000 runs per job".
func (m Memory) String() string {
	switch {
	case m.Forever:
		return "for ever"
	case m.Window > 0 && m.Runs > 0:
		return fmt.Sprintf("%v and %d runs per job", m.Window, m.Runs)
	case m.Window > 0:
		return m.Window.String()
	case m.Runs > 0:
		return fmt.Sprintf("%d runs per job", m.Runs)
	}
	return "not declared"
}
