package core

// stop begins the graceful stop: no new claims; grants that still arrive are
// given back; running handlers are cancelled after the grace and then have the
// stop timeout to return. Heartbeats go on until then. It is over when idle
// says so.
func (m *machine) stop(now instant) {
	m.observe(now)
	if m.stopping {
		return
	}
	m.stopping = true
	for _, name := range m.jobNames() {
		j := m.jobs[name]
		m.slots.remove(j)
		m.skipDue(now, j, SkipStopped)
		for i := len(j.runs) - 1; i >= 0; i-- {
			switch r := j.runs[i]; {
			case r.state == watching:
				m.drop(r)
			case r.state == asking && !r.inFlight:
				m.skip(r, unlessUnknown(r, SkipStopped), 0)
				m.drop(r)
			case r.state == confirming && !r.beating:
				m.giveBack(now, r, ErrStopped)
			}
		}
	}
	m.graceEnd = now.mono + int64(m.grace)
	if m.grace == 0 {
		m.cancelAll(now)
	}
}

// unlessUnknown: a claim that may have been granted must not be called anything else.
func unlessUnknown(r *run, reason SkipReason) SkipReason {
	if r.unknown {
		return SkipUnknown
	}
	return reason
}

// cancelAll cancels every running handler that was not cancelled yet.
func (m *machine) cancelAll(now instant) {
	m.graceEnd = 0
	for _, r := range m.running() {
		if r.cause == nil {
			m.cancel(now, r, ErrStopped)
			m.lookAttempt(now, r)
		}
	}
}

// idle reports whether a stopping machine has nothing left to do. Handlers that
// ignore their context are not waited for; stuckRuns names them.
func (m *machine) idle() bool {
	if !m.stopping {
		return false
	}
	for r := range m.handlers {
		if !r.quiet {
			return false
		}
	}
	return m.pending == 0
}

// stuckRuns returns the runs whose handlers did not return in time.
func (m *machine) stuckRuns() []Run {
	var runs []Run
	for _, r := range m.running() {
		runs = append(runs, m.describe(r))
	}
	return runs
}
