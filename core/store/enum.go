package store

import "fmt"

// Kind says how much a backend keeps of a run.
type Kind uint8

const (
	// KindLease backends know claim, heartbeat, finish and recall: takeover,
	// overlap guard, catch-up.
	KindLease Kind = iota + 1
	// KindClaimOnly backends decide who runs a slot and keep history where they
	// can: a crashed run is lost, there is no overlap guard and no catch-up.
	KindClaimOnly
)

// Overlap says whether a run may start while another run of its job holds a
// live lease.
type Overlap uint8

const (
	// OverlapSkip refuses a run while another run of the job is held.
	OverlapSkip Overlap = iota + 1
	// OverlapAllow lets runs of a job overlap.
	OverlapAllow
)

// Reason says why an attempt was asked for. It is recorded and decides nothing.
type Reason uint8

const (
	ReasonScheduled Reason = iota + 1 // the slot fell due
	ReasonCatchUp                     // the slot fell due while nobody could run it
	ReasonTakeover                    // the attempt before it stopped or was handed over
)

// Outcome is how a runner ends its attempt.
type Outcome uint8

const (
	OutcomeSuccess     Outcome = iota + 1 // the run is over
	OutcomeFailed                         // the run is over; it is not tried again
	OutcomeInterrupted                    // the run is over; its runner stopped half way
	OutcomeReleased                       // handed over: the run goes on elsewhere, and the attempt does not count
)

// Status is what history says of an attempt.
type Status uint8

const (
	StatusRunning     Status = iota + 1 // open
	StatusSuccess                       // finished
	StatusFailed                        // finished with an error
	StatusInterrupted                   // taken over, handed over, closed, or stopped on the way
)

// Verdict is the store's answer to a claim.
type Verdict uint8

const (
	VerdictWon        Verdict = iota + 1 // run it: Attempt, Token, Left
	VerdictRunning                       // another attempt of this run is held: Holder, Attempt, Left
	VerdictOverlap                       // another run of this job is held: Slot, Holder, Left
	VerdictFinished                      // this run ended (claim-only: was taken): Status, if remembered
	VerdictSuperseded                    // a newer slot of this job was granted first: Slot
	VerdictExhausted                     // the run used its attempts and is closed: Attempt
	VerdictLate                          // the claim came too late for a first attempt: By
	VerdictEarly                         // the claim came too early for a first attempt: By
)

// Clock says who owns the clock that judges leases and lateness.
type Clock uint8

const (
	ClockStore Clock = iota + 1 // the store's own; every answer carries its now
	ClockNone                   // the store has none that can be read; answers carry no now
)

var (
	kindNames    = names[Kind]{"kind", []string{"", "lease", "claim-only"}}
	overlapNames = names[Overlap]{"overlap", []string{"", "skip", "allow"}}
	reasonNames  = names[Reason]{"reason", []string{"", "scheduled", "catch-up", "takeover"}}
	outcomeNames = names[Outcome]{"outcome", []string{"", "success", "failed", "interrupted", "released"}}
	statusNames  = names[Status]{"status", []string{"", "running", "success", "failed", "interrupted"}}
	verdictNames = names[Verdict]{"verdict", []string{"", "won", "running", "overlap", "finished", "superseded", "exhausted", "late", "early"}}
	clockNames   = names[Clock]{"clock", []string{"", "store", "none"}}
)

func (k Kind) String() string    { return kindNames.of(k) }
func (o Overlap) String() string { return overlapNames.of(o) }
func (r Reason) String() string  { return reasonNames.of(r) }
func (o Outcome) String() string { return outcomeNames.of(o) }
func (s Status) String() string  { return statusNames.of(s) }
func (v Verdict) String() string { return verdictNames.of(v) }
func (c Clock) String() string   { return clockNames.of(c) }

// The spellings are part of the protocol: a store may keep them as text.

func (o Overlap) MarshalText() ([]byte, error) { return overlapNames.text(o) }
func (r Reason) MarshalText() ([]byte, error)  { return reasonNames.text(r) }
func (o Outcome) MarshalText() ([]byte, error) { return outcomeNames.text(o) }
func (s Status) MarshalText() ([]byte, error)  { return statusNames.text(s) }
func (v Verdict) MarshalText() ([]byte, error) { return verdictNames.text(v) }
func (k Kind) MarshalText() ([]byte, error)    { return kindNames.text(k) }
func (c Clock) MarshalText() ([]byte, error)   { return clockNames.text(c) }

func (o *Overlap) UnmarshalText(b []byte) error { return overlapNames.parse(o, b) }
func (r *Reason) UnmarshalText(b []byte) error  { return reasonNames.parse(r, b) }
func (o *Outcome) UnmarshalText(b []byte) error { return outcomeNames.parse(o, b) }
func (s *Status) UnmarshalText(b []byte) error  { return statusNames.parse(s, b) }
func (v *Verdict) UnmarshalText(b []byte) error { return verdictNames.parse(v, b) }
func (k *Kind) UnmarshalText(b []byte) error    { return kindNames.parse(k, b) }
func (c *Clock) UnmarshalText(b []byte) error   { return clockNames.parse(c, b) }

// Status returns what history says of an attempt that ended so. A released
// attempt reads interrupted, handed over.
func (o Outcome) Status() Status {
	switch o {
	case OutcomeSuccess:
		return StatusSuccess
	case OutcomeFailed:
		return StatusFailed
	default:
		return StatusInterrupted
	}
}

// names spells the values of one enumeration; index 0 is "unset".
type names[T ~uint8] struct {
	what  string
	spell []string
}

func (n names[T]) valid(v T) bool { return v != 0 && int(v) < len(n.spell) }

func (n names[T]) of(v T) string {
	if !n.valid(v) {
		return fmt.Sprintf("%s(%d)", n.what, v)
	}
	return n.spell[v]
}

func (n names[T]) text(v T) ([]byte, error) {
	if !n.valid(v) {
		return nil, fmt.Errorf("store: %s(%d) has no spelling", n.what, v)
	}
	return []byte(n.spell[v]), nil
}

func (n names[T]) parse(v *T, b []byte) error {
	for i, s := range n.spell {
		if i > 0 && s == string(b) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("store: unknown %s %q; known are %q", n.what, clip(string(b)), n.spell[1:])
}
