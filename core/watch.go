package core

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// watch is the part of a run that another instance has.
type watch struct {
	holder  string
	end     int64   // monotonic: when its lease is over as far as we know, and it may be claimed
	watched instant // since when
}

// recallState: once a lease the unfinished runs of all jobs are recalled (a
// sweep); while any run is watched, once a heartbeat those of the watched jobs.
type recallState struct {
	watched  int // runs in state watching
	leases   shortest
	beats    shortest // heartbeats
	maxLates shortest
	sweepAt  int64 // monotonic
	beatAt   int64 // monotonic
	inFlight bool
	sweeping bool // the recall in flight is a sweep
	again    bool // and another one was asked for since
	sent     instant
	tries    int
}

func (s *recallState) addJob(t *Timing) {
	s.leases.add(t.Lease)
	s.beats.add(t.Heartbeat)
	s.maxLates.add(t.MaxLate)
}

func (s *recallState) removeJob(t *Timing) {
	s.leases.remove(t.Lease)
	s.beats.remove(t.Heartbeat)
	s.maxLates.remove(t.MaxLate)
}

// sweepNow asks for a sweep. One that is in flight does not do: it may not name
// a job that was added since.
func (s *recallState) sweepNow(now instant) {
	s.sweepAt, s.again = now.mono, true
}

// manyNames: with more jobs, a sweep asks for the whole namespace instead of
// naming each.
const manyNames = 1000

// recalls reports whether this instance asks for unfinished runs, again and again.
func (m *machine) recalls() bool { return m.leases() && !m.stopping && len(m.jobs) > 0 }

// recallDue returns when the next recall is due; ok is false if none is.
func (m *machine) recallDue() (due int64, ok bool) {
	s := &m.recall
	if !m.recalls() || s.inFlight {
		return 0, false
	}
	due = s.sweepAt
	if s.watched > 0 {
		due = min(due, s.beatAt)
	}
	return due, true
}

func (m *machine) recallIfDue(now instant) {
	due, ok := m.recallDue()
	if !ok || now.mono < due {
		return
	}
	s := &m.recall
	s.inFlight, s.sent = true, now
	s.sweeping = now.mono >= s.sweepAt
	if s.sweeping {
		s.again = false
	}
	m.emit(action{kind: doRecall, names: m.recallNames(s.sweeping), timeout: min(max(s.beats.least, time.Second), 10*time.Second)})
}

// recallNames are the jobs to recall; nil stands for all of the namespace.
func (m *machine) recallNames(sweep bool) []string {
	if len(m.jobs) > manyNames && sweep {
		return nil
	}
	var names []string
	for name, j := range m.jobs {
		if sweep || j.watches() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (j *job) watches() bool {
	for _, r := range j.runs {
		if r.state == watching {
			return true
		}
	}
	return false
}

// recallAnswered takes the store's answer to a doRecall.
func (m *machine) recallAnswered(now instant, ans store.UnfinishedAnswer, err error) {
	m.observe(now)
	s := &m.recall
	asked := s.again
	m.heard(now, "recall", s.sent, ans.Now, err)
	s.inFlight = false
	if err != nil {
		s.tries++
		s.beatAt = now.mono + int64(m.backoff(s.tries, s.beats.least))
		if s.sweeping {
			s.sweepAt = s.beatAt
		}
		return
	}
	s.tries = 0
	s.beatAt = max(s.sent.mono+int64(s.beats.least), now.mono)
	// A sweep whose answer says that the store is back need not be repeated.
	swept := s.sweeping && !asked
	if swept {
		s.sweepAt, s.again = max(s.sent.mono+int64(s.leases.least), now.mono), false
	}
	if m.stopping {
		return
	}
	m.dropEnded(ans.Runs)
	for i := range ans.Runs {
		m.noteUnfinished(now, &ans.Runs[i])
	}
	if swept {
		m.catchUp(now, ans.Runs)
	}
}

// noteUnfinished watches a run that the store says is unfinished, or learns more
// of one that is watched already.
func (m *machine) noteUnfinished(now instant, u *store.UnfinishedRun) {
	j := m.jobs[u.Job]
	if j == nil {
		return
	}
	j.noteGranted(u.Newest)
	r := j.find(u.Slot)
	left := u.Left
	if !u.Open {
		left = 0
	}
	if r != nil && r.state == asking && r.early && u.Holder != m.instance {
		m.watchRun(now, r, u.Attempt, u.Holder, left) // the store's clock need not be waited for
		return
	}
	if r != nil && r.state != watching {
		return // ours, or asked for
	}
	m.watchOther(now, j, u.Slot, u.Attempt, u.Holder, left)
}

// dropEnded forgets watched runs that the store did not list: they ended. What
// began to be watched after the question was sent is not judged by the answer.
func (m *machine) dropEnded(runs []store.UnfinishedRun) {
	s := &m.recall
	if s.watched == 0 {
		return
	}
	type key struct {
		job  string
		slot int64
	}
	listed := make(map[key]struct{}, len(runs))
	for i := range runs {
		listed[key{runs[i].Job, runs[i].Slot}] = struct{}{}
	}
	for _, name := range m.recallNames(false) {
		j := m.jobs[name]
		for i := len(j.runs) - 1; i >= 0; i-- {
			r := j.runs[i]
			if _, there := listed[key{name, r.slot}]; !there && r.state == watching && r.watched.mono < s.sent.mono {
				m.drop(r)
			}
		}
	}
}

// watchRun makes a backup of a run that this instance asked for.
func (m *machine) watchRun(now instant, r *run, number int, holder string, left time.Duration) {
	if m.stopping || r.job.removed || !m.leases() {
		m.drop(r)
		return
	}
	left = min(max(left, 0), store.MaxLease) // a store may say anything
	if holder != "" && holder != m.instance && holder != r.holder {
		m.tell(Backup{Job: r.job.spec.Name, Slot: r.slot, Holder: holder, Left: left})
	}
	m.vacate(r)
	if r.state != watching {
		m.setState(r, watching)
		r.watched = now
		if m.recall.watched == 1 {
			// The first run to watch: what was known a moment ago is enough.
			m.recall.beatAt = now.mono + int64(m.recall.beats.least)
		}
	}
	r.holder, r.number = holder, number
	r.end = now.mono + int64(left) + m.within(int64(takeoverJitter(r.job)))
	m.timed.set(r, r.end)
}

// watchOther watches a slot of a job, unless this instance has something else to
// do with it.
func (m *machine) watchOther(now instant, j *job, slot int64, number int, holder string, left time.Duration) {
	if m.stopping || j.removed || !m.leases() || !isSlot(slot) {
		return
	}
	r := j.find(slot)
	if r == nil {
		if len(j.runs) >= mostRuns {
			return
		}
		r = m.newRun(j, slot)
	} else if r.state != watching {
		return
	}
	m.watchRun(now, r, max(number, r.number), holder, left)
}

// mostRuns of a job are watched at once: a store could list millions. The others
// are listed again when these are over.
const mostRuns = 1000

// takeoverJitter spreads the backups of a run at its lease's end, so that not
// all of them ask at once.
func takeoverJitter(j *job) time.Duration {
	return min(j.spec.Timing.Lease/20, 500*time.Millisecond)
}

// guessed: nobody said that there is such a run; only a claim of our own, without
// an answer, may have been granted. The next recall says whether it was, and
// forgets it or makes a backup of us; asking for it would be a first attempt in
// the dress of a takeover.
func (r *run) guessed() bool { return r.state == watching && r.unknown && r.number == 0 }

// dropGuesses keeps a long outage from leaving one behind for each slot. A sweep
// will find what is true of them.
func (m *machine) dropGuesses(j *job) {
	for i := len(j.runs) - 1; i >= 0; i-- {
		if r := j.runs[i]; r.guessed() {
			m.drop(r)
		}
	}
}

// lookWatching asks for a watched run once its lease is over.
func (m *machine) lookWatching(now instant, r *run) {
	if r.guessed() {
		return
	}
	if now.mono < r.end {
		m.timed.set(r, r.end)
		return
	}
	if m.full() || !m.mayTake(now, r) {
		m.watchLater(now, r)
		return
	}
	number := r.number
	r.ask = ask{id: m.newID(), after: number, reason: store.ReasonTakeover, occupies: r.occupies, until: never}
	m.setState(r, asking)
	m.sendClaim(now, r)
}

// mayTake: a newer slot that is due and can still be claimed goes first; then
// the store decides.
func (m *machine) mayTake(now instant, r *run) bool {
	j := r.job
	if j.slot != noSlot && j.slot > r.slot && j.slot <= now.ms() {
		return false // due, in its jitter
	}
	for _, o := range j.runs {
		if o.slot > r.slot && o.state == asking && !o.early {
			return false
		}
	}
	return true
}

// watchAgain goes back to watching after a takeover that was not settled.
func (m *machine) watchAgain(now instant, r *run) {
	if m.stopping || r.job.removed {
		m.drop(r)
		return
	}
	r.number = r.after
	m.vacate(r)
	m.setState(r, watching)
	r.watched = now
	m.watchLater(now, r)
}

func (m *machine) watchLater(now instant, r *run) {
	r.end = now.mono + max(int64(r.job.spec.Timing.Heartbeat)/4, int64(50*time.Millisecond))
	m.timed.set(r, r.end)
}
