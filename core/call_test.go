package core

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Jobs of two leases that are due in turn are two groups, not one for each change; each
// call has the time of its own group, also one that never ends, and no timer is left.
func TestCallsOfOneTimeGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &driver{Scheduler: new(Scheduler), turn: make(callGroups)}
		d.inbox.init()
		const each = 2 * spreadSize
		var begin time.Time
		var asked atomic.Int32
		unknown := 0
		answers := map[time.Duration]int{} // by the group's time
		hangs := make(chan struct{})
		for range each {
			for _, timeout := range []time.Duration{time.Second, 2 * time.Second} {
				g := d.turn.of(timeout)
				verb := func(ctx context.Context, q time.Duration) (int, error) {
					asked.Add(1)
					<-ctx.Done()
					if got := time.Since(begin); got != q {
						t.Errorf("a call with %v was cancelled after %v", q, got)
					}
					<-hangs
					return 0, nil
				}
				send(d, g, verb, timeout, func(_ *machine, _ instant, _ int, err error) {
					answers[timeout]++
					if store.IsUnknown(err) {
						unknown++
					}
				})
			}
		}
		if len(d.turn) != 2 {
			t.Errorf("%d groups of calls with two times", len(d.turn))
		}
		time.Sleep(5 * time.Second) // a long turn takes nothing from its calls
		begin = time.Now()
		d.turn.begin(t.Context())
		if len(d.turn) != 0 {
			t.Error("the next turn would begin these calls again")
		}
		for _, want := range []struct {
			after    time.Duration
			one, two int
		}{
			{1500 * time.Millisecond, 0, 0}, {2500 * time.Millisecond, each, 0}, {3500 * time.Millisecond, each, each},
		} {
			time.Sleep(time.Until(begin.Add(want.after)))
			synctest.Wait()
			for _, in := range d.inbox.take(nil) {
				in.apply(nil, instant{})
			}
			if answers[time.Second] != want.one || answers[2*time.Second] != want.two {
				t.Errorf("after %v: answers %v; want %d and %d", want.after, answers, want.one, want.two)
			}
		}
		if asked.Load() != 2*each || unknown != 2*each {
			t.Errorf("%d calls, %d unknown; want %d", asked.Load(), unknown, 2*each)
		}
		close(hangs)
		d.calls.Wait()
		if late := d.inbox.take(nil); len(late) != 0 {
			t.Errorf("%d calls had a second answer", len(late))
		}
	})
}
