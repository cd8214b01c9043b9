package core

import (
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// finish is the part of a run whose outcome the store must record.
type finish struct {
	outcome       store.Outcome
	result        error // what the handler returned, or why it never started
	took          time.Duration
	finishing     bool // a finish is in flight
	finishSent    instant
	finishUnknown bool  // an earlier one may have been recorded
	finishAt      int64 // monotonic: the next try
	finishUntil   int64 // monotonic: then it is given up
	finishTries   int
	finishErr     error // of the last try
}

// handlerReturned: the handler of a run is back, with nil, an error, or a
// [PanicError].
func (m *machine) handlerReturned(now instant, r *run, err error) {
	if !r.live {
		return
	}
	// Before anything else: what is noticed only now did not make it return.
	r.live = false
	delete(m.handlers, r)
	m.observe(now)
	m.vacate(r)
	r.took = now.since(r.started)
	if r.lost {
		m.drop(r)
		return
	}
	outcome, err := m.judge(r, err)
	m.sendFinish(now, r, outcome, err)
}

// judge says how a handler's return ends the run. It goes by the cause with
// which the handler was cancelled, not by the error: a library's error seldom
// wraps the cause.
func (m *machine) judge(r *run, err error) (store.Outcome, error) {
	_, panicked := err.(*PanicError)
	returned, _ := err.(*handlerError)
	switch {
	case panicked:
		return store.OutcomeFailed, err
	case errors.Is(r.cause, ErrTimeout):
		if err == nil || returned != nil && returned.timedOut {
			return store.OutcomeFailed, fmt.Errorf("%w after %v", ErrTimeout, r.job.spec.Timeout)
		}
		return store.OutcomeFailed, fmt.Errorf("%w after %v: %w", ErrTimeout, r.job.spec.Timeout, err)
	case err == nil:
		return store.OutcomeSuccess, nil
	case r.cause != nil: // stopped, or unconfirmed: it was not the handler's fault
		return m.handOver(), err
	default:
		return store.OutcomeFailed, err
	}
}

// handOver is the outcome of a run that is to go on elsewhere. A claim-only
// backend can't: the run is lost.
func (m *machine) handOver() store.Outcome {
	if m.leases() {
		return store.OutcomeReleased
	}
	return store.OutcomeInterrupted
}

// giveBack returns a grant whose handler never started.
func (m *machine) giveBack(now instant, r *run, why error) {
	m.sendFinish(now, r, m.handOver(), why)
}

func (m *machine) sendFinish(now instant, r *run, outcome store.Outcome, result error) {
	m.setState(r, finishing)
	m.vacate(r)
	r.outcome, r.result = outcome, result
	r.stuckAt, r.timeoutAt = 0, 0
	r.finishUntil = now.mono + int64(r.job.spec.Timing.StopTimeout)
	m.askFinish(now, r)
	m.lookAttempt(now, r)
}

func (m *machine) askFinish(now instant, r *run) {
	r.finishing, r.finishSent = true, now
	m.emit(action{kind: doFinish, run: r, timeout: callTimeout(r.job)})
}

// finishRequest is what a doFinish action sends.
func (m *machine) finishRequest(r *run) store.FinishRequest {
	req := store.FinishRequest{Job: r.job.spec.Name, Slot: r.slot, Token: r.token, Outcome: r.outcome, ID: r.id}
	if r.result != nil {
		req.Error = store.CutError(r.result.Error())
	}
	return req
}

// finishDue repeats a finish, or gives it up; it reports whether the run ended.
func (m *machine) finishDue(now instant, r *run) bool {
	switch {
	case r.finishing || now.mono < r.finishAt:
	case now.mono >= r.finishUntil:
		m.unrecorded(now, r)
		return true
	default:
		m.askFinish(now, r)
	}
	return false
}

func (r *run) finishDueAt() int64 {
	if r.finishing {
		return never
	}
	return min(r.finishAt, r.finishUntil)
}

// finishAnswered takes the store's answer to a doFinish.
func (m *machine) finishAnswered(now instant, r *run, ans store.FinishAnswer, err error) {
	m.observe(now)
	m.heard(now, "finish", r.finishSent, ans.Now, err)
	if r.state != finishing || !r.finishing {
		return
	}
	r.finishing = false
	switch {
	case err != nil:
		r.finishErr = err
		r.finishUnknown = r.finishUnknown || classify(err).unknown()
		if classify(err).invalid() || now.mono >= r.finishUntil {
			m.unrecorded(now, r)
			return
		}
		r.finishTries++
		r.finishAt = min(now.mono+int64(m.backoff(r.finishTries, r.job.spec.Timing.Heartbeat)), r.finishUntil)
		m.lookAttempt(now, r)
	case ans.Recorded:
		m.recorded(now, r, false)
	case r.finishUnknown:
		// The finish before this one may have been recorded and trimmed since.
		m.recorded(now, r, true)
	default:
		m.tell(Lost{Run: m.describe(r), During: "finish"})
		m.drop(r)
		m.watchOther(now, r.job, r.slot, 0, "", r.job.spec.Timing.Lease)
	}
}

// recorded tells how the run ended.
func (m *machine) recorded(now instant, r *run, unproven bool) {
	d := m.describe(r)
	switch r.outcome {
	case store.OutcomeSuccess:
		m.tell(Succeeded{Run: d, Took: r.took, Unproven: unproven})
	case store.OutcomeFailed:
		m.tell(Failed{Run: d, Err: r.result, Took: r.took, Unproven: unproven})
	default:
		m.tell(Interrupted{Run: d, HandedOver: r.outcome == store.OutcomeReleased, Err: r.result, Took: r.took, Unproven: unproven})
	}
	m.drop(r)
	if r.outcome == store.OutcomeReleased {
		m.watchOther(now, r.job, r.slot, r.number, m.instance, 0) // somebody must go on
	}
}

// unrecorded: the store did not take the outcome in time. The run stays open in
// the store until its lease ends.
func (m *machine) unrecorded(now instant, r *run) {
	m.tell(Unrecorded{Run: m.describe(r), Outcome: r.outcome, Err: r.finishErr})
	m.drop(r)
	m.watchOther(now, r.job, r.slot, r.number, m.instance, r.job.spec.Timing.Lease)
}
