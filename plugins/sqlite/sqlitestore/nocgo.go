//go:build !cgo

package sqlitestore

import (
	"context"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// ErrNoCgo is why a backend of this build can't be configured: SQLite is written
// in C.
var ErrNoCgo = fmt.Errorf("%w: sqlite: built without cgo; build with CGO_ENABLED=1 and a C compiler", store.ErrNotApplied)

// New makes a backend that explains its options and can't be configured.
func New(storekit.Env) storekit.Backend { return withoutCgo{} }

type withoutCgo struct{ storekit.Unimplemented }

func (withoutCgo) Info() storekit.Info { return Info() }

func (withoutCgo) Configure(context.Context, storekit.Config) error { return ErrNoCgo }
