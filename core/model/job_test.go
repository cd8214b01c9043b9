package model

import (
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// A clone and its original go different ways without touching each other, also
// where they share what can't change.
func TestClone(t *testing.T) {
	for seed := range uint64(40) {
		s := newSoup(seed, NoFault)
		s.run(30)
		for range 30 {
			key, clone := s.job.Key(), s.job.Clone()
			if !clone.Equal(s.job) || clone.Key() != key || clone.Hash() != s.job.Hash() {
				t.Fatalf("seed %d: a clone differs", seed)
			}
			other := *s
			other.job = clone
			other.run(20)
			if s.job.Key() != key {
				t.Fatalf("seed %d: what its clone did changed the job", seed)
			}
			again, before := s.job.Clone(), clone.Key()
			s.step()
			if clone.Key() != before || again.Key() != key {
				t.Fatalf("seed %d: what the job did changed its clone", seed)
			}
		}
	}
}

func TestEqualSeesEverything(t *testing.T) {
	job := func(change func(*store.ClaimRequest)) *Job {
		j := &Job{}
		req := request("j", time.UnixMilli(0), 1)
		change(&req)
		j.Claim(0, req)
		return j
	}
	same := job(func(*store.ClaimRequest) {})
	for name, change := range map[string]func(*store.ClaimRequest){
		"slot":         func(r *store.ClaimRequest) { r.Slot++ },
		"id":           func(r *store.ClaimRequest) { r.ID[3]++ },
		"instance":     func(r *store.ClaimRequest) { r.Instance = "x" },
		"reason":       func(r *store.ClaimRequest) { r.Reason = store.ReasonCatchUp },
		"lease":        func(r *store.ClaimRequest) { r.Lease += time.Millisecond },
		"overlap":      func(r *store.ClaimRequest) { r.Overlap = store.OverlapAllow },
		"max attempts": func(r *store.ClaimRequest) { r.MaxAttempts++ },
		"history size": func(r *store.ClaimRequest) { r.HistorySize++ },
		"fingerprint":  func(r *store.ClaimRequest) { r.Fingerprint = "x" },
		"not granted":  func(r *store.ClaimRequest) { r.Slot = -int64(time.Hour) },
	} {
		if other := job(change); other.Equal(same) || other.Key() == same.Key() {
			t.Errorf("another %s is not seen", name)
		}
	}
	if other := job(func(r *store.ClaimRequest) { r.Lease += time.Microsecond }); !other.Equal(same) {
		t.Error("a fraction of a millisecond is not dropped")
	}
}

func TestJobString(t *testing.T) {
	j := &Job{}
	if got := j.String(); got != "nothing granted yet" {
		t.Errorf("an empty job: %s", got)
	}
	for n := range 3 {
		req := request("j", time.UnixMilli(int64(n)*1000), n)
		req.Overlap = store.OverlapAllow
		j.Claim(req.Slot, req)
	}
	j.Finish(2500, store.FinishRequest{Slot: 0, Token: 1, Outcome: store.OutcomeFailed})
	j.Finish(2500, store.FinishRequest{Slot: 1000, Token: 1000, Outcome: store.OutcomeReleased})
	want := "newest 2000, token 2000; 1000: attempt 1 of i1 handed over; 2000: attempt 1 of i2 until 32000; 0: attempt 1 failed"
	if got := j.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzPage(f *testing.F) {
	for _, s := range []string{"", "0/1", "-5/3", "1/0", "+1/1", "1/1/1", "/", "9223372036854775808/1", strings.Repeat("9", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parsePage(s)
		if err == nil && s != "" && c.String() != s {
			t.Errorf("page %q is read as %v", s, c)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}

// A checker follows a store whose tokens rise by more than they have to, and not
// one whose tokens don't rise.
func TestClaimSeen(t *testing.T) {
	ask := func(slot int64) store.ClaimRequest {
		return store.ClaimRequest{
			Job: "j", Slot: slot, ID: store.NewClaimID(), Instance: "a", Reason: store.ReasonScheduled, Lease: time.Second,
			MaxEarly: time.Hour, MaxLate: time.Hour, Overlap: store.OverlapAllow, MaxAttempts: 3, HistorySize: 10,
		}
	}
	var j Job
	for i, want := range []struct{ seen, token store.Token }{{5000, 5000}, {0, 5001}, {4000, 5002}, {6000, 6000}} {
		a, err := j.ClaimSeen(1000, ask(int64(i)), want.seen)
		if err != nil || a.Verdict != store.VerdictWon || a.Token != want.token {
			t.Errorf("claim %d with token %d seen: %+v, error %v; want it won with token %d", i, want.seen, a, err, want.token)
		}
	}
}
