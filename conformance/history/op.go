package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// History is what callers of one store saw.
type History struct {
	// About says what was recorded, for readers; it may be empty.
	About string
	// Kind is what the store says that it is; it decides how it is judged.
	Kind store.Kind
	// Ops are the calls, in any order.
	Ops []*Op
}

// Op is one call of a verb, as its caller saw it. Exactly one of the five requests
// is set, and with it, if the call was answered, its answer.
type Op struct {
	Process string // who called; two calls of a process may overlap
	// Call and Return are when, since the history began, on one monotonic clock.
	// What the store did it did in between, or, if the call was not answered,
	// perhaps later.
	Call, Return time.Duration

	Claim      *store.ClaimRequest
	Heartbeat  *store.HeartbeatRequest
	Finish     *store.FinishRequest
	Unfinished *store.UnfinishedRequest
	History    *store.HistoryRequest

	Claimed  store.ClaimAnswer
	Beaten   store.HeartbeatAnswer
	Finished store.FinishAnswer
	Listed   store.UnfinishedAnswer
	Page     store.HistoryAnswer

	Class Class
	Error string // of a call that was not answered

	// Unheard says that the caller behaved as if the answer had been lost. It
	// decides nothing: the store gave the answer.
	Unheard bool
	// InFlight says that the call had not returned when the history was cut: it may
	// have had no effect yet. [Minimise] makes such calls.
	InFlight bool
	// Maybe are the ways in which a call of a lease store without an answer may have
	// taken effect, besides not at all. nil means that they are to be concluded from
	// the rest of the history.
	Maybe []Effect

	run onRun // what a reading says of one run of a claim-only store
}

// Class is what became of a call.
type Class uint8

const (
	Answered   Class = iota + 1
	Lost             // no answer: it may have taken effect, or may yet
	NotApplied       // the store says that it surely did nothing
	Invalid          // the store says that it breaks a rule of the protocol
)

var classNames = []string{"", "answered", "lost", "not-applied", "invalid"}

// String returns the class as files spell it.
func (c Class) String() string {
	if int(c) >= len(classNames) {
		return "unset"
	}
	return classNames[c]
}

// ClassOf returns the class of a call that ended with err.
func ClassOf(err error) Class {
	switch {
	case err == nil:
		return Answered
	case store.IsUnknown(err):
		return Lost
	case isInvalid(err):
		return Invalid
	}
	return NotApplied
}

// Now is the store's now that the answer carries; 0 if there is none.
func (o *Op) Now() int64 {
	switch {
	case o.Class != Answered:
		return 0
	case o.Claim != nil:
		return o.Claimed.Now
	case o.Heartbeat != nil:
		return o.Beaten.Now
	case o.Finish != nil:
		return o.Finished.Now
	case o.Unfinished != nil:
		return o.Listed.Now
	}
	return o.Page.Now
}

// Jobs are the names of the jobs that the call is about.
func (o *Op) Jobs() []string {
	switch {
	case o.Claim != nil:
		return []string{o.Claim.Job}
	case o.Heartbeat != nil:
		return []string{o.Heartbeat.Job}
	case o.Finish != nil:
		return []string{o.Finish.Job}
	case o.Unfinished != nil:
		return o.Unfinished.Jobs
	}
	return []string{o.History.Job}
}

// Slot is the slot that the call is about, and false if it is about all.
func (o *Op) Slot() (int64, bool) {
	switch {
	case o.Claim != nil:
		return o.Claim.Slot, true
	case o.Heartbeat != nil:
		return o.Heartbeat.Slot, true
	case o.Finish != nil:
		return o.Finish.Slot, true
	}
	return 0, false
}

// reads reports whether the call can change nothing.
func (o *Op) reads() bool { return o.Unfinished != nil || o.History != nil }

// won reports whether the call was granted an attempt.
func (o *Op) won() bool {
	return o.Claim != nil && o.Class == Answered && o.Claimed.Verdict == store.VerdictWon
}

// byCall orders calls as they were made. Sorts by it are stable: of calls at the same
// moment the one that returned first stays first.
func byCall(a, b *Op) int {
	return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return))
}

// Sort puts the calls in the order in which they were made.
func (h *History) Sort() { slices.SortStableFunc(h.Ops, byCall) }

// InTurn makes the times of calls that were made one after the other say so, also
// where the clock stood still between them. The calls must be in their order.
func (h *History) InTurn() {
	last := time.Duration(-1)
	for _, o := range h.Ops {
		o.Call = max(o.Call, last+1)
		o.Return = max(o.Return, o.Call)
		last = o.Return
	}
}

// with returns a history of the same store with other calls.
func (h *History) with(ops []*Op) *History { return &History{About: h.About, Kind: h.Kind, Ops: ops} }

// byJob returns the history of each job by itself, in the order of their names. A
// recall of several jobs is in each of theirs, with what it says of that job; one of
// all jobs, by no name, is left out: it may be of jobs that are not in here.
func (h *History) byJob() []jobHistory {
	ops := map[string][]*Op{}
	for _, o := range h.Ops {
		for _, job := range o.Jobs() {
			ops[job] = append(ops[job], o.about(job))
		}
	}
	var list []jobHistory
	for job, of := range ops {
		slices.SortStableFunc(of, byCall)
		list = append(list, jobHistory{job, of})
	}
	slices.SortFunc(list, func(a, b jobHistory) int { return cmp.Compare(a.job, b.job) })
	return list
}

type jobHistory struct {
	job string
	ops []*Op
}

// about returns what the call says of one job.
func (o *Op) about(job string) *Op {
	if o.Unfinished == nil || len(o.Unfinished.Jobs) < 2 {
		return o
	}
	c := *o
	c.Unfinished = &store.UnfinishedRequest{Jobs: []string{job}}
	c.Listed.Runs = slices.DeleteFunc(slices.Clone(o.Listed.Runs), func(r store.UnfinishedRun) bool { return r.Job != job })
	return &c
}
