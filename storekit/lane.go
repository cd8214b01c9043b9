package storekit

import (
	"context"
	"runtime"
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

	used sync.Pool // *waiter, whose result was taken

	mu       sync.Mutex
	queue    []*waiter[R, A]
	gone     int // of the queue: left by their callers
	aloft    int // requests in calls under way
	flying   int // calls under way
	boarding int // of them, those that are about to take what is queued
}

const (
	laneCalls = 2   // calls of a verb in flight: one is worked on while the other travels
	laneBatch = 256 // requests in one call
	laneSplit = 32  // so many go together before it pays to make two calls of them
)

// waiter is one request on its way.
type waiter[R, A any] struct {
	req      R
	deadline time.Time
	result   chan store.Result[A] // holds one
	flight   *flight              // nil while queued
	gone     bool                 // left while queued
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
	w, _ := l.used.Get().(*waiter[R, A])
	if w == nil {
		w = &waiter[R, A]{result: make(chan store.Result[A], 1)}
	}
	w.req, w.flight = req, nil
	w.deadline, _ = ctx.Deadline()
	l.mu.Lock()
	l.queue = append(l.queue, w)
	l.start()
	l.mu.Unlock()

	select {
	case r := <-w.result:
		l.used.Put(w) // nobody else knows it any more
		return r
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.flight == nil {
		l.leave(w)
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

// leave takes a request out of the queue: it won't be sent. l.mu is held.
func (l *lane[R, A]) leave(w *waiter[R, A]) {
	w.gone = true
	l.gone++
	l.sweep()
}

// sweep removes those that left once they are more than half of the queue: together, or
// many that leave at once would each walk the whole of it. l.mu is held.
func (l *lane[R, A]) sweep() {
	if l.gone > len(l.queue)/2 {
		l.queue = slices.DeleteFunc(l.queue, func(o *waiter[R, A]) bool { return o.gone })
		l.gone = 0
	}
}

// next takes the requests of the next call out of the queue. l.mu is held.
func (l *lane[R, A]) next() []*waiter[R, A] {
	group := make([]*waiter[R, A], 0, l.share())
	seen := 0
	for ; seen < len(l.queue) && len(group) < cap(group); seen++ {
		if w := l.queue[seen]; w.gone {
			l.gone--
		} else {
			group = append(group, w)
		}
	}
	l.queue = slices.Delete(l.queue, 0, seen)
	l.sweep()
	l.aloft += len(group)
	return group
}

// start lets a call begin if there is a free place. l.mu is held.
func (l *lane[R, A]) start() {
	if l.flying < laneCalls && l.boarding == 0 && len(l.queue) > l.gone {
		l.flying++
		l.boarding++
		go l.fly()
	}
}

// fly makes one call with what is queued, and the next ones as long as there is more.
func (l *lane[R, A]) fly() {
	for {
		// The callers that the last call's answers woke are about to ask again. They run
		// first and go along: else the first of them would go alone, and take the place in
		// which all could travel while the plugin works on the other call.
		runtime.Gosched()
		l.mu.Lock()
		group := l.next()
		l.boarding--
		if len(group) == 0 { // they left, or others took them along
			l.flying--
			l.mu.Unlock()
			return
		}
		f, ctx, reqs := l.board(group)
		l.start()
		l.mu.Unlock()

		for i, r := range l.send(ctx, reqs) {
			group[i].result <- r
		}
		f.cancel()
		l.mu.Lock()
		l.aloft -= len(group)
		l.boarding++
		l.mu.Unlock()
	}
}

// share is how many go in the next call: with many callers a fair part, so that the
// plugin and its store have work while answers travel. l.mu is held.
func (l *lane[R, A]) share() int {
	queued := len(l.queue) - l.gone
	part := (queued + l.aloft + laneCalls - 1) / laneCalls
	return min(queued, max(part, laneSplit), laneBatch)
}

// board makes a call of a group of requests. l.mu is held.
func (l *lane[R, A]) board(group []*waiter[R, A]) (*flight, context.Context, []R) {
	deadline := group[0].deadline
	for _, w := range group {
		if w.deadline.After(deadline) {
			deadline = w.deadline
		}
	}
	// The deadline tells the plugin how long anybody waits. It is a little later than
	// the callers' own: those know better what to say.
	ctx, cancel := context.WithDeadline(l.life, deadline.Add(100*time.Millisecond))
	f := &flight{cancel: cancel, waiting: len(group)}
	reqs := make([]R, len(group))
	for i, w := range group {
		w.flight, reqs[i] = f, w.req
	}
	return f, ctx, reqs
}
