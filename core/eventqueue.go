package core

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// eventQueue brings events to the log and to the callback, in order, on a
// goroutine of its own, so that neither can delay a renewal.
type eventQueue struct {
	log     *slog.Logger
	onEvent func(Event)

	mu      sync.Mutex
	ready   sync.Cond
	events  []Event
	dropped int
	closed  bool
	done    chan struct{}
}

// maxQueued bounds the events that wait for a slow callback; a callback that
// never returns must not use up the memory.
const maxQueued = 100_000

func newEventQueue(o Options) *eventQueue {
	q := &eventQueue{log: o.Logger.With("instance", o.Instance), onEvent: o.OnEvent, done: make(chan struct{})}
	q.ready.L = &q.mu
	return q
}

func (q *eventQueue) put(events ...Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	fit := min(len(events), maxQueued-len(q.events))
	q.events = append(q.events, events[:fit]...)
	q.dropped += len(events) - fit
	q.ready.Signal()
}

// deliver runs until close, and tells everything that was put before.
func (q *eventQueue) deliver() {
	defer close(q.done)
	for {
		q.mu.Lock()
		for len(q.events) == 0 && !q.closed {
			q.ready.Wait()
		}
		batch, dropped := q.events, q.dropped
		q.events, q.dropped = nil, 0
		q.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, e := range batch {
			q.tell(e)
		}
		if dropped > 0 {
			q.tell(EventsDropped{Count: dropped})
		}
	}
}

// tell logs an event and calls the callback. Both run foreign code: a panic of
// one keeps neither the other nor later events from being told.
func (q *eventQueue) tell(e Event) {
	guarded(func() { logEvent(q.log, e) })
	if _, ours := e.(schedulerRuns); ours || q.onEvent == nil {
		return
	}
	if v := guarded(func() { q.onEvent(e) }); v != "" {
		guarded(func() {
			q.log.LogAttrs(context.Background(), slog.LevelError, "the event callback panicked", slog.String("panic", v))
		})
	}
}

// guarded calls f and returns what it panicked with as text, "" if it did not.
func guarded(f func()) (panicked string) {
	defer func() {
		if v := recover(); v != nil {
			panicked = fmt.Sprint(v)
		}
	}()
	f()
	return ""
}

// closeTimeout bounds how long a callback that blocks keeps Run from returning.
const closeTimeout = 10 * time.Second

// close lets deliver end and waits until every event was told.
func (q *eventQueue) close() error {
	q.mu.Lock()
	q.closed = true
	q.ready.Signal()
	q.mu.Unlock()
	select {
	case <-q.done:
		return nil
	case <-time.After(closeTimeout):
		return fmt.Errorf("core: OnEvent or the logger still blocks after %v; the last events were not told", closeTimeout)
	}
}
