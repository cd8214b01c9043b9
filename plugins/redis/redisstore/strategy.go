package redisstore

import (
	"strconv"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// strategy is one way to decide claims: its scripts, and what they are told.
type strategy struct {
	kind store.Kind
	keys func(job string) [3]string // of a job, by its escaped name

	claim, finish, history *script
	heartbeat, unfinished  *script // nil on claim-only strategies

	// extra are the arguments that this strategy's claim has after those of its
	// kind; memory those that all its scripts have at their end.
	extra, memory []any
}

// newStrategy makes the scripts of a strategy. clock is the text of their part
// "clock".
func newStrategy(s *settings, keys keyspace, clock string) *strategy {
	lua := func(flags string, parts ...string) *script {
		return newScript(clock, flags, append([]string{"clock", "numbers", "attempt"}, parts...)...)
	}
	if s.strategy == strategyLease {
		return &strategy{
			kind: store.KindLease, keys: keys.leaseKeys,
			claim:      lua(flagsNone, "lease", "lease_claim"),
			heartbeat:  lua(flagsAllowOOM, "lease", "lease_heartbeat"),
			finish:     lua(flagsAllowOOM, "lease", "lease_finish"),
			unfinished: lua(flagsAllowOOM, "lease", "lease_unfinished"),
			history:    lua(flagsNoWrites, "lease", "lease_history"),
		}
	}
	t := &strategy{
		kind: store.KindClaimOnly, keys: keys.takenKeys,
		finish:  lua(flagsAllowOOM, "taken", "taken_finish"),
		history: lua(flagsNoWrites, "taken", "taken_history"),
	}
	switch s.strategy {
	case strategyStreamID:
		t.claim = lua(flagsNone, "taken", "taken_claim", "stream_claim")
		t.extra = []any{ms(s.maxFuture)}
	case strategyIDMP:
		t.claim = lua(flagsNone, "taken", "taken_claim", "idmp_claim")
		t.extra = []any{int64(s.duration / time.Second), s.maxSize}
	case strategyScript:
		t.claim = lua(flagsNone, "taken", "script_forget", "taken_claim", "script_claim")
		t.finish = lua(flagsAllowOOM, "taken", "script_forget", "taken_finish")
		t.history = lua(flagsAllowOOM, "taken", "script_forget", "taken_history")
		t.memory = []any{ms(s.window), s.runs}
	}
	return t
}

// call is a step of a job.
func (t *strategy) call(s *script, job string, args ...any) call {
	keys := t.keys(escape(job, plainInKey))
	return call{script: s, keys: keys[:], args: append(args, t.memory...)}
}

func (t *strategy) claimCall(q *store.ClaimRequest) call {
	// As they are stored: a script that need not take them apart does not.
	who := escape(q.Instance, plainInWord) + " " + q.Reason.String()
	schedule := strconv.Itoa(q.HistorySize) + " =" + escape(q.Fingerprint, plainInWord)
	late := ms(q.MaxLate) + ms(store.LateTolerance)
	if t.kind == store.KindLease {
		skipMax := "0 "
		if q.Overlap == store.OverlapSkip {
			skipMax = "1 "
		}
		return t.call(t.claim, q.Job,
			q.Slot, q.ID.String(), q.After, who, ms(q.Lease), ms(q.MaxEarly), late,
			skipMax+strconv.Itoa(q.MaxAttempts), schedule, escape(q.Job, plainInKey))
	}
	args := []any{q.Slot, q.ID.String(), q.After, who, ms(q.MaxEarly), late, schedule}
	return t.call(t.claim, q.Job, append(args, t.extra...)...)
}

func (t *strategy) heartbeatCall(q *store.HeartbeatRequest) call {
	return t.call(t.heartbeat, q.Job, q.Slot, int64(q.Token), ms(q.Lease))
}

func (t *strategy) finishCall(q *store.FinishRequest) call {
	text := escape(store.CutError(q.Error), plainInWord)
	return t.call(t.finish, q.Job, q.Slot, int64(q.Token), q.Outcome.String(), text)
}

// ms drops what is finer than the protocol's unit.
func ms(d time.Duration) int64 { return d.Milliseconds() }
