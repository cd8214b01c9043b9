//go:build !cgo

package sqlitestore

import (
	"context"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// New makes a backend that explains itself and can't be configured: SQLite is
// written in C, and this program was built without cgo.
func New(storekit.Env) storekit.Backend { return withoutCgo{} }

type withoutCgo struct{ storekit.Unimplemented }

func (withoutCgo) Info() storekit.Info { return Info() }

func (withoutCgo) Configure(context.Context, storekit.Config) error {
	return fmt.Errorf("%w: sqlite: built without cgo; build the plugin with CGO_ENABLED=1 and a C compiler", store.ErrNotApplied)
}
