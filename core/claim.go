package core

import (
	"errors"
	"math"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// ask is the part of a run that wants to be granted.
type ask struct {
	id       store.ClaimID // made once per wish, sent again unchanged
	after    int           // the attempt that the claim follows
	reason   store.Reason
	sent     instant // of the claim in flight, or of the last one
	inFlight bool
	occupies bool  // counts towards MaxRuns
	unknown  bool  // a claim with this id may have been granted
	early    bool  // waits for the store's clock to reach the slot
	waiting  bool  // MaxRuns handlers run
	given    bool  // given up; only the answer in flight is awaited
	until    int64 // Unix milliseconds: then it is given up; or never
	tries    int
	lastErr  error
}

// askFor begins to ask for a run as a first attempt.
func (m *machine) askFor(now instant, j *job, slot int64, reason store.Reason, until int64) {
	r := m.newRun(j, slot)
	r.ask = ask{id: m.newID(), reason: reason, until: until}
	m.setState(r, asking)
	m.sendClaim(now, r)
}

func (m *machine) sendClaim(now instant, r *run) {
	if r.waiting = !r.occupies && m.full(); r.waiting {
		r.tries++
		m.retryIn(now, r, m.backoff(r.tries, time.Second))
		return
	}
	m.occupy(r)
	r.early = false
	r.inFlight, r.sent = true, now
	m.emit(action{kind: doClaim, run: r, timeout: callTimeout(r.job)})
}

// claimRequest is the question that a doClaim action asks.
func (m *machine) claimRequest(r *run) store.ClaimRequest {
	t := &r.job.spec.Timing
	maxLate := t.MaxLate
	if r.reason == store.ReasonCatchUp {
		maxLate = t.CatchUp
	}
	return store.ClaimRequest{
		Job: r.job.spec.Name, Slot: r.slot, ID: r.id, After: r.after,
		Instance: m.instance, Reason: r.reason,
		Lease: t.Lease, MaxEarly: maxEarly(r.job.gap), MaxLate: maxLate,
		Overlap: t.Overlap, MaxAttempts: t.MaxAttempts, HistorySize: t.HistorySize,
		Fingerprint: r.job.fp,
	}
}

// lookAsking sends a claim that waited, or gives it up.
func (m *machine) lookAsking(now instant, r *run) {
	switch {
	case r.reason == store.ReasonTakeover && !r.unknown && !m.mayTake(now, r):
		m.watchAgain(now, r)
	case now.ms() >= r.until:
		m.giveUp(now, r)
	default:
		m.sendClaim(now, r)
	}
}

// retry asks again after a backoff, with the same claim id.
func (m *machine) retry(now instant, r *run) {
	r.tries++
	m.retryIn(now, r, m.backoff(r.tries, r.job.spec.Timing.Heartbeat))
}

func (m *machine) retryIn(now instant, r *run, d time.Duration) {
	d = min(d, late(r.until, now.ms())) // what is left until then
	m.timed.set(r, now.mono+int64(max(d, time.Millisecond)))
}

// backoff grows from about 100 ms, jittered by half, and never exceeds most: a
// store that comes back must be noticed within about a heartbeat.
func (m *machine) backoff(tries int, most time.Duration) time.Duration {
	d := min(100*time.Millisecond<<min(tries-1, 10), max(most, 50*time.Millisecond))
	return d/2 + time.Duration(m.within(int64(d/2)))
}

// claimAnswered takes the store's answer to a doClaim.
func (m *machine) claimAnswered(now instant, r *run, ans store.ClaimAnswer, err error) {
	m.observe(now)
	m.heard(now, "claim", r.sent, ans.Now, err)
	if r.state != asking {
		return
	}
	r.inFlight = false
	if err == nil && ans.Verdict == store.VerdictWon {
		m.granted(now, r, ans)
		return
	}
	if err != nil {
		m.claimFailed(now, r, err)
		return
	}
	m.vacate(r)
	m.noteFingerprint(r.job, ans.Fingerprint)
	m.refused(now, r, ans)
}

func (m *machine) claimFailed(now instant, r *run, err error) {
	r.lastErr = err
	m.noteWrites(r)
	r.unknown = r.unknown || classify(err).unknown()
	if !r.unknown {
		m.vacate(r) // else it keeps its place: it may have been granted
	}
	switch {
	case m.stopping:
		m.skip(r, unlessUnknown(r, SkipStopped), 0)
		m.drop(r)
	case classify(err).invalid():
		m.claimRefused(now, r)
	case r.given || r.job.removed:
		m.giveUp(now, r)
	default:
		m.retry(now, r)
	}
}

// refused handles every verdict but Won. Losing is no error.
func (m *machine) refused(now instant, r *run, ans store.ClaimAnswer) {
	j := r.job
	switch ans.Verdict {
	case store.VerdictRunning:
		j.noteGranted(r.slot)
		left := ans.Left
		if r.reason == store.ReasonTakeover && ans.Attempt == r.after {
			// The store thinks that the lease is not quite over; not in a tight
			// loop. One that named the wrong attempt is asked again at once.
			left = max(left, j.spec.Timing.Heartbeat/20)
		}
		m.watchRun(now, r, ans.Attempt, ans.Holder, left)
	case store.VerdictOverlap:
		m.tellSkip(r, Skipped{Reason: SkipOverlap, Holder: ans.Holder})
		if r.reason == store.ReasonTakeover {
			m.watchRun(now, r, r.after, r.holder, ans.Left)
		} else {
			m.drop(r)
		}
		m.watchOther(now, j, ans.Slot, 0, ans.Holder, ans.Left)
	case store.VerdictFinished:
		j.noteGranted(r.slot)
		m.drop(r)
	case store.VerdictSuperseded:
		j.noteGranted(ans.Slot)
		m.tellSkip(r, Skipped{Reason: SkipSuperseded})
		m.drop(r)
	case store.VerdictExhausted:
		m.tell(Skipped{Job: j.spec.Name, Slot: r.slot, Last: r.slot, Reason: SkipExhausted})
		m.drop(r)
	case store.VerdictLate:
		m.tellSkip(r, Skipped{Reason: SkipLate, By: ans.By})
		m.drop(r)
	case store.VerdictEarly:
		m.tooEarly(now, r, ans.By)
	default:
		// A verdict of a newer protocol: not a grant, and not to be asked again.
		r.lastErr = errors.New("the store answered a verdict that this version does not know: " + ans.Verdict.String())
		m.claimRefused(now, r)
	}
}

// claimRefused ends a claim that the store does not take, or answers with nonsense.
func (m *machine) claimRefused(now instant, r *run) {
	if r.reason == store.ReasonTakeover { // no skip tells of it
		m.tellRefused(r.job, "claim", r.lastErr)
	}
	if r.unknown { // one before it may have been granted
		m.giveUp(now, r)
		return
	}
	m.skip(r, SkipRefused, 0)
	m.drop(r)
}

// tooEarly asks again when the store's clock reaches the slot, within this
// instance's own max late: newer slots that fall due meanwhile are as early. It
// waits a jitter again, or the one with the fast clock would win every slot.
func (m *machine) tooEarly(now instant, r *run, by time.Duration) {
	by = max(by, 100*time.Millisecond) // never in a tight loop; it is at least half a second
	latest := r.slot + r.job.spec.Timing.MaxLate.Milliseconds()
	if m.stopping || r.job.removed || now.ms()+by.Milliseconds() > latest {
		m.skip(r, SkipEarly, by)
		m.drop(r)
		return
	}
	r.early, r.until = true, latest+1
	jitter := time.Duration(m.within(int64(r.job.spec.Timing.Jitter)))
	m.retryIn(now, r, min(by+jitter, late(latest, now.ms())))
}

// giveUpBefore gives up the claims of slots older than one that is due now.
func (m *machine) giveUpBefore(now instant, j *job, slot int64) {
	for i := len(j.runs) - 1; i >= 0; i-- {
		r := j.runs[i]
		if r.state != asking || r.slot >= slot || r.early || r.reason == store.ReasonTakeover {
			continue
		}
		if r.inFlight {
			r.given = true // its answer still counts, but it is not asked again
		} else {
			m.giveUp(now, r)
		}
	}
}

// giveUp ends a claim that could not be settled in time. One that may have been
// granted is watched: nobody else would know of it until its lease is over.
func (m *machine) giveUp(now instant, r *run) {
	if r.reason == store.ReasonTakeover {
		m.watchAgain(now, r)
		return
	}
	reason := SkipUnreachable
	switch {
	case r.unknown:
		reason = SkipUnknown
	case r.job.removed:
		reason = SkipRemoved
	case r.waiting:
		reason = SkipCapacity
	case r.early:
		reason = SkipEarly
	case r.lastErr == nil: // not asked for yet, and a newer slot fell due
		reason = SkipSuperseded
	}
	m.skip(r, reason, 0)
	if reason == SkipUnreachable || reason == SkipUnknown {
		r.job.missed = max(r.job.missed, r.slot)
		r.job.fresh = r.job.spec.Timing.CatchUp > 0 // by the next sweep that is answered
	}
	if r.unknown && m.leases() && !r.job.removed {
		m.dropGuesses(r.job)
		m.watchRun(now, r, r.after, m.instance, r.job.spec.Timing.Lease)
		return
	}
	m.drop(r)
}

func (m *machine) skip(r *run, reason SkipReason, by time.Duration) {
	m.tellSkip(r, Skipped{Reason: reason, By: by, Err: r.lastErr})
}

// tellSkip names why a slot is not run here. A takeover that is not granted
// skips nothing: the slot had its run.
func (m *machine) tellSkip(r *run, s Skipped) {
	if r.reason == store.ReasonTakeover {
		return
	}
	s.Job, s.Slot, s.Last = r.job.spec.Name, r.slot, r.slot
	m.tell(s)
}

// callTimeout bounds a call about a job: several must fit into a lease.
func callTimeout(j *job) time.Duration {
	return min(max(j.spec.Timing.Lease/3, 250*time.Millisecond), 10*time.Second)
}

const never = math.MaxInt64
