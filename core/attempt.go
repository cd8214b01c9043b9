package core

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// attempt is the part of a run that was granted to this instance.
type attempt struct {
	number int
	token  store.Token

	// The lease counts from when the request that was answered was sent, on
	// whichever clock ran further: the store may only believe it longer.
	leaseFrom instant
	leaseLen  time.Duration

	beating  bool    // a heartbeat is in flight
	beatSent instant // of that heartbeat
	beatAt   int64   // monotonic: the next one
	beatErr  error   // of the last one

	live        bool  // the handler runs
	lost        bool  // the store refused the token
	quiet       bool  // no more heartbeats
	unconfirmed bool  // the lease is over on our clocks, and the store said nothing
	cause       error // with which the handler's context was cancelled
	started     instant
	timeoutAt   int64 // monotonic; 0: none
	stuckAt     int64 // monotonic; 0: not cancelled

	finish
}

// granted takes a Won.
func (m *machine) granted(now instant, r *run, ans store.ClaimAnswer) {
	m.noteFingerprint(r.job, ans.Fingerprint)
	r.job.noteGranted(r.slot)
	r.number, r.token = ans.Attempt, ans.Token
	// Never longer than it was asked for, whatever the store says.
	r.leaseFrom, r.leaseLen = r.sent, min(max(ans.Left, 0), r.job.spec.Timing.Lease)
	m.planBeat(r)
	switch {
	case m.stopping:
		m.giveBack(now, r, ErrStopped)
	case r.job.removed:
		m.giveBack(now, r, errRemoved)
	case !m.leases():
		m.start(now, r)
	case r.leaseLeft(now) < r.job.spec.Timing.Heartbeat:
		// The answer was slow, or this process was frozen: somebody else may
		// have the run by now. Ask before the handler starts.
		m.setState(r, confirming)
		m.beat(now, r)
	default:
		m.start(now, r)
	}
}

func (r *run) leaseLeft(now instant) time.Duration { return r.leaseLen - now.since(r.leaseFrom) }

// start starts the handler, unless the promise of max late forbids it: a grant
// that was confirmed late may have waited for any time.
func (m *machine) start(now instant, r *run) {
	t := &r.job.spec.Timing
	bound := t.MaxLate
	if r.reason == store.ReasonCatchUp {
		bound = t.CatchUp
	}
	if by := late(now.ms(), r.slot); r.number == 1 && r.reason != store.ReasonTakeover && by > bound+store.LateTolerance {
		m.tellSkip(r, Skipped{Reason: SkipLate, By: by})
		m.sendFinish(now, r, store.OutcomeInterrupted, fmt.Errorf("granted, but it could start only %v after the slot", by))
		return
	}
	m.setState(r, running)
	m.occupy(r)
	m.handlers[r] = struct{}{}
	r.live, r.started = true, now
	if r.job.spec.Timeout > 0 {
		r.timeoutAt = now.mono + int64(r.job.spec.Timeout)
	}
	m.tell(Started{Run: m.describe(r), At: now.time()})
	m.emit(action{kind: doStart, run: r})
	m.lookAttempt(now, r)
}

// describe returns what the handler and the events see of a run.
func (m *machine) describe(r *run) Run {
	return Run{
		Job: r.job.spec.Name, Slot: r.slot, ScheduledAt: store.Time(r.slot),
		Attempt: r.number, Token: r.token, Reason: r.reason, Instance: m.instance,
	}
}

// planBeat sets the next heartbeat. The times lie on a grid of an eighth of the
// interval, so that heartbeats that are due near each other go together.
func (m *machine) planBeat(r *run) {
	beat := int64(r.job.spec.Timing.Heartbeat)
	grid := max(beat/8, 1)
	r.beatAt = (r.leaseFrom.mono + beat) / grid * grid
}

func (m *machine) beat(now instant, r *run) {
	r.beating, r.beatSent = true, now
	m.emit(action{kind: doBeat, run: r, timeout: callTimeout(r.job)})
}

// heartbeatRequest is what a doBeat action sends.
func (m *machine) heartbeatRequest(r *run) store.HeartbeatRequest {
	return store.HeartbeatRequest{Job: r.job.spec.Name, Slot: r.slot, Token: r.token, Lease: r.job.spec.Timing.Lease}
}

// lookAttempt does what is due for a granted run: renew, cancel on timeout, say
// that the lease is over, give up a handler that ignores its context, repeat a
// finish. Then it sets the run's timer for the next of these.
func (m *machine) lookAttempt(now instant, r *run) {
	if r.live && r.timeoutAt > 0 && now.mono >= r.timeoutAt && r.cause == nil {
		m.cancel(now, r, ErrTimeout)
	}
	if r.live && r.stuckAt > 0 && now.mono >= r.stuckAt {
		m.stuck(now, r)
	}
	if r.state == finishing && m.finishDue(now, r) {
		return
	}
	if m.renews(r) {
		over := r.state == running && !r.unconfirmed && r.leaseLeft(now) <= 0
		if !r.beating && (now.mono >= r.beatAt || over) {
			m.beat(now, r)
		}
		if over {
			r.unconfirmed = true
			cancels := r.job.spec.OnUnconfirmed == Cancel && r.cause == nil
			m.tell(Unconfirmed{Run: m.describe(r), Err: r.beatErr, Cancelled: cancels})
			if cancels {
				m.cancel(now, r, ErrUnconfirmed)
			}
		}
	}
	m.noteWrites(r)
	if due := m.attemptDue(now, r); due != never {
		m.timed.set(r, due)
	}
}

// renews reports whether the run's lease is to be kept.
func (m *machine) renews(r *run) bool { return m.leases() && !r.quiet && !r.lost }

func (m *machine) attemptDue(now instant, r *run) int64 {
	due := int64(never)
	if r.live && r.cause == nil && r.timeoutAt > 0 {
		due = min(due, r.timeoutAt)
	}
	if r.live && r.stuckAt > 0 {
		due = min(due, r.stuckAt)
	}
	if r.state == finishing {
		due = min(due, r.finishDueAt())
	}
	if m.renews(r) {
		if !r.beating {
			due = min(due, r.beatAt)
		}
		if r.state == running && !r.unconfirmed {
			due = min(due, now.mono+int64(r.leaseLeft(now)))
		}
	}
	return due
}

// beatAnswered takes the store's answer to a doBeat.
func (m *machine) beatAnswered(now instant, r *run, ans store.HeartbeatAnswer, err error) {
	m.observe(now)
	m.heard(now, "heartbeat", r.beatSent, ans.Now, err)
	if !r.beating {
		return
	}
	r.beating = false
	if r.state == ended || r.lost {
		return
	}
	switch {
	case err != nil:
		r.beatErr = err
		// The handler goes on: nothing says that the run is lost. Ask again soon.
		r.beatAt = max(r.beatAt, now.mono+int64(r.job.spec.Timing.Heartbeat)/4)
		if m.stopping && r.state == confirming {
			m.giveBack(now, r, ErrStopped)
			return
		}
	case ans.Renewed:
		r.beatErr = nil
		m.noteWrites(r)
		r.leaseFrom, r.leaseLen = r.beatSent, r.job.spec.Timing.Lease
		m.planBeat(r)
		if r.unconfirmed {
			r.unconfirmed = false
			m.tell(Confirmed{Run: m.describe(r)})
		}
		if r.state == confirming {
			m.confirmed(now, r)
			return
		}
	case r.state == finishing:
		// Perhaps the finish took effect and its answer was lost: the finish
		// itself decides.
		r.quiet = true
	default:
		m.lose(now, r, "heartbeat")
		return
	}
	m.lookAttempt(now, r)
}

// confirmed: a grant that was stale when it arrived is still ours.
func (m *machine) confirmed(now instant, r *run) {
	switch {
	case m.stopping:
		m.giveBack(now, r, ErrStopped)
	case r.job.removed:
		m.giveBack(now, r, errRemoved)
	case r.leaseLeft(now) < r.job.spec.Timing.Heartbeat:
		m.beat(now, r) // this answer was slow too
	default:
		m.start(now, r)
	}
}

// lose ends an attempt whose token the store refused. The handler is cancelled;
// what it still returns is not reported to the store. The run itself is watched
// from now on, like everybody else's.
func (m *machine) lose(now instant, r *run, during string) {
	m.tell(Lost{Run: m.describe(r), During: during})
	r.lost = true
	m.detach(r)
	if r.live {
		if r.cause == nil {
			m.cancel(now, r, ErrLost)
		}
		m.lookAttempt(now, r)
	} else {
		m.drop(r)
	}
	m.watchOther(now, r.job, r.slot, 0, "", r.job.spec.Timing.Lease)
}

// cancel cancels the handler's context. From then on it has the stop timeout to
// return.
func (m *machine) cancel(now instant, r *run, cause error) {
	r.cause = cause
	r.stuckAt = now.mono + int64(r.job.spec.Timing.StopTimeout)
	m.emit(action{kind: doCancel, run: r, cause: cause})
}

// stuck: a handler ignores its context. It must not block its job for ever, so
// its lease is left to end.
func (m *machine) stuck(now instant, r *run) {
	r.stuckAt, r.quiet = 0, true
	m.tell(Stuck{Run: m.describe(r), Cause: r.cause})
	if r.lost {
		return
	}
	m.detach(r)
	m.watchOther(now, r.job, r.slot, r.number, m.instance, max(r.leaseLeft(now), 0))
}
