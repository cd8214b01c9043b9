package core

import (
	"fmt"
	"math"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// job is a job in the machine. Most of its life it only waits for its next
// slot, so it is small.
type job struct {
	// What is looked at for each slot comes first, and together: with many jobs
	// reading a job from memory is most of the work.
	at        int32 // ticket of machine.slots
	fresh     bool  // catch-up is to be looked at
	removed   bool
	broken    bool   // its schedule panicked: no more slots are planned
	slot      int64  // the next slot, Unix milliseconds
	following int64  // the one after it; noSlot if there is none
	runs      []*run // what this instance has to do with

	spec    Job // checked, with all defaults filled in
	gap     time.Duration
	fp      string // fingerprint of the schedule
	added   int64  // when it was added, Unix milliseconds
	missed  int64  // newest slot skipped because the store could not be asked
	granted int64  // newest slot known to have been granted, here or elsewhere
	warned  string
}

func (j *job) place() *int32 { return &j.at }

const noSlot = store.MinSlot - 1

// lastSlot is the last one that is planned, a day before the wall clock's
// nanoseconds overflow in the year 2262.
const lastSlot = (math.MaxInt64 - int64(24*time.Hour)) / int64(time.Millisecond)

func (m *machine) add(now instant, spec Job) {
	m.observe(now)
	if m.stopping {
		return
	}
	j := &job{
		spec: spec, at: -1,
		added: now.ms(), missed: noSlot, granted: noSlot, fresh: spec.Timing.CatchUp > 0,
	}
	m.jobs[spec.Name] = j
	if panicked := guarded(func() { j.gap, j.fp = spec.Schedule.MinGap(), fingerprint(spec.Schedule) }); panicked != "" {
		m.setAside(j, panicked)
	}
	m.recall.addJob(&j.spec.Timing)
	m.plan(j, now.ms())
	if m.leases() {
		m.recall.sweepNow(now)
	}
}

// remove forgets a job. Its running handlers go on and are finished as usual.
func (m *machine) remove(now instant, name string) {
	m.observe(now)
	j := m.jobs[name]
	if j == nil {
		return
	}
	delete(m.jobs, name)
	j.removed = true
	m.recall.removeJob(&j.spec.Timing)
	m.slots.remove(j)
	m.skipDue(now, j, SkipRemoved)
	for i := len(j.runs) - 1; i >= 0; i-- {
		switch r := j.runs[i]; {
		case r.state == watching:
			m.drop(r)
		case r.state == asking && !r.inFlight:
			m.skip(r, unlessUnknown(r, SkipRemoved), 0)
			m.drop(r)
		}
	}
}

// skipDue names the slots that are due and not asked for yet: they are in their jitter.
func (m *machine) skipDue(now instant, j *job, reason SkipReason) {
	slot, last, ms := j.slot, j.slot, now.ms()
	if slot == noSlot || slot > ms || j.find(slot) != nil {
		return
	}
	if j.following != noSlot && j.following <= ms {
		last = max(m.prev(j, ms), j.following)
	}
	m.tell(Skipped{Job: j.spec.Name, Slot: slot, Last: last, Reason: reason})
}

// plan sets the job's timer for its first slot after the given one.
func (m *machine) plan(j *job, after int64) {
	if j.following > after && j.slot == after {
		j.slot = j.following // the usual step: computed before
	} else {
		j.slot = m.next(j, after)
	}
	if j.slot == noSlot {
		m.slots.remove(j)
		return
	}
	if j.following = m.next(j, j.slot); j.broken {
		return
	}
	delay := m.within(int64(j.spec.Timing.Jitter))
	if j.following != noSlot {
		// Where a clock change makes a gap smaller than the nominal one, the
		// jitter windows of two slots must still not meet.
		delay = min(delay, (wallMs(j.following)-wallMs(j.slot)-1)/2)
	}
	due := wallMs(j.slot) + delay
	if due < wallMs(j.slot) {
		due = math.MaxInt64
	}
	m.slots.set(j, due)
}

// next returns the schedule's first slot after the given one. A schedule is
// foreign code: one that does not move forward has no further slot, nor has one
// that panics.
func (m *machine) next(j *job, after int64) int64 {
	t := time.UnixMilli(after)
	for range 2 { // the first may be the given slot again, before its fraction was cut
		if t = m.ask(j, Schedule.Next, t); t.IsZero() {
			return noSlot
		}
		if n := t.UnixMilli(); n > after {
			if n > lastSlot {
				return noSlot
			}
			return n
		}
	}
	return noSlot
}

// prev returns the schedule's newest slot at or before the given time, also one
// that only its fraction puts after it.
func (m *machine) prev(j *job, at int64) int64 {
	t := m.ask(j, Schedule.Prev, time.UnixMilli(at+1).Add(-1))
	if t.IsZero() {
		return noSlot
	}
	if n := t.UnixMilli(); n <= at && n >= store.MinSlot {
		return n
	}
	return noSlot
}

// ask asks a job's schedule, which may panic. The zero time is no slot.
func (m *machine) ask(j *job, method func(Schedule, time.Time) time.Time, t time.Time) (slot time.Time) {
	if j.broken {
		return time.Time{}
	}
	defer func() {
		if v := recover(); v != nil {
			slot = time.Time{}
			m.setAside(j, fmt.Sprint(v))
		}
	}()
	return method(j.spec.Schedule, t)
}

// setAside plans a job no more. What it has under way goes on, and so do the other
// jobs: one bad schedule must not take them down.
func (m *machine) setAside(j *job, panicked string) {
	j.broken, j.fresh = true, false
	j.slot, j.following = noSlot, noSlot
	m.slots.remove(j)
	m.tell(ScheduleBroken{Job: j.spec.Name, Panic: panicked})
}

// slotDue: a slot's jitter is over. Only the newest slot that is due is claimed:
// a stale run after a newer one helps nobody.
func (m *machine) slotDue(now instant, j *job) {
	slot, following, ms := j.slot, j.following, now.ms()
	if following != noSlot && ms >= following {
		newest := max(m.prev(j, ms), following)
		reason := SkipSuperseded
		if late(ms, slot) > j.spec.Timing.MaxLate {
			reason = SkipLate
		}
		m.tell(Skipped{Job: j.spec.Name, Slot: slot, Last: max(m.prev(j, newest-1), slot), Reason: reason, By: late(ms, slot)})
		slot = newest
	}
	m.giveUpBefore(now, j, slot)
	m.plan(j, slot)
	if by := late(ms, slot); by > j.spec.Timing.MaxLate {
		m.tell(Skipped{Job: j.spec.Name, Slot: slot, Last: slot, Reason: SkipLate, By: by})
		return
	}
	if j.find(slot) != nil {
		return // already watched, or asked for by catch-up
	}
	until := slot + j.spec.Timing.MaxLate.Milliseconds()
	if j.slot != noSlot {
		until = min(until, j.slot)
	}
	m.askFor(now, j, slot, store.ReasonScheduled, until)
}

// find returns what this instance has to do with a slot of the job, or nil.
func (j *job) find(slot int64) *run {
	for _, r := range j.runs {
		if r.slot == slot {
			return r
		}
	}
	return nil
}

// noteGranted takes a slot that the store says was granted, if it can be one.
func (j *job) noteGranted(slot int64) {
	if isSlot(slot) {
		j.granted = max(j.granted, slot)
	}
}

// isSlot reports whether a slot that a store names is one of the protocol.
func isSlot(slot int64) bool { return slot >= store.MinSlot && slot <= store.MaxSlot }

// late is the time from a slot to now. It stops at the longest duration, 292 years;
// what a store names, or never, is further away than that.
func late(nowMs, slot int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	const far = math.MaxInt64 / 2 // so that the difference does not overflow
	by := max(-far, min(nowMs, far)) - max(-far, min(slot, far))
	return time.Duration(max(-most, min(by, most))) * time.Millisecond
}
