package core

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// catchUpHistory is how many attempts are read to see whether a slot was missed
// or skipped: enough for the newest runs with all their attempts.
const catchUpHistory = 20

// catchUp looks, after a sweep, for slots that nobody ran: at start, when a job
// was added, and after the store was unreachable. Only the newest past slot of a
// job is caught up, however many were missed.
func (m *machine) catchUp(now instant, unfinished []store.UnfinishedRun) {
	for _, j := range m.fresh() {
		j.fresh = false
		slot := m.missedSlot(now, j)
		if r := j.find(slot); r != nil {
			j.fresh = r.guessed() // the next sweep knows
			continue
		}
		if slot == noSlot || skippedBy(j, slot, unfinished) {
			continue
		}
		if j.spec.Timing.Overlap == Skip {
			m.emit(action{kind: doHistory, job: j, timeout: callTimeout(j)})
			continue
		}
		m.askForMissed(now, j, slot)
	}
}

// fresh returns the jobs to be caught up, by name: the order must not depend on
// a map.
func (m *machine) fresh() []*job {
	var names []string
	for name, j := range m.jobs {
		if j.fresh {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	jobs := make([]*job, len(names))
	for i, name := range names {
		jobs[i] = m.jobs[name]
	}
	return jobs
}

// missedSlot returns the newest past slot of a job if it is young enough and
// this instance does not know that it, or a newer one, was granted.
func (m *machine) missedSlot(now instant, j *job) int64 {
	ms := now.ms()
	slot := m.prev(j, ms)
	if slot == noSlot || slot <= j.granted || late(ms, slot) >= j.spec.Timing.CatchUp {
		return noSlot
	}
	if slot == j.slot {
		return noSlot // due, in its jitter
	}
	if slot > j.added && slot != j.missed {
		return noSlot // this instance lost it, or skipped it for another reason
	}
	return slot
}

// skippedBy: a slot that fell due while a run of a skip job was unfinished was
// skipped, not missed.
func skippedBy(j *job, slot int64, unfinished []store.UnfinishedRun) bool {
	for i := range unfinished {
		u := &unfinished[i]
		if u.Job == j.spec.Name && (u.Newest >= slot || j.spec.Timing.Overlap == Skip && u.Slot < slot) {
			return true
		}
	}
	return false
}

// historyAnswered takes the store's answer to a doHistory: was a run unfinished
// at the missed slot's time?
func (m *machine) historyAnswered(now instant, j *job, ans store.HistoryAnswer, err error) {
	m.observe(now)
	m.heard(now, "history", now, 0, err) // its sending time is not kept: no judging of the clock
	if m.stopping || j.removed {
		return
	}
	if err != nil {
		if classify(err).invalid() { // as it would be again
			m.tellRefused(j, "history", err)
			return
		}
		j.fresh = true // the store's return is a reason to look again
		return
	}
	slot := m.missedSlot(now, j)
	if r := j.find(slot); r != nil {
		j.fresh = r.guessed()
		return
	}
	if slot == noSlot {
		return
	}
	if !unfinishedAt(slot, ans.Attempts) {
		m.askForMissed(now, j, slot)
	}
}

// unfinishedAt reports whether a slot was run, or skipped because a run was
// unfinished at its time; also one that was between two of its attempts, or handed over
// to nobody.
func unfinishedAt(slot int64, newestFirst []store.Attempt) bool {
	var run, end int64 // the run that is looked at
	for i := range newestFirst {
		a := &newestFirst[i]
		if i == 0 || a.Slot != run {
			run, end = a.Slot, a.EndedAt // of its last attempt
			if i > 0 && a.HandedOver {
				end = max(end, newestFirst[i-1].StartedAt) // nobody went on: a newer run that was granted closed it
			}
		}
		if a.Slot >= slot || a.StartedAt <= slot && (end == 0 || end > slot) {
			return true
		}
	}
	return false
}

// askForMissed claims a missed slot after a jitter, so that instances that start
// together do not all ask at once.
func (m *machine) askForMissed(now instant, j *job, slot int64) {
	until := slot + j.spec.Timing.CatchUp.Milliseconds()
	if j.slot != noSlot {
		until = min(until, j.slot)
	}
	j.missed = noSlot
	r := m.newRun(j, slot)
	r.ask = ask{id: m.newID(), reason: store.ReasonCatchUp, until: until}
	m.setState(r, asking)
	m.retryIn(now, r, time.Duration(m.within(int64(j.spec.Timing.Jitter))))
}
