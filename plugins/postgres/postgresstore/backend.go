package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Backend is a lease backend on a PostgreSQL database. Its verbs are safe for
// concurrent use; their errors are classed as package store says.
type Backend struct {
	storekit.Unimplemented

	log   *slog.Logger
	now   string // SQL of the store's clock
	set   settings
	sql   statements
	about store.Description

	claims   *caller // claims and recalls
	renewals *caller // heartbeats and finishes, which must not wait for claims
}

var (
	_ storekit.Backend          = (*Backend)(nil)
	_ storekit.ClaimBatcher     = (*Backend)(nil)
	_ storekit.HeartbeatBatcher = (*Backend)(nil)
	_ storekit.FinishBatcher    = (*Backend)(nil)
)

// New makes a backend that is not configured yet. It is a [storekit.Factory].
func New(env storekit.Env) storekit.Backend { return newBackend(env) }

func newBackend(env storekit.Env) *Backend { return &Backend{log: env.Logger, now: storeNow} }

// Info says what the plugin is.
func (b *Backend) Info() storekit.Info { return Info() }

// Configure connects, makes the schema and what is in it if they are not there,
// and looks at what safety rests on. A newer format is [store.ErrStoreFormat];
// options that can't do, and a server whose settings can't, are
// [store.ErrInvalid]; the rest is [store.ErrNotApplied].
func (b *Backend) Configure(ctx context.Context, cfg storekit.Config) error {
	set, err := readSettings(cfg)
	if err != nil {
		return err
	}
	return b.open(ctx, set)
}

func (b *Backend) open(ctx context.Context, set settings) error {
	base, err := set.parse()
	if err != nil {
		return err
	}
	explicit := &atomic.Bool{}
	text := texts{set.schema, b.now}
	claims, err := newPool(base, set, set.poolSize, 0)
	if err != nil {
		return notApplied("start", err)
	}
	about, err := inspect(ctx, claims, set, text)
	if err != nil {
		claims.Close()
		return err
	}
	renewals, err := newPool(base, set, set.heartbeatPoolSize, 1)
	if err != nil {
		claims.Close()
		return notApplied("start", err)
	}
	b.set, b.about, b.sql = set, about, text.statements()
	b.claims = &caller{claims, set.callTimeout, explicit}
	b.renewals = &caller{renewals, set.callTimeout, explicit}
	return nil
}

// Describe says what the store can do, as observed at the start.
func (b *Backend) Describe(context.Context) (store.Description, error) { return b.about, nil }

func (b *Backend) namespace() []byte { return []byte(b.set.namespace) }

// Close gives the connections back. It waits for calls under way, at most as
// long as ctx.
func (b *Backend) Close(ctx context.Context) error {
	if b.claims == nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.claims.pool.Close()
		b.renewals.pool.Close()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.Join(store.ErrUnknown, fmt.Errorf("postgres: close: calls are still under way: %w", context.Cause(ctx)))
	}
}
