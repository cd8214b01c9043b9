package redisstore

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// A history longer than one step reads comes in pages, whole and in order.
func TestLongHistory(t *testing.T) {
	for _, strategy := range []string{strategyLease, strategyScript, strategyStreamID} {
		b := open(t, fresh(t).with(options{"strategy": strategy, "historySize": 10_000}))
		const runs = 1234
		base := claimNow("j")
		for first := 0; first < runs; first += 50 {
			var qs []store.ClaimRequest
			for n := first; n < min(first+50, runs); n++ {
				q := base
				q.Slot, q.ID, q.HistorySize, q.Overlap = base.Slot+int64(n), store.NewClaimID(), 10_000, store.OverlapAllow
				qs = append(qs, q)
			}
			var ends []store.FinishRequest
			for i, r := range b.ClaimBatch(t.Context(), qs) {
				if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
					t.Fatalf("claim %d: %+v, %v", i, r.Answer, r.Err)
				}
				if i%25 > 0 { // the others go on
					ends = append(ends, finishOf(qs[i], r.Answer, store.OutcomeSuccess))
				}
			}
			for i, r := range b.FinishBatch(t.Context(), ends) {
				if r.Err != nil || !r.Answer.Recorded {
					t.Fatalf("finish %d: %+v, %v", i, r.Answer, r.Err)
				}
			}
		}
		for _, limit := range []int{store.MaxHistory, 499, 100} {
			var all []store.Attempt
			q := store.HistoryRequest{Job: "j", Limit: limit}
			for {
				a, err := b.History(t.Context(), q)
				if err != nil || len(a.Attempts) > limit || len(a.Attempts) == 0 {
					t.Fatalf("%s: a page of %d has %d attempts, %v", strategy, limit, len(a.Attempts), err)
				}
				all = append(all, a.Attempts...)
				if q.Page = a.Next; q.Page == "" {
					break
				}
			}
			if len(all) != runs || !slices.IsSortedFunc(all, func(a, b store.Attempt) int { return int(b.Slot - a.Slot) }) {
				t.Errorf("%s: in pages of %d the history has %d attempts, or is out of order; want %d", strategy, limit, len(all), runs)
			}
		}
	}
}

// Many jobs with unfinished runs are recalled, all or some.
func TestManyUnfinished(t *testing.T) {
	b := open(t, fresh(t))
	const jobs = 600
	var qs []store.ClaimRequest
	for i := range jobs {
		qs = append(qs, claimNow(fmt.Sprintf("job %03d", i)))
	}
	for i, r := range b.ClaimBatch(t.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			t.Fatalf("claim %d: %+v, %v", i, r.Answer, r.Err)
		}
	}
	all, err := b.Unfinished(t.Context(), store.UnfinishedRequest{})
	if err != nil || len(all.Runs) != jobs || all.Runs[jobs-1].Job != "job 599" {
		t.Errorf("recall of all lists %d runs, %v; want %d", len(all.Runs), err, jobs)
	}
	some, err := b.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: []string{"job 300", "none", "job 007", "job 300"}})
	if err != nil || len(some.Runs) != 2 || some.Runs[0].Job != "job 007" || some.Runs[1].Job != "job 300" {
		t.Errorf("recall of two jobs lists %+v, %v", some.Runs, err)
	}
}

// Many ask for the same run at once: one gets it.
func TestOneWinner(t *testing.T) {
	for _, strategy := range strategies {
		t.Run(strategy, func(t *testing.T) {
			needs(t, strategy)
			o := fresh(t).with(options{"strategy": strategy})
			backends := make([]*Backend, 6)
			for i := range backends {
				backends[i] = open(t, o)
			}
			base := claimNow("j")
			for n := range int64(50) {
				var won atomic.Int32
				var wg sync.WaitGroup
				for i, b := range backends {
					wg.Go(func() {
						q := base
						q.Slot, q.ID, q.Instance, q.Overlap = base.Slot+n, store.NewClaimID(), fmt.Sprint("i", i), store.OverlapAllow
						a, err := b.Claim(bg, q)
						if err != nil {
							t.Error(err)
						}
						if a.Verdict == store.VerdictWon {
							won.Add(1)
						}
					})
				}
				wg.Wait()
				if won.Load() != 1 {
					t.Fatalf("slot %d was granted %d times", n, won.Load())
				}
			}
		})
	}
}

// Items of a batch are judged in order, each alone; a bad one does not fail its
// neighbours.
func TestBatch(t *testing.T) {
	b := open(t, fresh(t))
	first := claimNow("a")
	bad, foreign := claimNow("b"), claimNow("c")
	bad.Lease = 0
	foreign.ID = first.ID
	next := first
	next.ID, next.Instance = store.NewClaimID(), "b"
	got := b.ClaimBatch(t.Context(), []store.ClaimRequest{first, bad, first, foreign, next, claimNow("d")})
	for i, want := range []any{store.VerdictWon, "lease", store.VerdictWon, "claim id", store.VerdictRunning, store.VerdictWon} {
		switch want := want.(type) {
		case store.Verdict:
			if got[i].Err != nil || got[i].Answer.Verdict != want {
				t.Errorf("item %d: %+v, %v; want %v", i, got[i].Answer, got[i].Err, want)
			}
		case string:
			if !sameError(got[i].Err, &store.InvalidError{Field: want, Value: map[string]string{"lease": "0s", "claim id": first.ID.String()}[want]}) {
				t.Errorf("item %d: %+v, %v; want invalid, %s", i, got[i].Answer, got[i].Err, want)
			}
		}
	}
	if none := b.ClaimBatch(t.Context(), nil); len(none) != 0 {
		t.Errorf("no claims are answered %+v", none)
	}
	if only := b.ClaimBatch(t.Context(), []store.ClaimRequest{bad}); len(only) != 1 || only[0].Err == nil {
		t.Errorf("a bad claim alone is answered %+v", only)
	}
}
