package core

import (
	"errors"

	"github.com/anarchon-go/anarchon/core/store"
)

// storeError is what a store returned in the place of an answer, with everything asked
// of it that its own code answers: as with a handler's error, none of its methods may be
// called where leases are renewed.
type storeError struct {
	err   error
	text  string
	class error // store.ErrInvalid, ErrNotApplied or ErrUnknown
}

func (e *storeError) Error() string { return e.text }

// Unwrap lets a callback look for the store's own errors.
func (e *storeError) Unwrap() error { return e.err }

func (e *storeError) invalid() bool { return e.class == store.ErrInvalid }
func (e *storeError) unknown() bool { return e.class == store.ErrUnknown }

// classify asks an error for its class, once.
func classify(err error) *storeError {
	if e, ok := err.(*storeError); ok && e != nil {
		return e
	}
	class := store.ErrNotApplied
	switch {
	case store.IsUnknown(err):
		class = store.ErrUnknown
	case errors.Is(err, store.ErrInvalid):
		class = store.ErrInvalid
	}
	return &storeError{err: err, text: err.Error(), class: class}
}
