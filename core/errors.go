package core

import (
	"errors"
	"fmt"
)

// Causes with which a handler's context is cancelled. Ask for them with
// errors.Is(context.Cause(ctx), core.ErrLost).
var (
	// ErrLost: the store says that this attempt is no longer the run's open one;
	// somebody else has the run. What the handler still writes must be fenced.
	ErrLost = errors.New("run lost: the store refused this attempt's token")
	// ErrUnconfirmed: the lease could not be renewed in time, and the job asked
	// to be cancelled then ([Cancel]). Somebody else may have the run.
	ErrUnconfirmed = errors.New("run unconfirmed: the lease could not be renewed in time")
	// ErrTimeout: the handler ran longer than the job's Timeout.
	ErrTimeout = errors.New("run timed out")
	// ErrStopped: this instance stops. Return soon; an error hands the run over
	// to another instance.
	ErrStopped = errors.New("instance stops")
)

// Errors of the scheduler.
var (
	ErrDuplicateJob = errors.New("a job of that name was added already")
	ErrUnknownJob   = errors.New("no job of that name was added")
	ErrRunning      = errors.New("the scheduler runs already, or has run")
	ErrHandlerStuck = errors.New("handler still runs after the stop timeout")
)

// errRemoved is why a grant that arrives after its job was removed is given back.
var errRemoved = errors.New("the job was removed from this instance")

// PanicError is the error of a run whose handler panicked, or left its
// goroutine with runtime.Goexit (Value is then nil).
type PanicError struct {
	Value any
	Stack []byte

	text string // asked for on the handler's goroutine: a value's own method may panic
}

// Error gives the panic's value and the stack.
func (e *PanicError) Error() string {
	if e.text != "" {
		return e.text
	}
	if e.Value == nil {
		return "handler called runtime.Goexit"
	}
	return fmt.Sprintf("handler panicked: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
