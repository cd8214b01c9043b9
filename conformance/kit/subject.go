package kit

import (
	"context"
	"errors"

	"github.com/anarchon-go/anarchon/core/store"
)

// Subject is what a suite judges: a store that any number of independent
// processes can open. All of them see the same state.
type Subject interface {
	// About says what is judged. It does no I/O.
	About() About

	// Open opens the store once more, as another process does. An empty
	// namespace is the subject's own. Open returns [ErrNoNamespace] if it can't
	// give a namespace of that name. ctx bounds the launch only.
	Open(ctx context.Context, namespace string) (Process, error)
}

// Complainer is a [Subject] that sees, beside the checks, what must not be.
type Complainer interface {
	// Complaints are called for when all processes are closed.
	Complaints() []string
}

// About names a subject in reports.
type About struct {
	Plugin  string `json:"plugin"`  // e.g. "sqlite"
	Version string `json:"version"` // of the plugin
	Variant string `json:"variant"` // of its configuration
	Hash    string `json:"hash,omitempty"`
}

// Process is one opened store, whose calls do not go through any other.
type Process interface {
	store.Store
	Close(ctx context.Context) error
}

// Killer is a [Process] that can be ended as kill -9 does. A call in flight then
// returns an error. The process is of no use afterwards, except to be closed.
type Killer interface {
	Kill() error
}

// ErrNoNamespace says that the subject has no such option.
var ErrNoNamespace = errors.New("the plugin has no option \"namespace\"; every store must have one, so that services can share it")
