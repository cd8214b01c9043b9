package core

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// machine decides everything that an instance does. It is pure: no clock, no
// I/O, no goroutine; its randomness and its claim ids come from sources given to
// it. The same inputs always give the same actions.
//
// The inputs are methods: add, remove, tick, stop, handlerReturned and the
// …Answered ones. Each appends to out what the driver must do; the driver takes
// the actions, does them, and hands the answers back. Every call that it makes
// gives exactly one answer. When nothing happens, it calls tick after wake.
//
// The concepts are in files of their own: slot.go (when a job is due), claim.go
// (asking for a run), attempt.go (a granted run and its lease), finish.go,
// watch.go (other instances' runs, recall), catchup.go, stop.go, health.go (the
// store's answers, the clocks).
type machine struct {
	machineConfig

	jobs  map[string]*job
	slots queue[*job] // by the wall clock, nanoseconds: when a job is to be claimed
	timed queue[*run] // by the monotonic clock: when a run wants to be looked at

	handlers map[*run]struct{} // running handlers, also of runs that were lost
	occupied int               // claims in flight and granted runs: what MaxRuns bounds
	pending  int               // runs that wait for the store: asking, confirming, finishing

	recall   recallState
	health   healthState
	clocks   clockState
	stopping bool
	graceEnd int64 // monotonic; when running handlers are cancelled

	out []action
}

type machineConfig struct {
	instance string
	kind     store.Kind
	maxRuns  int // 0: no bound
	grace    time.Duration
	rand     *rand.Rand
	newID    func() store.ClaimID
}

// longestTimer: then the wall clock is read again, since it may have been
// corrected. A longer wait is a chain.
const longestTimer = time.Minute

func newMachine(cfg machineConfig) *machine {
	return &machine{
		machineConfig: cfg,
		jobs:          make(map[string]*job),
		handlers:      make(map[*run]struct{}),
	}
}

// actionKind says what the driver must do.
type actionKind uint8

const (
	doClaim   actionKind = iota + 1 // ask the store: claimRequest(run); answer with claimAnswered
	doBeat                          // heartbeatRequest(run); beatAnswered
	doFinish                        // finishRequest(run); finishAnswered
	doRecall                        // the unfinished runs of jobs names; recallAnswered
	doHistory                       // the newest attempts of job; historyAnswered
	doStart                         // start run's handler; handlerReturned when it returns
	doCancel                        // cancel run's handler with cause
	doEvent                         // tell event
)

// action is one thing to do, and only the fields of its kind are set.
type action struct {
	kind    actionKind
	run     *run
	job     *job
	names   []string
	cause   error
	event   Event
	timeout time.Duration // of a call
}

func (m *machine) emit(a action) { m.out = append(m.out, a) }
func (m *machine) tell(e Event)  { m.emit(action{kind: doEvent, event: e}) }
func (m *machine) leases() bool  { return m.kind == store.KindLease }
func (m *machine) within(n int64) int64 {
	if n <= 0 {
		return 0
	}
	return m.rand.Int64N(n)
}

// take returns the actions since the last call. The slice is reused.
func (m *machine) take() []action {
	out := m.out
	m.out = m.out[:0]
	return out
}

// tick lets the machine look at the clocks: whatever is due happens.
func (m *machine) tick(now instant) {
	m.observe(now)
	m.noticePause(now)
	for {
		j, ok := m.slots.first(now.wall)
		if !ok {
			break
		}
		m.slotDue(now, j) // plans it anew, which takes it from the first place
	}
	for {
		r, ok := m.timed.pop(now.mono)
		if !ok {
			break
		}
		m.look(now, r)
	}
	m.recallIfDue(now)
	if m.stopping && m.graceEnd > 0 && now.mono >= m.graceEnd {
		m.cancelAll(now)
	}
	m.forgetFailures()
}

// wake returns how long the machine may sleep, at most a minute.
func (m *machine) wake(now instant) time.Duration {
	wait := int64(longestTimer)
	if due, ok := m.slots.next(); ok {
		wait = min(wait, due-now.wall)
	}
	if due, ok := m.timed.next(); ok {
		wait = min(wait, due-now.mono)
	}
	if due, ok := m.recallDue(); ok {
		wait = min(wait, due-now.mono)
	}
	if m.stopping && m.graceEnd > 0 {
		wait = min(wait, m.graceEnd-now.mono)
	}
	wait = max(wait, 0)
	m.clocks.expected = now.mono + wait
	return time.Duration(wait)
}

// look lets a run do what its timers ask for, and sets the next one.
func (m *machine) look(now instant, r *run) {
	switch r.state {
	case asking:
		m.lookAsking(now, r)
	case confirming, running, finishing:
		m.lookAttempt(now, r)
	case watching:
		m.lookWatching(now, r)
	}
}

// runState is what a run is to this instance.
type runState uint8

const (
	ended      runState = iota // nothing any more
	asking                     // a claim is in flight, or waits to be sent (again)
	confirming                 // granted, but the lease may be over: a heartbeat comes first
	running                    // the handler runs
	finishing                  // the handler returned, or never started; the store must record it
	watching                   // another instance has it
)

// run is one (job, slot) that this instance has something to do with.
type run struct {
	job   *job
	slot  int64
	state runState
	at    int32 // ticket of machine.timed

	repeats bool // it counts in healthState.repeated

	ask
	attempt
	watch
}

func (r *run) place() *int32 { return &r.at }

func (m *machine) newRun(j *job, slot int64) *run {
	r := &run{job: j, slot: slot, at: -1}
	j.runs = append(j.runs, r)
	return r
}

// drop forgets a run. Answers that are still on their way are ignored.
func (m *machine) drop(r *run) {
	m.detach(r)
	m.vacate(r)
	m.timed.remove(r)
	m.setState(r, ended)
}

// detach takes a run out of its job's list, so that another instance's attempt
// of the same slot can be watched while a lost handler still runs.
func (m *machine) detach(r *run) {
	if i := slices.Index(r.job.runs, r); i >= 0 {
		r.job.runs = slices.Delete(r.job.runs, i, i+1)
	}
}

func (m *machine) setState(r *run, s runState) {
	m.count(r.state, -1)
	m.count(s, 1)
	r.state = s
	m.noteWrites(r)
}

func (m *machine) count(s runState, by int) {
	switch s {
	case watching:
		m.recall.watched += by
	case asking, confirming, finishing:
		m.pending += by
	}
}

// occupy counts a run towards MaxRuns; vacate ends that.
func (m *machine) occupy(r *run) {
	if !r.occupies {
		r.occupies = true
		m.occupied++
	}
}

func (m *machine) vacate(r *run) {
	if r.occupies {
		r.occupies = false
		m.occupied--
	}
}

func (m *machine) full() bool { return m.maxRuns > 0 && m.occupied >= m.maxRuns }
