package model

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestSmoke(t *testing.T) {
	s := New(Options{})
	var _ store.Store = s
	req := store.ClaimRequest{Job: "j", Slot: time.Now().UnixMilli(), ID: store.NewClaimID(), Instance: "A", Reason: 1, Lease: time.Second * 30, MaxEarly: 10 * time.Second, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 10}
	t.Log(s.Claim(t.Context(), req))
	t.Log(s.Claim(t.Context(), req))
	b := req
	b.ID, b.Instance = store.NewClaimID(), "B"
	t.Log(s.Claim(t.Context(), b))
	t.Log(s.Unfinished(t.Context(), store.UnfinishedRequest{}))
	t.Log(s.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 3}))
	x := req
	x.Job = "k"
	t.Log(s.Claim(t.Context(), x))
}

func BenchmarkClaim(b *testing.B) {
	j := &Job{}
	req := store.ClaimRequest{Job: "j", Instance: "A", Reason: 1, Lease: time.Second * 30, MaxEarly: 10 * time.Second, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100}
	b.ReportAllocs()
	for b.Loop() {
		req.Slot++
		req.ID[0], req.ID[1] = byte(req.Slot), byte(req.Slot>>8)
		a, _ := j.Claim(req.Slot, req)
		if a.Verdict != store.VerdictWon {
			b.Fatal(a)
		}
		j.Finish(req.Slot, store.FinishRequest{Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeSuccess})
	}
}
