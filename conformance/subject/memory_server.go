package subject

import (
	"context"
	"fmt"
	"sync"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// memoryServer is a store's server that is none: it can be paused and killed like
// one.
type memoryServer struct {
	crash func()

	mu      sync.Mutex
	resumed chan struct{} // closed when the server goes on; nil while it does
	down    bool
	full    bool // it writes nothing more
	crowded bool // it accepts no connection more
}

// lack makes the server lack space or connections, or have them again.
func (s *memoryServer) lack(what kit.Needs, lacks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == kit.NeedSpace {
		s.full = lacks
	} else {
		s.crowded = lacks
	}
}

// accept says whether a connection more is accepted.
func (s *memoryServer) accept() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crowded {
		return fmt.Errorf("%w: the server has no connection left", store.ErrNotApplied)
	}
	return nil
}

// writes serves a call that writes.
func writes[A any](s *memoryServer, step func() (A, error)) (A, error) {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	if full {
		var none A
		return none, fmt.Errorf("%w: the server is full", store.ErrNotApplied)
	}
	return step()
}

// Pause keeps all calls waiting.
func (s *memoryServer) Pause(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resumed = make(chan struct{})
	return nil
}

// Resume lets them happen.
func (s *memoryServer) Resume(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resumed != nil {
		close(s.resumed)
		s.resumed = nil
	}
	return nil
}

// Crash refuses all calls.
func (s *memoryServer) Crash(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = true
	if s.crash != nil {
		s.crash()
	}
	return nil
}

// Again serves again.
func (s *memoryServer) Again(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = false
	return nil
}

// serve lets a call happen in the server: when it goes on, if it is paused, also
// if the caller has gone by then.
func serve[A any](ctx context.Context, s *memoryServer, step func(ctx context.Context) (A, error)) (A, error) {
	s.mu.Lock()
	resumed, down := s.resumed, s.down
	s.mu.Unlock()
	var none A
	if down {
		return none, fmt.Errorf("%w: the server is down", store.ErrNotApplied)
	}
	if resumed == nil {
		return step(ctx)
	}
	done := make(chan store.Result[A], 1)
	go func() {
		<-resumed
		a, err := step(context.WithoutCancel(ctx))
		done <- store.Result[A]{Answer: a, Err: err}
	}()
	select {
	case r := <-done:
		return r.Answer, r.Err
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}
