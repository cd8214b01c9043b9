package sqlitestore

import (
	"errors"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The tables below tell single stories of the rules; model_test.go walks
// through all of them at random.

const (
	slot1 = int64(1_000_000)
	slot2 = slot1 + 60_000
	slot3 = slot2 + 60_000
)

var id1, id2 = store.ClaimID{1}, store.ClaimID{2}

// held is an open attempt of a run that says skip, with a lease of 30 s.
func held(slot, leaseEnd int64, change ...func(*attempt)) *attempt {
	a := &attempt{
		slot: slot, number: 1, token: 77, claim: id1, instance: "holder", reason: store.ReasonScheduled,
		overlap: store.OverlapSkip, lease: 30_000, leaseEnd: leaseEnd, max: 3, counted: 1,
		unfinished: true, status: store.StatusRunning, startedAt: slot,
	}
	for _, f := range change {
		f(a)
	}
	return a
}

func released(a *attempt) {
	a.status, a.handedOver, a.counted = store.StatusInterrupted, true, a.counted-1
}
func allowing(a *attempt) { a.overlap = store.OverlapAllow }

func jobState(now, newest int64, runs ...*attempt) *state {
	return &state{now: now, runs: runs, job: job{id: 1, newest: newest, lastToken: 77, historySize: 100, fingerprint: "f0"}}
}

func asking(slot int64, change ...func(*store.ClaimRequest)) *store.ClaimRequest {
	q := &store.ClaimRequest{
		Job: "j", Slot: slot, ID: id2, Instance: "asker", Reason: store.ReasonScheduled, Lease: 20 * time.Second,
		MaxEarly: 10 * time.Second, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100, Fingerprint: "f1",
	}
	for _, f := range change {
		f(q)
	}
	return q
}

func after(n int) func(*store.ClaimRequest) { return func(q *store.ClaimRequest) { q.After = n } }

func TestDecideClaim(t *testing.T) {
	ended := held(slot2, 0, func(a *attempt) { a.unfinished, a.status = false, store.StatusFailed })
	tests := []struct {
		name  string
		state *state
		ended *attempt
		ask   *store.ClaimRequest
		want  store.ClaimAnswer // Fingerprint "f0" and Now are filled in
	}{
		{"first of a run", jobState(slot2, slot1), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: store.Token(slot2), Left: 20 * time.Second}},
		{"token rises though the clock went back", &state{now: slot2, job: job{id: 1, newest: slot1, lastToken: 5e12, fingerprint: "f0"}}, nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 5e12 + 1, Left: 20 * time.Second}},
		{"1: the same wish", jobState(slot2+10_000, slot2, held(slot2, slot2+30_000)), nil,
			asking(slot2, func(q *store.ClaimRequest) { q.ID, q.Instance = id1, "holder" }),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 77, Left: 20 * time.Second}},
		{"1: the same wish, lease over", jobState(slot2+40_000, slot2, held(slot2, slot2+30_000)), nil,
			asking(slot2, func(q *store.ClaimRequest) { q.ID, q.Instance = id1, "holder" }),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 77}},
		{"2: ended", jobState(slot2, slot2), ended, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictFinished, Status: store.StatusFailed}},
		{"2: ended, record gone", jobState(slot2, slot2), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictFinished}},
		{"3: held", jobState(slot2+29_999, slot2, held(slot2, slot2+30_000)), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: 1, Holder: "holder", Left: time.Millisecond}},
		{"3 before 4: held, though a newer one was granted", jobState(slot1, slot2, held(slot1, slot1+1)), nil, asking(slot1),
			store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: 1, Holder: "holder", Left: time.Millisecond}},
		{"3: the clock went back", jobState(slot2, slot2, held(slot2, slot2+3_600_000)), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: 1, Holder: "holder", Left: 30 * time.Second}},
		{"4: never granted, a newer one was", jobState(slot2, slot2), nil, asking(slot1),
			store.ClaimAnswer{Verdict: store.VerdictSuperseded, Slot: slot2}},
		{"4: unfinished, a newer one was granted", jobState(slot2, slot2, held(slot1, slot1)), nil, asking(slot1),
			store.ClaimAnswer{Verdict: store.VerdictSuperseded, Slot: slot2}},
		{"5: at the last moment", jobState(slot2+70_000, slot1), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: store.Token(slot2 + 70_000), Left: 20 * time.Second}},
		{"5: late", jobState(slot2+70_001, slot1), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictLate, By: 70_001 * time.Millisecond}},
		{"5: early", jobState(slot2-10_001, slot1), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictEarly, By: 10_001 * time.Millisecond}},
		{"5: not asked of a second attempt", jobState(slot2+9_000_000, slot2, held(slot2, slot2+30_000)), nil, asking(slot2, after(1)),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 2, Token: store.Token(slot2 + 9_000_000), Left: 20 * time.Second}},
		{"6: another slot is held", jobState(slot2, slot1, held(slot1, slot2+1)), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: slot1, Holder: "holder", Left: time.Millisecond}},
		{"6: the holder says skip", jobState(slot2, slot1, held(slot1, slot2+1)), nil, asking(slot2, func(q *store.ClaimRequest) { q.Overlap = store.OverlapAllow }),
			store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: slot1, Holder: "holder", Left: time.Millisecond}},
		{"6: the asker says skip", jobState(slot2, slot1, held(slot1, slot2+1, allowing)), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: slot1, Holder: "holder", Left: time.Millisecond}},
		{"6: both allow", jobState(slot2, slot1, held(slot1, slot2+1, allowing)), nil, asking(slot2, func(q *store.ClaimRequest) { q.Overlap = store.OverlapAllow }),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: store.Token(slot2), Left: 20 * time.Second}},
		{"7: a late copy of the first claim", jobState(slot2, slot2, held(slot2, slot2, released)), nil, asking(slot2),
			store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: 1, Holder: "holder"}},
		{"7: follows an attempt that never was", jobState(slot2, slot1), nil, asking(slot2, after(1)),
			store.ClaimAnswer{Verdict: store.VerdictRunning}},
		{"7: exhausted", jobState(slot2+30_000, slot2, held(slot2, slot2+30_000, func(a *attempt) { a.number, a.counted, a.max = 2, 1, 1 })), nil, asking(slot2, after(2)),
			store.ClaimAnswer{Verdict: store.VerdictExhausted, Attempt: 1}},
		{"8: handed over", jobState(slot2, slot2, held(slot2, slot2+30_000, released)), nil, asking(slot2, after(1)),
			store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 2, Token: store.Token(slot2), Left: 20 * time.Second}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := decideClaim(test.state, test.ask, "", test.ended)
			test.want.Fingerprint, test.want.Now = "f0", test.state.now
			if err != nil || got != test.want {
				t.Errorf("\n got %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestDecideClaimCloses(t *testing.T) {
	old, dead, last := held(slot1, slot1), held(slot2, slot2, released), held(slot3, slot3)
	s := jobState(slot3, slot3, old, dead, last)
	s.job.historySize = 1
	q := asking(slot3, after(1))
	q.HistorySize = 1
	if a, err := decideClaim(s, q, "", nil); err != nil || a.Verdict != store.VerdictWon {
		t.Fatal(a, err)
	}
	if old.unfinished || old.status != store.StatusInterrupted || old.handedOver || old.endedAt != slot3 {
		t.Errorf("older open run: %+v; want it closed as interrupted", old)
	}
	if dead.unfinished || !dead.handedOver || dead.endedAt != 0 {
		t.Errorf("older handed-over run: %+v; want it closed, and its attempt as it was", dead)
	}
	if last.unfinished || last.status != store.StatusInterrupted {
		t.Errorf("previous attempt: %+v; want it interrupted", last)
	}
	if n := s.inserted; n.counted != 2 || n.number != 2 || n.leaseEnd != slot3+20_000 {
		t.Errorf("new attempt: %+v", n)
	}
	if s.trim != 1 || s.job.ended != 1 || len(s.updated) != 3 {
		t.Errorf("trim %d, ended %d, updated %d; want 1, 1, 3", s.trim, s.job.ended, len(s.updated))
	}
}

func TestDecideClaimRefusesUsedIDs(t *testing.T) {
	tests := map[string]struct {
		owner string
		ask   *store.ClaimRequest
	}{
		"another job":      {"other", asking(slot2)},
		"another slot":     {"", asking(slot2, func(q *store.ClaimRequest) { q.ID, q.Instance = id1, "holder" })},
		"another instance": {"", asking(slot1, func(q *store.ClaimRequest) { q.ID = id1 })},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := jobState(slot2, slot1, held(slot1, slot2+3_600_000)) // a lease that a valid call would cut
			_, err := decideClaim(s, test.ask, test.owner, nil)
			var invalid *store.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != "claim id" {
				t.Errorf("got %v; want an invalid claim id", err)
			}
			if s.jobChanged || len(s.updated) > 0 || s.inserted != nil {
				t.Errorf("an invalid claim changed something: %+v", s)
			}
		})
	}
}

func TestDecideHeartbeat(t *testing.T) {
	beat := func(token store.Token, lease time.Duration) *store.HeartbeatRequest {
		return &store.HeartbeatRequest{Job: "j", Slot: slot1, Token: token, Lease: lease}
	}
	tests := []struct {
		name    string
		run     *attempt
		ask     *store.HeartbeatRequest
		renewed bool
		end     int64
	}{
		{"renews", held(slot1, slot1+1_000), beat(77, time.Minute), true, slot1 + 60_000},
		{"renews a lease that is over", held(slot1, slot1-5_000), beat(77, time.Second), true, slot1 + 1_000},
		{"never shortens", held(slot1, slot1+20_000), beat(77, time.Second), true, slot1 + 20_000},
		{"another token", held(slot1, slot1+1_000), beat(76, time.Minute), false, slot1 + 1_000},
		{"handed over", held(slot1, slot1+1_000, released), beat(77, time.Minute), false, slot1 + 1_000},
		{"cuts first", held(slot1, slot1+3_600_000), beat(77, time.Second), true, slot1 + 30_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := decideHeartbeat(jobState(slot1, slot1, test.run), test.ask)
			if a.Renewed != test.renewed || test.run.leaseEnd != test.end {
				t.Errorf("got %+v, lease end %d; want renewed %v, lease end %d", a, test.run.leaseEnd, test.renewed, test.end)
			}
			if left := test.run.leaseEnd - slot1; test.run.lease < left {
				t.Errorf("lease length %d is shorter than the %d left: the next call would cut it", test.run.lease, left)
			}
		})
	}
}

func TestDecideFinish(t *testing.T) {
	closed := func(status store.Status, handedOver bool) *attempt {
		return held(slot1, slot1, func(a *attempt) { a.status, a.handedOver, a.unfinished = status, handedOver, false })
	}
	tests := []struct {
		name    string
		run     *attempt
		outcome store.Outcome
		want    bool
	}{
		{"success", held(slot1, slot1), store.OutcomeSuccess, true},
		{"repeated", closed(store.StatusSuccess, false), store.OutcomeSuccess, true},
		{"repeated otherwise", closed(store.StatusSuccess, false), store.OutcomeFailed, false},
		{"taken over", closed(store.StatusInterrupted, false), store.OutcomeSuccess, false},
		{"taken over, released", closed(store.StatusInterrupted, false), store.OutcomeReleased, false},
		{"released twice", closed(store.StatusInterrupted, true), store.OutcomeReleased, true},
		{"released, then interrupted", closed(store.StatusInterrupted, true), store.OutcomeInterrupted, false},
		{"no record", nil, store.OutcomeSuccess, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := jobState(slot1, slot1)
			if test.run != nil && test.run.unfinished {
				s.runs = []*attempt{test.run}
			}
			a := decideFinish(s, &store.FinishRequest{Slot: slot1, Token: 77, Outcome: test.outcome}, test.run)
			if a.Recorded != test.want {
				t.Errorf("recorded %v; want %v", a.Recorded, test.want)
			}
		})
	}
}

func TestDecideFinishReleased(t *testing.T) {
	a := held(slot1, slot1+30_000)
	s := jobState(slot1, slot1, a)
	decideFinish(s, &store.FinishRequest{Slot: slot1, Token: 77, Outcome: store.OutcomeReleased, Error: "stopping"}, a)
	if !a.unfinished || !a.handedOver || a.counted != 0 || a.status != store.StatusInterrupted || a.err != "stopping" || a.live(slot1) {
		t.Errorf("released: %+v", a)
	}
	if len(s.runs) != 1 || s.job.ended != 0 {
		t.Errorf("a released run ended: %+v", s)
	}
}

func TestAttemptCheck(t *testing.T) {
	good := []*attempt{held(1, 1), held(1, 1, released), held(1, 1, released, func(a *attempt) { a.unfinished = false })}
	for _, a := range good {
		if err := a.check(); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
	bad := map[string]func(*attempt){
		"running and finished":     func(a *attempt) { a.unfinished = false },
		"running and handed over":  func(a *attempt) { a.handedOver = true },
		"unfinished and succeeded": func(a *attempt) { a.status = store.StatusSuccess },
		"attempt 0":                func(a *attempt) { a.number = 0 },
		"no lease":                 func(a *attempt) { a.lease = 0 },
	}
	for name, f := range bad {
		if held(1, 1, f).check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPlace(t *testing.T) {
	for _, p := range []place{{0, 1}, {-5, 2}, {store.MaxSlot, 100}, {store.MinSlot, 1}} {
		if got, err := parsePlace(p.String()); err != nil || got != p {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
	}
	for _, bad := range []string{".", "1", "1.", ".1", "1.0", "1.-1", "01.1", "1.1 ", "+1.1", "x.1", "99999999999999999999.1", "1.1.1"} {
		if p, err := parsePlace(bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: got %v, %v; want an invalid page", bad, p, err)
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	f.Add("")
	f.Add("1790000000000.1")
	f.Fuzz(func(t *testing.T, page string) {
		p, err := parsePlace(page)
		if err == nil && page != "" && p.String() != page {
			t.Errorf("%q reads as %q", page, p)
		}
	})
}
