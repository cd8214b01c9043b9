package core

import (
	"context"
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
		err = invoke(ctx, handler, what)
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
