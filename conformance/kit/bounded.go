package kit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// grace is what a call gets, after its context has ended, to return by itself.
const grace = 2 * time.Second

// errHang says that a call ignored the end of its context.
var errHang = errors.New("the call has not returned, although its context ended")

// errPanic says that a call panicked in this process.
var errPanic = errors.New("the call panicked")

// bounded calls f and returns within grace of the end of ctx, whatever f does. A
// panic of f becomes an error. After errHang the call is left behind.
func bounded[A any](ctx context.Context, f func() (A, error)) (A, error) {
	type result struct {
		answer A
		err    error
	}
	ch := make(chan result, 1)
	go func() {
		var res result
		defer func() {
			if p := recover(); p != nil {
				res.err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
			}
			ch <- res
		}()
		res.answer, res.err = f()
	}()

	select {
	case res := <-ch:
		return res.answer, res.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case res := <-ch:
		return res.answer, res.err
	case <-timer.C:
		var none A
		return none, fmt.Errorf("%w %v ago: %w", errHang, grace, context.Cause(ctx))
	}
}
