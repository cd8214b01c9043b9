package core

import (
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Event is something that happened in this instance. The concrete types are
// those of this file; use a type switch. Later versions may add types.
type Event interface{ event() }

// Started: a handler begins.
type Started struct {
	Run Run
	At  time.Time
}

// Succeeded: a handler returned nil and the store recorded it.
type Succeeded struct {
	Run  Run
	Took time.Duration
	// Unproven is set where a repeated finish found no record any more; see
	// store.FinishAnswer.
	Unproven bool
}

// Failed: a handler returned an error, panicked ([PanicError]) or timed out
// ([ErrTimeout]), and the store recorded it. The run is over.
type Failed struct {
	Run      Run
	Err      error
	Took     time.Duration
	Unproven bool
}

// Interrupted: a run stopped half way. HandedOver says that the store has it
// back and another instance can go on at once.
type Interrupted struct {
	Run        Run
	HandedOver bool
	Err        error // what the handler returned, or why it never started
	Took       time.Duration
	Unproven   bool
}

// Lost: the store refused this attempt's token: somebody else has the run, or
// had it.
type Lost struct {
	Run Run
	// During says what was refused: "heartbeat" or "finish".
	During string
}

// Unconfirmed: the lease of a running handler ended, counted on this instance's
// clock, without an accepted renewal. The handler goes on, or is cancelled with
// [ErrUnconfirmed], as the job says.
type Unconfirmed struct {
	Run       Run
	Err       error // of the last heartbeat
	Cancelled bool
}

// Confirmed: a run that was [Unconfirmed] is renewed again; nobody took it over.
type Confirmed struct{ Run Run }

// Unrecorded: the store did not answer a finish within the stop timeout. The
// handler has returned; the run stays open until its lease ends, and may then
// be executed again.
type Unrecorded struct {
	Run     Run
	Outcome store.Outcome
	Err     error // of the last try
}

// Stuck: a handler still runs after the stop timeout although its context was
// cancelled. Its lease is not renewed any more, so that another instance can
// take the run over.
type Stuck struct {
	Run   Run
	Cause error // the cause of the cancellation
}

// Backup: another instance has the run; this one watches its lease.
type Backup struct {
	Job    string
	Slot   int64
	Holder string
	Left   time.Duration
}

// SkipReason says why a slot was not run by this instance.
type SkipReason string

const (
	SkipLate        SkipReason = "late"              // more than max late after the slot
	SkipEarly       SkipReason = "early"             // the store's clock is behind by more than max late
	SkipOverlap     SkipReason = "overlap"           // another run of the job is held
	SkipSuperseded  SkipReason = "superseded"        // a newer slot is due or was granted first
	SkipExhausted   SkipReason = "exhausted"         // the run used its attempts
	SkipCapacity    SkipReason = "capacity"          // MaxRuns handlers ran until it was too late
	SkipUnreachable SkipReason = "store unreachable" // the store did not take the claim until it was too late
	SkipUnknown     SkipReason = "outcome unknown"   // as unreachable, but a claim may have been granted
	SkipRefused     SkipReason = "refused"           // the store calls the claim invalid
	SkipStopped     SkipReason = "stopped"           // this instance stops
	SkipRemoved     SkipReason = "removed"           // the job was removed from this instance
)

// Skipped: a slot was due and this instance does not run it. Losing a claim to
// another instance is no skip.
type Skipped struct {
	Job    string
	Slot   int64
	Last   int64 // the last slot skipped with it, equal to Slot if it is one only
	Reason SkipReason
	By     time.Duration // late, early: by how much
	Holder string        // overlap: who holds the run in the way
	Err    error         // the last error of the claim, if it had one
}

// ClockJump: the wall clock jumped against the monotonic one: it was stepped, or
// the machine was suspended.
type ClockJump struct{ By time.Duration }

// ClockSkew: the store's clock differs from this instance's by more than a
// second, or by more than max late (Severe).
type ClockSkew struct {
	By     time.Duration // store − instance
	Severe bool
}

// Paused: this process did not run for so long. Leases should be three times as
// long as the pauses that a host shows.
type Paused struct {
	For   time.Duration
	Lease time.Duration // the shortest lease of a job, under three times the pause
}

// StoreError: the store began to fail or to refuse calls, all of them or one kind:
// reads (recall, history) or writes (claim, heartbeat, finish). It is reported once,
// until [StoreBack]. A takeover, or a question for a job's history, that the store calls
// invalid is reported besides, once for each job: the service and the plugin do not fit
// together, and the job is not taken over, or not caught up.
type StoreError struct {
	During string // the verb
	Err    error
}

// StoreBack: the store answers again, both kinds of calls. Where no write that failed
// is repeated any more, a read that is answered is enough. Down is the time from the
// first call that failed to this answer; on a claim-only backend nothing may have been
// asked in between.
type StoreBack struct{ Down time.Duration }

// ScheduleMismatch: another instance plans this job by another schedule, or by
// other rules of the time zone: two versions are deployed, or tzdata differs.
type ScheduleMismatch struct {
	Job          string
	Ours, Theirs string // fingerprints
}

// ScheduleBroken: the schedule of a job panicked. The job is planned no more by this
// instance; a run that is under way goes on, and so do the other jobs. Remove the job
// and add it with another schedule.
type ScheduleBroken struct {
	Job   string
	Panic string // its value as text
}

// schedulerRuns: the scheduler has begun, with so many jobs. It is for the log alone, where a
// service whose first slot is hours away would say nothing else.
type schedulerRuns struct {
	on   store.Description
	jobs int
}

// Warning: something that works but should be looked at, found when a job was
// added or the store was opened.
type Warning struct {
	Job  string // empty: the store
	Text string
}

// EventsDropped: the callback was so slow that events had to be dropped before
// this one.
type EventsDropped struct{ Count int }

func (Started) event()          {}
func (Succeeded) event()        {}
func (Failed) event()           {}
func (Interrupted) event()      {}
func (Lost) event()             {}
func (Unconfirmed) event()      {}
func (Confirmed) event()        {}
func (Unrecorded) event()       {}
func (Stuck) event()            {}
func (Backup) event()           {}
func (Skipped) event()          {}
func (ClockJump) event()        {}
func (ClockSkew) event()        {}
func (Paused) event()           {}
func (StoreError) event()       {}
func (StoreBack) event()        {}
func (ScheduleMismatch) event() {}
func (ScheduleBroken) event()   {}
func (Warning) event()          {}
func (schedulerRuns) event()    {}
func (EventsDropped) event()    {}
