package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// healthState follows whether the store answers, reads (recall, history) apart from
// writes (claim, heartbeat, finish): a store that is locked, full or a replica
// answers the one and not the other, and must not seem to come back each time.
type healthState struct {
	reads, writes error   // of the last call, if it failed
	told          bool    // StoreError was, and StoreBack was not
	since         instant // the first call that failed was sent then
	repeated      int     // runs with a write that failed and is to be sent again

	refused map[refusal]struct{} // told of
}

// err returns why the store is not healthy, or nil.
func (h *healthState) err() error { return cmp.Or(h.writes, h.reads) }

// heard notes what a call says about the store: whether it answers, and what its
// clock shows. The call was sent at the given instant; storeNow is 0 if the
// answer carries none.
func (m *machine) heard(now instant, verb string, sent instant, storeNow int64, err error) {
	h := &m.health
	reads := verb == "recall" || verb == "history"
	kind := &h.writes
	if reads {
		kind = &h.reads
	}
	// An invalid claim is the claim's fault; a recall has nothing that could be wrong.
	if err != nil && (verb == "recall" || !classify(err).invalid()) {
		*kind = err
		if !h.told {
			h.told, h.since = true, sent
			m.tell(StoreError{During: verb, Err: err})
		}
		return
	}
	if storeNow > 0 {
		m.noteSkew(now, sent, storeNow)
	}
	*kind = nil
	// What is not asked any more says nothing about now, and nobody would find out
	// before the next slot is due.
	if reads && h.repeated == 0 {
		h.writes = nil
	}
	if !reads && !m.recalls() {
		h.reads = nil
	}
	if !h.told || h.err() != nil {
		return
	}
	h.told = false
	down := now.since(h.since)
	m.tell(StoreBack{Down: down})
	if m.leases() && down > m.recall.beats.least {
		// As at start: other instances may have died, and slots may have been
		// missed, while the store was away.
		m.recall.sweepNow(now)
	}
}

// tellRefused tells once that the store does not do something for a job that every store
// does, and that nobody would miss: a takeover, or to read its history.
func (m *machine) tellRefused(j *job, verb string, err error) {
	what := refusal{j.spec.Name, verb}
	if _, told := m.health.refused[what]; told {
		return
	}
	if m.health.refused == nil {
		m.health.refused = make(map[refusal]struct{})
	}
	m.health.refused[what] = struct{}{}
	m.tell(StoreError{During: verb, Err: fmt.Errorf("job %q: %w", j.spec.Name, err)})
}

type refusal struct{ job, verb string }

// noteWrites counts a run whose write failed, as long as it is to be sent again; also
// one that is in no job's list any more.
func (m *machine) noteWrites(r *run) {
	repeats := false
	switch r.state {
	case asking:
		repeats = r.lastErr != nil
	case confirming, running, finishing:
		repeats = r.beatErr != nil && m.renews(r) || r.finishErr != nil
	}
	switch {
	case repeats && !r.repeats:
		m.health.repeated++
	case !repeats && r.repeats:
		m.health.repeated--
	}
	r.repeats = repeats
}

// forgetFailures: where nothing reads, no answer comes after the last failed write was
// given up. That the store fails now is then not known either; whether it is back, the
// next call tells.
func (m *machine) forgetFailures() {
	h := &m.health
	if h.err() == nil || m.recalls() {
		return
	}
	h.reads = nil
	if h.repeated == 0 {
		h.writes = nil
	}
}

// clockState follows this instance's two clocks and the store's.
type clockState struct {
	seen     bool
	offset   int64 // wall − monotonic at the last look
	expected int64 // monotonic: when the driver was to call tick
	paused   time.Duration
	skew     skewLevel // told so far
}

type skewLevel uint8

const (
	skewNone skewLevel = iota
	skewSmall
	skewSevere
)

const (
	jumpBound = time.Second // smaller differences are drift, corrected by the next look
	skewBound = time.Second
)

// observe notices a wall clock that jumped against the monotonic one.
func (m *machine) observe(now instant) {
	c := &m.clocks
	offset := now.wall - now.mono
	by := time.Duration(offset - c.offset)
	first := !c.seen
	c.seen, c.offset = true, offset
	if first || by.Abs() <= jumpBound {
		return
	}
	m.tell(ClockJump{By: by})
	if by < 0 {
		m.replan(now)
	} else {
		m.giveUpSooner(now)
	}
	// A lease counts on whichever clock ran further: look at all of them.
	for _, r := range m.running() {
		m.lookAttempt(now, r)
	}
}

// replan plans all jobs again from a wall clock that went back. On lease
// backends the store knows which slots were granted; claim-only backends may
// have forgotten, so there a slot known to be granted is not planned again.
func (m *machine) replan(now instant) {
	if m.stopping {
		return
	}
	for _, name := range m.jobNames() {
		j := m.jobs[name]
		after := now.ms()
		if !m.leases() {
			after = max(after, j.granted)
		}
		if j.slot != noSlot && j.slot <= now.ms() {
			continue // due, in its jitter
		}
		j.slot = noSlot
		m.plan(j, after)
	}
}

// giveUpSooner sets the timers of claims that wait anew: when they are given up is a
// matter of the wall clock, which is nearer to it now.
func (m *machine) giveUpSooner(now instant) {
	for _, name := range m.jobNames() {
		for _, r := range m.jobs[name].runs {
			if r.state == asking && !r.inFlight && r.until != never {
				m.timed.sooner(r, now.mono+max(int64(late(r.until, now.ms())), 0))
			}
		}
	}
}

// noticePause tells of a process that did not run when it should have.
func (m *machine) noticePause(now instant) {
	c := &m.clocks
	if c.expected == 0 {
		return
	}
	pause := time.Duration(now.mono - c.expected)
	c.expected = 0
	lease := m.recall.leases.least
	if !m.leases() || lease == 0 || lease >= 3*pause || pause < 2*c.paused {
		return
	}
	c.paused = pause
	m.tell(Paused{For: pause, Lease: lease})
}

// noteSkew compares the store's clock with this instance's. The store read its
// clock between the call's sending and its answer, so the true difference lies
// between two bounds; only what is certain is told.
func (m *machine) noteSkew(now, sent instant, storeNow int64) {
	low := late(storeNow, now.ms()+1)
	high := late(storeNow, sent.ms()-1)
	var by time.Duration
	switch {
	case low > 0:
		by = low
	case high < 0:
		by = high
	}
	level := skewNone
	switch {
	case by.Abs() > m.shortestMaxLate():
		level = skewSevere
	case by.Abs() > skewBound:
		level = skewSmall
	}
	c := &m.clocks
	if level > c.skew {
		c.skew = level
		m.tell(ClockSkew{By: by, Severe: level == skewSevere})
	}
	// A difference about the bound, or one that a slow answer hides, is not
	// told again and again: first it must surely be small.
	if max(low.Abs(), high.Abs()) < skewBound/2 {
		c.skew = skewNone
	}
}

func (m *machine) shortestMaxLate() time.Duration {
	if m.recall.maxLates.least == 0 {
		return defaultMaxLate
	}
	return m.recall.maxLates.least
}

// noteFingerprint compares this instance's schedule with that of the instance
// that claimed before it.
func (m *machine) noteFingerprint(j *job, theirs string) {
	if theirs == "" || theirs == j.fp || theirs == j.warned {
		return
	}
	j.warned = theirs
	m.tell(ScheduleMismatch{Job: j.spec.Name, Ours: j.fp, Theirs: theirs})
}

// jobNames returns the names of all jobs in order: nothing that an instance does
// may depend on a map's order.
func (m *machine) jobNames() []string {
	names := make([]string, 0, len(m.jobs))
	for name := range m.jobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// running returns the runs whose handlers run, in order.
func (m *machine) running() []*run {
	if len(m.handlers) == 0 {
		return nil
	}
	runs := make([]*run, 0, len(m.handlers))
	for r := range m.handlers {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *run) int {
		return cmp.Or(strings.Compare(a.job.spec.Name, b.job.spec.Name), cmp.Compare(a.slot, b.slot), cmp.Compare(a.number, b.number))
	})
	return runs
}
