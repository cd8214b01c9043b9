package main

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// TestDecisionsAgainstTheModel asks this backend's decisions and the protocol's
// executable rules (core/model) the same, tens of thousands of times, and wants the
// same answers: decisions without I/O are tested in a second, and a difference
// names the step. What it can't see is whether the steps are atomic; that the
// conformance suite sees.
func TestDecisionsAgainstTheModel(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		now := int64(1_700_000_000_000)
		mine, rules := &job{Name: "j"}, &model.Job{}
		var tokens []store.Token
		var granted store.ClaimRequest
		for step := range 120 {
			now += rnd.Int64N(400) - 20 // sometimes the clock goes back
			slot := int64(1_700_000_000_000) + rnd.Int64N(6)*1000
			token := store.Token(rnd.Int64N(2))
			if len(tokens) > 0 && rnd.IntN(4) > 0 {
				token = tokens[len(tokens)-1-rnd.IntN(min(len(tokens), 4))]
			}
			what, got, want := "", any(nil), any(nil)
			switch rnd.IntN(5) {
			case 0, 1:
				q := claimRequest(rnd, slot)
				if len(tokens) > 0 && rnd.IntN(4) == 0 {
					q = granted // its answer was lost, or a copy arrives late
				}
				what = fmt.Sprintf("claim %+v", q)
				fingerprint := mine.Fingerprint
				a := mine.claim(now, &q)
				a.Now = now
				m, err := rules.Claim(now, q)
				if err != nil {
					t.Fatalf("seed %d, step %d: the model refuses %s: %v", seed, step, what, err)
				}
				a.Fingerprint, m.Fingerprint = fingerprint, fingerprint // see package model: a backend may keep it with grants only
				got, want = a, m
				if a.Verdict == store.VerdictWon {
					tokens, granted = append(tokens, a.Token), q
				}
			case 2:
				q := store.HeartbeatRequest{Job: "j", Slot: slot, Token: token, Lease: lease(rnd)}
				what, got, want = fmt.Sprintf("heartbeat %+v", q), mine.heartbeat(now, &q), rules.Heartbeat(now, q).Renewed
			default:
				q := store.FinishRequest{Job: "j", Slot: slot, Token: token, Outcome: store.Outcome(1 + rnd.IntN(4)), Error: "why"}
				what, got, want = fmt.Sprintf("finish %+v", q), mine.finish(now, &q), rules.Finish(now, q).Recorded
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d at %d: %s\n got %+v\nwant %+v\nthe model: %v", seed, step, now, what, got, want, rules)
			}
			if got, want := open(mine, now), rules.Unfinished(now); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, step %d at %d: after %s unfinished are\n     %+v\nwant %+v", seed, step, now, what, got, want)
			}
		}
	}
}

func claimRequest(rnd *rand.Rand, slot int64) store.ClaimRequest {
	return store.ClaimRequest{
		Job: "j", Slot: slot, ID: store.NewClaimID(), After: rnd.IntN(3), Instance: fmt.Sprint("i", rnd.IntN(3)),
		Reason: store.ReasonScheduled, Lease: lease(rnd), MaxEarly: 4 * time.Second, MaxLate: time.Duration(rnd.IntN(20)) * time.Second,
		Overlap: store.Overlap(1 + rnd.IntN(2)), MaxAttempts: 1 + rnd.IntN(3), HistorySize: 100, Fingerprint: "f",
	}
}

func lease(rnd *rand.Rand) time.Duration { return time.Duration(1+rnd.IntN(1500)) * time.Millisecond }

// open is what Unfinished would say of the job.
func open(j *job, now int64) (runs []store.UnfinishedRun) {
	for _, r := range j.Unfinished {
		runs = append(runs, unfinished(j, r, now))
	}
	for i := range runs {
		runs[i].Job = ""
	}
	return runs
}
