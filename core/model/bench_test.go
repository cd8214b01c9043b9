package model

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// A run from its claim to its finish, the history full.
func BenchmarkRun(b *testing.B) {
	j := &Job{}
	req := request("j", time.UnixMilli(0), 1)
	b.ReportAllocs()
	for b.Loop() {
		req.Slot += 1000
		a, err := j.Claim(req.Slot, req)
		if err != nil || a.Verdict != store.VerdictWon {
			b.Fatal(a, err)
		}
		if !j.Finish(req.Slot, store.FinishRequest{Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeSuccess}).Recorded {
			b.Fatal("lost")
		}
	}
}

// What all but one instance get to hear.
func BenchmarkClaimRefused(b *testing.B) {
	j := &Job{}
	req := request("j", time.UnixMilli(0), 1)
	j.Claim(0, req)
	req.ID, req.Instance = store.ClaimID{1, 2, 3}, "other"
	b.ReportAllocs()
	for b.Loop() {
		if a, _ := j.Claim(1, req); a.Verdict != store.VerdictRunning {
			b.Fatal(a)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	j := &Job{}
	req := request("j", time.UnixMilli(0), 1)
	a, _ := j.Claim(0, req)
	beat := store.HeartbeatRequest{Token: a.Token, Lease: req.Lease}
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now++
		if !j.Heartbeat(now, beat).Renewed {
			b.Fatal("lost")
		}
	}
}

// Clones share the history.
func BenchmarkClone(b *testing.B) {
	j := &Job{}
	for n := range 101 {
		req := request("j", time.UnixMilli(int64(n)), n)
		a, _ := j.Claim(req.Slot, req)
		if n < 100 {
			j.Finish(req.Slot, store.FinishRequest{Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeSuccess})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if c := j.Clone(); c.newest != j.newest {
			b.Fatal()
		}
	}
}

// Through the store: validation, lock, many jobs.
func BenchmarkStoreClaimRefused(b *testing.B) {
	s := New(Options{Now: func() time.Time { return time.UnixMilli(0) }})
	req := request("j", time.UnixMilli(0), 1)
	s.Claim(b.Context(), req)
	req.ID, req.Instance = store.ClaimID{1, 2, 3}, "other"
	b.ReportAllocs()
	for b.Loop() {
		if a, _ := s.Claim(b.Context(), req); a.Verdict != store.VerdictRunning {
			b.Fatal(a)
		}
	}
}
