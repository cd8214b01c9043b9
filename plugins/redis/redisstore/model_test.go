package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// walks are the strategies and what the model must be told to be like them.
var walks = []struct {
	strategy string
	more     options
	memory   *store.Memory // nil: lease
	answers  []string      // that a walk must see
}{
	{strategyLease, nil, nil, []string{
		"won", "running", "overlap", "finished", "superseded", "exhausted", "late", "early", "verdict(0)",
		"renewed true", "renewed false", "recorded true", "recorded false",
	}},
	{strategyScript, options{"window": "1m", "historySize": 3}, &store.Memory{Window: time.Minute, Runs: 3}, takenAnswers},
	{strategyScript, options{"window": "24h", "historySize": 1000}, &store.Memory{Window: 24 * time.Hour, Runs: 1000}, takenAnswers},
	{strategyIDMP, options{"duration": "24h", "maxSize": 10000}, &store.Memory{Forever: true}, takenAnswers},
	{strategyStreamID, options{"maxFuture": "8784h"}, &store.Memory{Forever: true}, takenAnswers},
}

var takenAnswers = []string{"won", "finished", "late", "early", "recorded true", "recorded false"}

// TestAgainstModel asks the model and the server the same things on the same
// clock.
func TestAgainstModel(t *testing.T) {
	seeds, steps := 24, 300
	if testing.Short() {
		seeds = 6
	}
	for n, v := range walks {
		t.Run(fmt.Sprint(v.strategy, n), func(t *testing.T) {
			needs(t, v.strategy)
			t.Parallel()
			kinds := map[string]int{}
			for seed := range seeds {
				w := newWalk(t, uint64(seed), v.more.with(options{"strategy": v.strategy}), v.memory, 0)
				if v.strategy == strategyStreamID {
					w.streamRules()
				}
				if err := w.walk(steps); err != nil {
					t.Fatalf("seed %d, %v", seed, err)
				}
				for kind, n := range w.kinds {
					kinds[kind] += n
				}
			}
			// A walk that never sees a kind of answer proves nothing about it.
			for _, kind := range v.answers {
				if kinds[kind] < seeds {
					t.Errorf("%d answers %q in %d walks; the walk must be steered to more", kinds[kind], kind, seeds)
				}
			}
			t.Log(kinds)
		})
	}
}

// streamRules allows what only strategy stream-id does: a slot below the newest
// is not granted any more. The walk keeps the history whole, so that the answer
// is superseded and nothing else.
func (w *walk) streamRules() {
	w.sizes = []int{10_000}
	w.bent = func(m *model.Store, q store.ClaimRequest, a store.ClaimAnswer) bool {
		if a.Verdict != store.VerdictSuperseded || a.Slot <= q.Slot {
			return false
		}
		w.kinds["superseded"]++
		// The model would grant it; a claim that follows an attempt it refuses, and
		// keeps what the claim says of its schedule.
		q.After = 1
		refused, err := m.Claim(w.t.Context(), q)
		return err == nil && refused.Verdict == store.VerdictFinished && refused.Status == 0
	}
}

// TestWalkFindsFaults proves that the walk above can fail: against a model with
// one rule bent, it must find a difference.
func TestWalkFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one set of walks per fault")
	}
	kinds := map[store.Kind]int{store.KindLease: 0, store.KindClaimOnly: 1}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		v := walks[kinds[kind]]
		for _, fault := range model.Faults(kind) {
			if fault == model.FaultClaimNotAtomic {
				continue // needs callers at the same time; the conformance suite has them
			}
			t.Run(fmt.Sprint(v.strategy, "/", fault), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(60) {
					w := newWalk(t, seed, v.more.with(options{"strategy": v.strategy}), v.memory, fault)
					if w.walk(300) != nil {
						return
					}
				}
				t.Error("no difference found")
			})
		}
	}
}
