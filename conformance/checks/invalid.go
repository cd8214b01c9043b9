package checks

import (
	"errors"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// invalid: requests that break a rule of the protocol.
func invalid() []kit.Check {
	return []kit.Check{{
		ID:       "errors/claim-bounds",
		Promises: []string{"R-ERROR-1"},
		Says:     "a claim with one field just outside its bounds is invalid, the error names the field, nothing is written, and the same claim within bounds is granted",
		Causes:   "a bound is not checked, or only by the store's own error; the error is of another class",
		Do:       claimBounds,
	}, {
		ID:       "errors/finish-bounds",
		Promises: []string{"R-ERROR-1"},
		Says:     "a finish with one field outside its bounds is invalid, names the field, and leaves the attempt open",
		Causes:   "an unknown outcome is recorded as interrupted",
		Do:       finishBounds,
	}, {
		ID:       "errors/heartbeat-bounds",
		Promises: []string{"R-ERROR-1"},
		Says:     "a heartbeat with one field outside its bounds is invalid, names the field, and renews nothing",
		Causes:   "a lease of 0 ends the lease; a month in milliseconds overflows 32 bits",
		Applies:  promise.Lease,
		Do:       heartbeatBounds,
	}, {
		ID:       "errors/recall-bounds",
		Promises: []string{"R-ERROR-1"},
		Says:     "a history of 0 or of 10 001 attempts, and a recall of a job without a name, are invalid and name the field",
		Causes:   "0 means all",
		Do:       recallBounds,
	}, {
		ID:       "errors/unknown-run",
		Promises: []string{"R-TOKEN-3", "R-FINISH-3"},
		Says:     "heartbeat and finish of a job, or of a slot, that was never granted are lost, and leave nothing behind",
		Causes:   "not found is an error; the write creates the record",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       unknownRun,
	}}
}

// wantInvalid fails unless err is invalid and names the field.
func wantInvalid(r *kit.Run, what, field string, err error) {
	switch {
	case !errors.Is(err, store.ErrInvalid):
		r.Fatalf("%s: want the error invalid, got %v", what, err)
	case !strings.Contains(err.Error(), field):
		r.Fatalf("%s: the error must name the field %q; it is %q", what, field, err)
	}
}

type badClaim struct {
	field string
	set   func(*store.ClaimRequest)
}

func badClaims() []badClaim {
	type q = *store.ClaimRequest
	return []badClaim{
		{"slot", func(c q) { c.Slot = store.MinSlot - 1 }},
		{"slot", func(c q) { c.Slot = store.MaxSlot + 1 }},
		{"claim id", func(c q) { c.ID = store.ClaimID{} }},
		{"after", func(c q) { c.After = -1 }},
		{"instance", func(c q) { c.Instance = "" }},
		{"instance", func(c q) { c.Instance = strings.Repeat("x", store.MaxNameBytes+1) }},
		{"instance", func(c q) { c.Instance = "\xff" }},
		{"reason", func(c q) { c.Reason = 0 }},
		{"reason", func(c q) { c.Reason = 99 }},
		{"lease", func(c q) { c.Lease = 0 }},
		{"lease", func(c q) { c.Lease = time.Millisecond - 1 }},
		{"lease", func(c q) { c.Lease = -time.Second }},
		{"lease", func(c q) { c.Lease = store.MaxLease + time.Millisecond }},
		{"max early", func(c q) { c.MaxEarly = -time.Millisecond }},
		{"max early", func(c q) { c.MaxEarly = store.MaxBound + time.Millisecond }},
		{"max late", func(c q) { c.MaxLate = -time.Millisecond }},
		{"max late", func(c q) { c.MaxLate = store.MaxBound + time.Millisecond }},
		{"overlap", func(c q) { c.Overlap = 0 }},
		{"overlap", func(c q) { c.Overlap = 3 }},
		{"max attempts", func(c q) { c.MaxAttempts = 0 }},
		{"max attempts", func(c q) { c.MaxAttempts = store.MaxAttemptsCap + 1 }},
		{"history size", func(c q) { c.HistorySize = 0 }},
		{"history size", func(c q) { c.HistorySize = store.MaxHistory + 1 }},
		{"fingerprint", func(c q) { c.Fingerprint = strings.Repeat("x", store.MaxFingerprint+1) }},
		{"fingerprint", func(c q) { c.Fingerprint = "\xff" }},
	}
}

// badNames are no names, and each is invalid.
var badNames = []string{"", strings.Repeat("x", store.MaxNameBytes+1), strings.Repeat("x", 100_000), "\xff", "a\xc3", strings.Repeat("é", store.MaxNameBytes/2) + "x"}

func claimBounds(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	good := r.Ask(job, 0, "a")
	for _, bad := range badClaims() {
		req := good
		bad.set(&req)
		_, err := p[0].TryClaim(req)
		wantInvalid(r, "a claim with a bad "+bad.field, bad.field, err)
	}
	for _, name := range badNames {
		req := good
		req.Job = name
		_, err := p[0].TryClaim(req)
		wantInvalid(r, "a claim of a job with a bad name", "job", err)
	}
	if r.Description().History {
		if h := p[1].History(job); len(h) != 0 {
			r.Fatalf("invalid claims left attempts in the history: %+v", h)
		}
	}
	// The same id and all: nothing of it was kept.
	good.Lease, good.MaxEarly, good.MaxLate = store.MaxLease, store.MaxBound, store.MaxBound
	good.MaxAttempts, good.HistorySize, good.Fingerprint = store.MaxAttemptsCap, store.MaxHistory, strings.Repeat("x", store.MaxFingerprint)
	if g := p[1].Win(good); g.Attempt != 1 {
		r.Fatalf("after invalid claims, the first attempt of the run is %d", g.Attempt)
	}
}

func finishBounds(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "a"))
	good := g.End(store.OutcomeSuccess, "")
	for _, bad := range []struct {
		field string
		set   func(*store.FinishRequest)
	}{
		{"slot", func(f *store.FinishRequest) { f.Slot = store.MaxSlot + 1 }},
		{"token", func(f *store.FinishRequest) { f.Token = -1 }},
		{"outcome", func(f *store.FinishRequest) { f.Outcome = 0 }},
		{"outcome", func(f *store.FinishRequest) { f.Outcome = 5 }},
	} {
		req := good
		bad.set(&req)
		_, err := p[0].TryFinish(req)
		wantInvalid(r, "a finish with a bad "+bad.field, bad.field, err)
	}
	for _, name := range badNames {
		req := good
		req.Job = name
		_, err := p[0].TryFinish(req)
		wantInvalid(r, "a finish of a job with a bad name", "job", err)
	}
	p[1].Refused(another(r, g, "b"), takenAs(r))
	p[1].Record(g, store.OutcomeSuccess, "")
}

func heartbeatBounds(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "a"))
	good := g.Beat(store.MaxLease)
	for _, bad := range []struct {
		field string
		set   func(*store.HeartbeatRequest)
	}{
		{"slot", func(h *store.HeartbeatRequest) { h.Slot = store.MaxSlot + 1 }},
		{"token", func(h *store.HeartbeatRequest) { h.Token = -1 }},
		{"lease", func(h *store.HeartbeatRequest) { h.Lease = 0 }},
		{"lease", func(h *store.HeartbeatRequest) { h.Lease = store.MaxLease + time.Millisecond }},
	} {
		req := good
		bad.set(&req)
		_, err := p[0].TryHeartbeat(req)
		wantInvalid(r, "a heartbeat with a bad "+bad.field, bad.field, err)
	}
	for _, name := range badNames {
		req := good
		req.Job = name
		_, err := p[0].TryHeartbeat(req)
		wantInvalid(r, "a heartbeat of a job with a bad name", "job", err)
	}
	a := p[1].Refused(g.Next("b"), store.VerdictRunning)
	leftWithin(r, g, a.Left, a.Span)

	g = p[0].Renew(g, store.MaxLease)
	a = p[1].Refused(g.Next("b"), store.VerdictRunning)
	leftWithin(r, g, a.Left, a.Span)
}

func recallBounds(r *kit.Run) {
	c := r.Open(1)[0]
	for _, limit := range []int{0, -1, store.MaxHistory + 1} {
		_, err := c.TryHistory(store.HistoryRequest{Job: r.Job("j"), Limit: limit})
		wantInvalid(r, "a history with a bad limit", "limit", err)
	}
	for _, name := range badNames {
		_, err := c.TryHistory(store.HistoryRequest{Job: name, Limit: 1})
		wantInvalid(r, "the history of a job with a bad name", "job", err)
		if r.Leases() {
			_, err = c.TryUnfinished(r.Job("j"), name)
			wantInvalid(r, "recall of a job with a bad name", "job", err)
		}
	}
}

func unknownRun(r *kit.Run) {
	p := r.Open(2)
	for _, known := range []bool{false, true} {
		job := r.Job("unknown")
		var before []store.Attempt
		if known {
			job = r.Job("known")
			p[0].Win(r.Ask(job, 5, "a"))
			before = p[0].History(job)
		}
		ghost := kit.Grant{Req: r.Ask(job, 6, "ghost")}
		for _, ghost.Token = range []store.Token{0, 1, 1 << 40} {
			p[0].BeatLost(ghost.Beat(kit.Long), "of a run that was never granted")
			for _, o := range []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted, store.OutcomeReleased} {
				p[1].FinishLost(ghost.End(o, "ghost"), "of a run that was never granted")
			}
		}
		wantUntouched(r, p[1], job, before, "a call for a run that was never granted")
		p[1].Refused(ghost.Req, map[bool]store.Verdict{false: store.VerdictWon, true: store.VerdictOverlap}[known])
	}
}
