package subject

import (
	"context"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// Memory is a subject that runs inside this process: for the kit's own tests,
// and for the author of a store who wants to look at a failing check with a
// debugger. It proves less than processes do.
type Memory struct {
	Name string
	// Store returns the store's view of a namespace; views share what they must.
	Store func(namespace string) store.Store
}

// About names the store.
func (m Memory) About() kit.About {
	return kit.About{Plugin: m.Name, Version: "in process", Variant: "default"}
}

// Open returns a view of the store.
func (m Memory) Open(_ context.Context, namespace string) (kit.Process, error) {
	return view{m.Store(namespace)}, nil
}

type view struct{ store.Store }

func (view) Close(context.Context) error { return nil }
