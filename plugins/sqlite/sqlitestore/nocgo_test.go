//go:build !cgo

package sqlitestore

import (
	"errors"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestWithoutCgo runs under CGO_ENABLED=0.
func TestWithoutCgo(t *testing.T) {
	b := New(storekit.Env{})
	if b.Info().Name != "sqlite" {
		t.Errorf("info %+v", b.Info())
	}
	err := b.Configure(t.Context(), storekit.Config{})
	if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "CGO_ENABLED=1") {
		t.Errorf("got %v; want an error that says how to build", err)
	}
}
