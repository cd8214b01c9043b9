package kit

import (
	"fmt"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// Check proves that a store keeps one promise, or catches it breaking it.
type Check struct {
	ID       string          // "family/name", unique, e.g. "lease/never-early"
	Promises []string        // the promises it is evidence for, e.g. "R-LEASE-1"; at least one
	Says     string          // what the check does and expects, in one sentence
	Causes   string          // what usually makes it fail, for the author of the store
	Applies  promise.Applies // which kind of backend it judges
	Needs    Needs           // what the subject must have; lacking that the check is skipped
	Limit    time.Duration   // the check's deadline; 0 means one minute
	Alone    bool            // no other check may run beside it: it does something to the store
	Do       func(r *Run)
}

// Needs is what a check asks of its subject, besides the kind.
type Needs uint16

const (
	NeedHistory     Needs = 1 << iota // the backend declares that finished runs can be recalled
	NeedKill                          // the subject runs in processes that can be killed
	NeedFreeze                        // and stopped for a while: [Freezer]
	NeedHost                          // a host can be killed: [Hoster]
	NeedLink                          // the way to the store can be broken: [Linker]
	NeedPause                         // the store can be frozen: [Server]
	NeedCrash                         // the store can be killed, and keeps its data: [Server]
	NeedFresh                         // a store can be made that nobody has used: [Tamperer]
	NeedTamper                        // and be changed past the plugin: [Tamperer]
	NeedSkew                          // the store's clock differs from this machine's by a minute or more
	NeedDamage                        // and what it holds can be made unreadable: [Tamperer]
	NeedSpace                         // the store can be made full: [Scarce]
	NeedConnections                   // its connections can be used up: [Scarce]
)

var needNames = []struct {
	need Needs
	name string
}{
	{NeedHistory, "history"},
	{NeedKill, "kill"},
	{NeedFreeze, "freeze"},
	{NeedHost, "host"},
	{NeedLink, "link"},
	{NeedPause, "pause"},
	{NeedCrash, "crash"},
	{NeedFresh, "fresh"},
	{NeedTamper, "tamper"},
	{NeedSkew, "skew"},
	{NeedDamage, "damage"},
	{NeedSpace, "space"},
	{NeedConnections, "connections"},
}

// String returns the name of a need, or of several.
func (n Needs) String() string {
	var names []string
	for _, x := range needNames {
		if n&x.need != 0 {
			names = append(names, x.name)
		}
	}
	return strings.Join(names, ", ")
}

// ParseNeed returns the need of that name.
func ParseNeed(name string) (Needs, error) {
	var known []string
	for _, x := range needNames {
		if x.name == name {
			return x.need, nil
		}
		known = append(known, x.name)
	}
	return 0, fmt.Errorf("kit: unknown need %q; known are %q", name, known)
}

// Family is the part of the id before the slash.
func (c Check) Family() string {
	family, _, _ := strings.Cut(c.ID, "/")
	return family
}

// For reports whether the check judges backends of that kind.
func (c Check) For(kind store.Kind) bool {
	switch c.Applies {
	case promise.Lease:
		return kind == store.KindLease
	case promise.ClaimOnly:
		return kind == store.KindClaimOnly
	}
	return true
}

// Outcome is what came of a check.
type Outcome uint8

const (
	Pass     Outcome = iota + 1 // the rule held wherever the check looked
	Skip                        // the subject declares that it can't do what the check needs
	Disabled                    // turned off by who started the run
	Fail                        // the subject broke the rule
	Error                       // no verdict: the kit, the surroundings or a hanging call broke the check
)

var outcomeNames = [...]string{"", "pass", "skip", "disabled", "fail", "error"}

// Outcomes lists all of them, best first.
func Outcomes() []Outcome { return []Outcome{Pass, Skip, Disabled, Fail, Error} }

// String returns the outcome as reports spell it.
func (o Outcome) String() string {
	if o == 0 || int(o) >= len(outcomeNames) {
		return fmt.Sprintf("outcome(%d)", o)
	}
	return outcomeNames[o]
}

// MarshalText spells the outcome.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Bad reports whether the outcome fails the whole run.
func (o Outcome) Bad() bool { return o != Pass && o != Skip && o != Disabled }

// Result is what came of one check.
type Result struct {
	Check   Check
	Outcome Outcome
	Reason  string   // of every outcome but pass: what was seen, or why there is no verdict
	Calls   []string // of a failure or an error: the last calls, oldest first
	Figures []Figure // measured on the way
	Files   []File   // for the report's directory
	Seed    uint64   // repeats the check's random draws
	Took    time.Duration
}

// Figure is one measured value.
type Figure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Text explains a result that is not a pass, ready to be printed: the rule, what
// was seen, the calls, the usual causes.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Check.ID, r.Outcome)
	for _, id := range r.Check.Promises {
		if p, ok := promise.Get(id); ok {
			fmt.Fprintf(&b, "  rule:   %s: %s\n", p.ID, p.Sentence)
		}
	}
	fmt.Fprintf(&b, "  check:  %s\n", r.Check.Says)
	fmt.Fprintf(&b, "  saw:    %s\n", indent(r.Reason))
	for i, call := range r.Calls {
		head := "        "
		if i == 0 {
			head = "  calls:"
		}
		fmt.Fprintf(&b, "%s %s\n", head, call)
	}
	if len(r.Files) > 0 {
		fmt.Fprintf(&b, "  files:  %s, in the report's directory (-report DIR)\n", r.filesText())
	}
	if r.Outcome == Fail && r.Check.Causes != "" {
		fmt.Fprintf(&b, "  usual causes: %s\n", r.Check.Causes)
	}
	return b.String()
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n          ") }
