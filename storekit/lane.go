package storekit

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// lane carries the requests of one verb to the plugin. While calls are in flight
// the requests that come queue up and go together in the next one; a request that
// finds a free place goes at once. So the batches are as long as the plugin is
// busy, and nobody waits for company.
type lane[R, A any] struct {
	life context.Context
	send func(context.Context, []R) []store.Result[A] // returns as many results

	mu     sync.Mutex
	queue  []*waiter[R, A]
	flying int
}

const (
	laneCalls = 2   // calls of a verb in flight: one is worked on while the other travels
	laneBatch = 256 // requests in one call
)

// waiter is one request on its way.
type waiter[R, A any] struct {
	req      R
	deadline time.Time
	result   chan store.Result[A] // holds one
	flight   *flight              // nil while queued
}

// flight is one call on its way.
type flight struct {
	cancel  context.CancelFunc
	waiting int // callers that still want its answer
}

// leftError says that the caller left before the answer came.
type leftError struct{ class, why error }

func (e *leftError) Error() string { return e.class.Error() + ": " + e.why.Error() }

func newLane[R, A any](life context.Context, send func(context.Context, []R) []store.Result[A]) *lane[R, A] {
	return &lane[R, A]{life: life, send: send}
}

// ask sends a request and waits for its answer, or for ctx, which must have a
// deadline. A request that ctx ends in the queue is taken out of it: it was
// surely not sent. One that is on its way then is unknown: a [leftError].
func (l *lane[R, A]) ask(ctx context.Context, req R) store.Result[A] {
	deadline, _ := ctx.Deadline()
	w := &waiter[R, A]{req: req, deadline: deadline, result: make(chan store.Result[A], 1)}
	l.mu.Lock()
	l.queue = append(l.queue, w)
	l.start()
	l.mu.Unlock()

	select {
	case r := <-w.result:
		return r
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.flight == nil {
		l.queue = slices.DeleteFunc(l.queue, func(o *waiter[R, A]) bool { return o == w })
		return store.Result[A]{Err: &leftError{store.ErrNotApplied, context.Cause(ctx)}}
	}
	if w.flight.waiting--; w.flight.waiting == 0 {
		w.flight.cancel()
	}
	select {
	case r := <-w.result: // it came at the same moment
		return r
	default:
		return store.Result[A]{Err: &leftError{store.ErrUnknown, context.Cause(ctx)}}
	}
}

// start sends what is queued as far as there are free places. l.mu is held.
func (l *lane[R, A]) start() {
	for l.flying < laneCalls && len(l.queue) > 0 {
		n := min(len(l.queue), laneBatch)
		group := slices.Clone(l.queue[:n])
		l.queue = slices.Delete(l.queue, 0, n)

		deadline := group[0].deadline
		for _, w := range group {
			if w.deadline.After(deadline) {
				deadline = w.deadline
			}
		}
		// The deadline tells the plugin how long anybody waits. It is a little later than
		// the callers' own: those know better what to say.
		ctx, cancel := context.WithDeadline(l.life, deadline.Add(100*time.Millisecond))
		f := &flight{cancel: cancel, waiting: n}
		reqs := make([]R, n)
		for i, w := range group {
			w.flight, reqs[i] = f, w.req
		}
		l.flying++
		go l.fly(ctx, cancel, group, reqs)
	}
}

func (l *lane[R, A]) fly(ctx context.Context, cancel context.CancelFunc, group []*waiter[R, A], reqs []R) {
	defer cancel()
	for i, r := range l.send(ctx, reqs) {
		group[i].result <- r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying--
	l.start()
}
