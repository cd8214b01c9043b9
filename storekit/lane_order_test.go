package storekit

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Whatever the order in which callers come, leave and are answered, also at the same
// moment: who is told that nothing was sent was not sent, everybody else was sent once,
// and afterwards the lane keeps nothing of anybody.
func TestLaneTellsEverybodyTheTruth(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			var s sender
			l := newLane(t.Context(), s.send)
			const callers = 600
			classes := make([]error, callers)
			var wg sync.WaitGroup
			for i := range callers {
				// Steps of half a call: many leave in the moment in which a call ends.
				begin := time.Duration(rnd.IntN(4)) * 500 * time.Millisecond
				patience := time.Duration(1+rnd.IntN(6)) * 500 * time.Millisecond
				wg.Go(func() {
					time.Sleep(begin)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					switch r := l.ask(ctx, i).Err.(type) {
					case nil:
					case *leftError:
						classes[i] = r.class
					default: // its call was given up, since nobody waited for it
						classes[i] = store.ErrUnknown
					}
				})
			}
			wg.Wait()
			synctest.Wait()
			sent := make([]int, callers)
			for _, b := range s.batches {
				for _, i := range b {
					sent[i]++
				}
			}
			for i, class := range classes {
				want := 1
				if class == store.ErrNotApplied {
					want = 0
				}
				if sent[i] != want {
					t.Errorf("seed %d: request %d was sent %d times; its caller was told %v", seed, i, sent[i], class)
				}
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.queue)+l.gone+l.aloft+l.flying+l.boarding != 0 {
				t.Errorf("seed %d: left are %d in the queue, %d gone, %d aloft, %d calls, %d boarding", seed, len(l.queue), l.gone, l.aloft, l.flying, l.boarding)
			}
		})
	}
}

// Those who left behind others in the queue are not kept when the others went and
// nobody comes any more.
func TestLaneKeepsNobodyWhoLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		l := newLane(t.Context(), s.send)
		var wg sync.WaitGroup
		ask := func(patience time.Duration) {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				l.ask(ctx, 0)
			})
			synctest.Wait()
		}
		for range laneCalls { // the lane is busy for a second
			ask(time.Minute)
		}
		for range laneSplit {
			ask(time.Minute)
		}
		for range laneSplit {
			ask(500 * time.Millisecond)
		}
		wg.Wait()
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.queue) != 0 || l.gone != 0 {
			t.Errorf("%d requests are kept, %d of callers that left", len(l.queue), l.gone)
		}
	})
}
