package storekit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// sender records the batches of a lane. Each takes a second, or until its context
// ends.
type sender struct {
	mu      sync.Mutex
	batches [][]int
	ended   int // batches whose context ended first
}

func (s *sender) send(ctx context.Context, reqs []int) []store.Result[string] {
	s.mu.Lock()
	s.batches = append(s.batches, reqs)
	s.mu.Unlock()
	results := make([]store.Result[string], len(reqs))
	select {
	case <-time.After(time.Second):
		for i, r := range reqs {
			results[i].Answer = fmt.Sprint("answer ", r)
		}
	case <-ctx.Done():
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		for i := range results {
			results[i].Err = ctx.Err()
		}
	}
	return results
}

func TestLaneBatchesWhileCallsAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		l := newLane(t.Context(), s.send)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		begin := time.Now()
		for i := range laneCalls + 2*laneBatch {
			wg.Go(func() {
				r := l.ask(ctx, i)
				if r.Err != nil || r.Answer != fmt.Sprint("answer ", i) {
					t.Errorf("request %d: %+v", i, r)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		sizes := make([]int, len(s.batches))
		for i, b := range s.batches {
			sizes[i] = len(b)
		}
		// The first ones alone and at once, then the others together.
		slices.Sort(sizes)
		if n := len(sizes); n > 5 || sizes[0] != 1 || sizes[1] != 1 || sizes[n-1] > laneBatch {
			t.Errorf("batches of %v; want 1, 1 and as few as may be, of at most %d", sizes, laneBatch)
		}
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("took %v; want two rounds of a second", took)
		}
		for _, b := range s.batches {
			if !slices.IsSorted(b) {
				t.Errorf("a batch is not in the order of its requests: %v", b)
			}
		}
	})
}

// Callers that ask again and again keep both calls busy: none goes alone and leaves the
// others behind, and none takes all along.
func TestLaneSharesCallersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		l := newLane(t.Context(), s.send)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		const callers, rounds = 4 * laneSplit, 50
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for i := range rounds {
					if r := l.ask(ctx, i); r.Err != nil {
						t.Error(r.Err)
					}
				}
			})
		}
		wg.Wait()
		// Goroutines are not woken in one go: a call may take a few more or fewer.
		if most := 2 * rounds * laneCalls; len(s.batches) > most {
			t.Errorf("%d calls for %d rounds; want about %d, and at most %d", len(s.batches), rounds, rounds*laneCalls, most)
		}
		for _, b := range s.batches {
			if len(b) > callers*3/4 {
				t.Fatalf("%d of %d callers went in one call; want about half", len(b), callers)
			}
		}
	})
}

func TestLaneCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		l := newLane(t.Context(), s.send)
		long, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for i := range laneCalls { // the lane is busy for a second
			wg.Go(func() {
				if r := l.ask(long, i); r.Err != nil {
					t.Errorf("request %d: %v", i, r.Err)
				}
			})
			synctest.Wait()
		}
		reason := errors.New("bored")
		short, cancelShort := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, reason)
		defer cancelShort()
		// In the queue: surely not sent.
		r := l.ask(short, 100)
		if left, ok := r.Err.(*leftError); !ok || left.class != store.ErrNotApplied || left.why != reason {
			t.Errorf("left in the queue: %v; want not applied", r.Err)
		}
		wg.Wait()
		for _, b := range s.batches {
			for _, req := range b {
				if req == 100 {
					t.Error("a request whose caller was told that it was not sent was sent")
				}
			}
		}

		// On the way: unknown. The call is cancelled when nobody waits for it any more.
		short, cancelShort = context.WithTimeoutCause(t.Context(), 500*time.Millisecond, reason)
		defer cancelShort()
		r = l.ask(short, 101)
		if left, ok := r.Err.(*leftError); !ok || left.class != store.ErrUnknown {
			t.Errorf("left on the way: %v; want unknown", r.Err)
		}
		synctest.Wait()
		if s.ended != 1 {
			t.Errorf("%d calls were cancelled; want the one that nobody waits for", s.ended)
		}
	})
}

// Many callers leave the queue at once, among others that stay: those are served, and
// nothing of the others is kept or sent.
func TestLaneManyCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		l := newLane(t.Context(), s.send)
		long, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		short, cancelShort := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancelShort()
		var wg sync.WaitGroup
		stay := func(i int) {
			wg.Go(func() {
				if r := l.ask(long, i); r.Err != nil {
					t.Errorf("request %d, whose caller stays: %v", i, r.Err)
				}
			})
		}
		for i := range laneCalls { // the lane is busy for a second
			stay(i)
			synctest.Wait()
		}
		const many = 1000
		for i := range many {
			wg.Go(func() {
				if left, ok := l.ask(short, -1).Err.(*leftError); !ok || left.class != store.ErrNotApplied {
					t.Error("want not applied")
				}
			})
			if i%100 == 0 {
				stay(1000 + i)
			}
		}
		time.Sleep(600 * time.Millisecond)
		l.mu.Lock()
		if kept := len(l.queue); kept > 2*many/100 {
			t.Errorf("%d requests are kept of %d whose callers left and %d whose callers stay", kept, many, many/100)
		}
		l.mu.Unlock()
		wg.Wait()
		synctest.Wait()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.queue) != 0 || l.gone != 0 || l.aloft != 0 {
			t.Errorf("%d in the queue, %d gone, %d aloft", len(l.queue), l.gone, l.aloft)
		}
		for _, b := range s.batches {
			if slices.Contains(b, -1) {
				t.Error("a request was sent whose caller was told that it was not")
			}
		}
	})
}

func TestLaneOneCallerLeavesAnotherStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sender
		l := newLane(t.Context(), s.send)
		long, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		short, cancelShort := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancelShort()
		var wg sync.WaitGroup
		for i := range laneCalls {
			wg.Go(func() { l.ask(long, i) })
			synctest.Wait()
		}
		wg.Go(func() { // goes out after a second, in one batch with the next
			if left, ok := l.ask(short, 100).Err.(*leftError); !ok || left.class != store.ErrUnknown {
				t.Error("want unknown")
			}
		})
		wg.Go(func() {
			if r := l.ask(long, 101); r.Err != nil {
				t.Errorf("the one that stays: %v", r.Err)
			}
		})
		wg.Wait()
		if len(s.batches) != laneCalls+1 || s.ended != 0 {
			t.Errorf("batches %v, %d cancelled", s.batches, s.ended)
		}
	})
}
