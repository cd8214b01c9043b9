package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// execution is a handler that runs, and once it has returned, the machine's input.
type execution struct {
	driver  *driver
	of      *run
	handler Handler
	what    Run
	ctx     context.Context
	cancel  context.CancelCauseFunc
	err     error // what the handler returned
}

// execute runs the handler of a run, from the end of the turn on, on a goroutine of
// its own. Its context is ended by the machine alone.
func (d *driver) execute(r *run) {
	e := &execution{driver: d, of: r, handler: r.job.spec.Handler, what: d.m.describe(r)}
	e.ctx, e.cancel = context.WithCancelCause(d.values)
	d.executions[r] = e
	d.starting = append(d.starting, e)
}

func (e *execution) run() {
	// Goexit unwinds without returning: the answer must be given all the same.
	e.err = &PanicError{}
	defer e.driver.inbox.put(e)
	e.err = settle(invoke(e.ctx, e.handler, e.what))
}

func (e *execution) apply(m *machine, now instant) {
	e.cancel(nil)
	delete(e.driver.executions, e.of)
	m.handlerReturned(now, e.of, e.err)
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
	defer func() {
		if v := recover(); v != nil {
			p := &PanicError{Value: fmt.Sprintf("%T that panics when asked for its text: %v", err, v), Stack: debug.Stack()}
			p.text = p.Error()
			settled = p
		}
	}()
	if p, ok := err.(*PanicError); ok { // nil, perhaps: a handler may return one of its own
		return &PanicError{Value: p.Value, Stack: p.Stack, text: p.Error()}
	}
	return &handlerError{err: err, text: err.Error(), timedOut: errors.Is(err, ErrTimeout)}
}
