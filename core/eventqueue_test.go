package core

import (
	"log/slog"
	"testing"
	"testing/synctest"
)

// TestEventsAreDropped when the callback never keeps up, and it is said how many;
// those that are told keep their order.
func TestEventsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		blocked := make(chan struct{})
		var got []Event
		q := newEventQueue(Options{Logger: slog.New(slog.DiscardHandler), OnEvent: func(e Event) {
			<-blocked
			got = append(got, e)
		}})
		go q.deliver()
		q.put(Backup{Slot: -1})
		synctest.Wait() // it blocks with this one
		for i := range int64(maxQueued + 3) {
			q.put(Backup{Slot: i})
		}
		close(blocked)
		if err := q.close(); err != nil {
			t.Fatal(err)
		}
		if len(got) != maxQueued+2 {
			t.Fatalf("%d events were told", len(got))
		}
		for i, e := range got[:maxQueued+1] {
			if b, ok := e.(Backup); !ok || b.Slot != int64(i-1) {
				t.Fatalf("event %d is %+v", i, e)
			}
		}
		if d, ok := got[maxQueued+1].(EventsDropped); !ok || d.Count != 3 {
			t.Errorf("the last event is %+v", got[maxQueued+1])
		}
	})
}
