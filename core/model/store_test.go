package model

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

var (
	_ store.Store = (*Store)(nil)
	_ rules       = (*Job)(nil)
	_ rules       = (*taken)(nil)
)

// request is a claim that a store at this clock grants.
func request(job string, slot time.Time, n int) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: slot.UnixMilli(), ID: store.ClaimID{0: 1, 14: byte(n >> 8), 15: byte(n)}, Instance: fmt.Sprintf("i%d", n),
		Reason: store.ReasonScheduled, Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
}

// claimAll claims each request from a goroutine of its own and returns how many
// won.
func claimAll(t *testing.T, s *Store, requests []store.ClaimRequest) int {
	won := make([]bool, len(requests))
	var wg sync.WaitGroup
	for i, req := range requests {
		wg.Go(func() {
			a, err := s.Claim(t.Context(), req)
			if err != nil {
				t.Errorf("claim: %v", err)
			}
			won[i] = a.Verdict == store.VerdictWon
		})
	}
	wg.Wait()
	n := 0
	for _, w := range won {
		if w {
			n++
		}
	}
	return n
}

// TestNotAtomic: of many claims at once exactly one is granted, of one slot and
// of several slots of a skip job; with the two faults it is not so.
func TestNotAtomic(t *testing.T) {
	oneSlot := func(int) time.Duration { return 0 }
	slots := func(n int) time.Duration { return time.Duration(n) * time.Second }
	tests := []struct {
		name      string
		claimOnly *ClaimOnly
		fault     Fault
		slot      func(n int) time.Duration
		one       bool
	}{
		{"one slot", nil, NoFault, oneSlot, true},
		{"slots of a skip job", nil, NoFault, slots, true},
		{"one slot, claim-only", &ClaimOnly{}, NoFault, oneSlot, true},
		{"one slot, not atomic", nil, FaultClaimNotAtomic, oneSlot, false},
		{"one slot, claim-only, not atomic", &ClaimOnly{}, FaultClaimNotAtomic, oneSlot, false},
		{"one slot, overlap not atomic", nil, FaultOverlapNotAtomic, oneSlot, true},
		{"slots, overlap not atomic", nil, FaultOverlapNotAtomic, slots, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Fault: test.fault, ClaimOnly: test.claimOnly})
				var requests []store.ClaimRequest
				for n := range 8 {
					requests = append(requests, request("j", time.Now().Add(test.slot(n)), n))
				}
				if won := claimAll(t, s, requests); (won == 1) != test.one || won == 0 {
					t.Errorf("%d of %d won", won, len(requests))
				}
			})
		})
	}
}

// The two faults are visible only at the same time: one after the other, their
// stores answer rightly.
func TestNotAtomicOneByOne(t *testing.T) {
	for _, f := range []Fault{FaultClaimNotAtomic, FaultOverlapNotAtomic} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Options{Fault: f})
			now := time.Now()
			for n, want := range []store.Verdict{store.VerdictWon, store.VerdictRunning, store.VerdictOverlap} {
				req := request("j", now, n)
				if want == store.VerdictOverlap {
					req.Slot += 1000
				}
				if a, err := s.Claim(t.Context(), req); a.Verdict != want || err != nil {
					t.Errorf("%v: claim %d: %v, %v; want %v", f, n, a.Verdict, err, want)
				}
			}
		})
	}
}

func TestCallThatIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := New(Options{})
	_, claim := s.Claim(ctx, request("j", time.Now(), 1))
	_, beat := s.Heartbeat(ctx, store.HeartbeatRequest{Job: "j", Lease: time.Second})
	_, finish := s.Finish(ctx, store.FinishRequest{Job: "j", Outcome: store.OutcomeSuccess})
	_, unfinished := s.Unfinished(ctx, store.UnfinishedRequest{})
	_, history := s.History(ctx, store.HistoryRequest{Job: "j", Limit: 1})
	_, describe := s.Describe(ctx)
	for name, err := range map[string]error{
		"claim": claim, "heartbeat": beat, "finish": finish, "unfinished": unfinished, "history": history, "describe": describe,
	} {
		if !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want not applied, because the context was cancelled", name, err)
		}
	}
	if a, _ := s.Unfinished(t.Context(), store.UnfinishedRequest{}); len(a.Runs) != 0 {
		t.Error("a cancelled claim was granted")
	}
}

func TestDescribe(t *testing.T) {
	tests := []struct {
		name      string
		claimOnly *ClaimOnly
		kind      store.Kind
		memory    store.Memory
		clock     store.Clock
		fenced    bool
	}{
		{"lease", nil, store.KindLease, store.Memory{Forever: true}, store.ClockStore, true},
		{"claim-only", &ClaimOnly{}, store.KindClaimOnly, store.Memory{Forever: true}, store.ClockStore, true},
		{"bare", &ClaimOnly{NoClock: true, NoFence: true}, store.KindClaimOnly, store.Memory{Forever: true}, store.ClockNone, false},
		{"window", &ClaimOnly{Memory: store.Memory{Window: time.Minute, Runs: 7}}, store.KindClaimOnly, store.Memory{Window: time.Minute, Runs: 7}, store.ClockStore, true},
		{"for ever", &ClaimOnly{Memory: store.Memory{Forever: true, Runs: 7}}, store.KindClaimOnly, store.Memory{Forever: true}, store.ClockStore, true},
		{"nonsense", &ClaimOnly{Memory: store.Memory{Window: -1, Runs: -1}}, store.KindClaimOnly, store.Memory{Forever: true}, store.ClockStore, true},
	}
	for _, test := range tests {
		d, err := New(Options{ClaimOnly: test.claimOnly}).Describe(t.Context())
		if err != nil || d.Kind != test.kind || d.Memory != test.memory || d.Clock != test.clock || d.Fenced != test.fenced || !d.History || d.Format != 1 {
			t.Errorf("%s: %+v, %v", test.name, d, err)
		}
	}
}

// An id that another namespace uses too is still refused with another job.
func TestIDOfTwoNamespaces(t *testing.T) {
	one := New(Options{Namespace: "one"})
	claim := func(s *Store, job string) (store.ClaimAnswer, error) {
		return s.Claim(t.Context(), store.ClaimRequest{
			Job: job, Slot: time.Now().UnixMilli(), ID: store.ClaimID{1}, Instance: "a", Reason: store.ReasonScheduled,
			Lease: time.Minute, MaxEarly: time.Minute, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 1, HistorySize: 1,
		})
	}
	for _, s := range []*Store{one, one.Namespace("two")} {
		if a, err := claim(s, "j"); err != nil || a.Verdict != store.VerdictWon {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if a, err := claim(one, "k"); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("the id of job j claims job k: %+v, %v", a, err)
	}
}

// The index of claim ids does not grow with the runs that ended.
func TestIDIndexIsSwept(t *testing.T) {
	now := time.UnixMilli(0)
	s := New(Options{Now: func() time.Time { return now }})
	kept := request("kept", now, 0)
	kept.Lease = time.Hour
	if a, err := s.Claim(t.Context(), kept); a.Verdict != store.VerdictWon || err != nil {
		t.Fatal(a, err)
	}
	for n := 1; n < 5000; n++ {
		now = now.Add(time.Second)
		req := request("busy", now, n)
		a, err := s.Claim(t.Context(), req)
		if err != nil || a.Verdict != store.VerdictWon {
			t.Fatal(n, a, err)
		}
		if _, err := s.Finish(t.Context(), store.FinishRequest{Job: "busy", Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeSuccess}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.ids.of); n > 1100 {
		t.Errorf("%d ids are indexed, and 1 is remembered", n)
	}
	kept.Job = "other"
	if _, err := s.Claim(t.Context(), kept); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an id that is remembered was swept: %v", err)
	}
}

// Many callers, jobs and verbs at once; the race detector watches.
func TestConcurrentUse(t *testing.T) {
	for _, c := range []*ClaimOnly{nil, {}} {
		s := New(Options{ClaimOnly: c})
		start := time.Now()
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				for i := range 50 {
					req := request(fmt.Sprint("j", i%5), start.Add(time.Duration(i)*time.Millisecond), 8*i+n)
					a, err := s.Claim(t.Context(), req)
					if err != nil {
						t.Errorf("claim: %v", err)
					}
					if a.Verdict == store.VerdictWon {
						s.Heartbeat(t.Context(), store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Lease: time.Second})
						f, err := s.Finish(t.Context(), store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeSuccess})
						if !f.Recorded || err != nil {
							t.Errorf("finish: %+v, %v", f, err)
						}
					}
					s.Unfinished(t.Context(), store.UnfinishedRequest{})
					s.History(t.Context(), store.HistoryRequest{Job: req.Job, Limit: 10})
				}
			})
		}
		wg.Wait()
	}
}
