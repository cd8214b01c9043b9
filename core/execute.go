package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// execute runs the handler of a run on a goroutine of its own.
func (d *driver) execute(ctx context.Context, r *run) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.executions[r] = cancel
	handler, what := r.job.spec.Handler, d.m.describe(r)
	go func() {
		var err error
		// Goexit unwinds without returning: the answer must be given all the same.
		defer func() {
			d.inbox.put(func(m *machine, now instant) {
				cancel(nil)
				delete(d.executions, r)
				m.handlerReturned(now, r, err)
			})
		}()
		err = &PanicError{}
		err = settle(invoke(ctx, handler, what))
	}()
}

// invoke calls a handler and turns a panic into an error.
func invoke(ctx context.Context, h Handler, r Run) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return h(ctx, r)
}

// handlerError is what a handler returned, with everything asked of it that its
// own code answers: an error's methods may panic (a nil pointer in an error
// interface) or take long, and neither may happen where leases are renewed.
type handlerError struct {
	err      error
	text     string
	timedOut bool // it says so itself
}

func (e *handlerError) Error() string { return e.text }

// Unwrap lets a callback look for its own errors.
func (e *handlerError) Unwrap() error { return e.err }

// settle asks a handler's error what the machine needs to know. An error that
// panics when asked is a panic of the handler.
func settle(err error) (settled error) {
	if err == nil {
		return nil
	}
	if _, ok := err.(*PanicError); ok {
		return &PanicError{Value: err.(*PanicError).Value, Stack: err.(*PanicError).Stack, text: err.Error()}
	}
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: fmt.Sprintf("%T that panics when asked for its text: %v", err, v), Stack: debug.Stack()}
			p.text = p.Error()
			settled = p
		}
	}()
	return &handlerError{err: err, text: err.Error(), timedOut: errors.Is(err, ErrTimeout)}
}
