package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Backend is a backend on one namespace of a Redis or Valkey. Its verbs are safe
// for concurrent use; their errors are classed as package store says.
type Backend struct {
	storekit.Unimplemented

	log      *slog.Logger
	clock    string // the scripts' part that reads the clock
	settings settings
	keys     keyspace
	pools    pools
	strategy *strategy
	scripts  struct{ setup, rights, open *script }
	confirm  *confirmer
	about    store.Description
}

var (
	_ storekit.Backend          = (*Backend)(nil)
	_ storekit.ClaimBatcher     = (*Backend)(nil)
	_ storekit.HeartbeatBatcher = (*Backend)(nil)
	_ storekit.FinishBatcher    = (*Backend)(nil)
)

// New makes a backend that is not configured yet. It is a [storekit.Factory].
func New(env storekit.Env) storekit.Backend { return newBackend(env) }

func newBackend(env storekit.Env) *Backend {
	return &Backend{log: env.Logger, clock: luaPart("clock")}
}

// Info says what the plugin is.
func (b *Backend) Info() storekit.Info { return Info() }

// Configure connects, looks if the server is one to rely on, and records what
// the namespace holds if it is new. It takes at most dialTimeout and callTimeout
// together. A newer format is [store.ErrStoreFormat]; options that can't do are
// [store.ErrInvalid]; the rest is [store.ErrNotApplied].
func (b *Backend) Configure(ctx context.Context, cfg storekit.Config) error {
	set, err := readSettings(cfg)
	if err != nil {
		return err
	}
	return b.start(ctx, set)
}

func (b *Backend) start(ctx context.Context, set settings) error {
	b.settings, b.keys = set, newKeyspace(set.namespace)
	b.makeScripts()
	b.confirm = &confirmer{replicas: set.waitReplicas, timeout: set.waitTimeout, log: b.log}
	b.pools = newPools(&set, b.keys.meta())

	ctx, cancel := context.WithTimeout(ctx, set.dialTimeout+set.callTimeout)
	defer cancel()
	if err := b.prepare(ctx); err != nil {
		return errors.Join(startError(&set.target, err), b.pools.close())
	}
	return nil
}

// makeScripts needs settings and keys.
func (b *Backend) makeScripts() {
	b.strategy = newStrategy(&b.settings, b.keys, b.clock)
	b.scripts.setup = newScript(b.clock, flagsAllowOOM, "setup")
	b.scripts.rights = newScript(b.clock, flagsNoWrites, "rights")
	b.scripts.open = newScript(b.clock, flagsNoWrites, "clock", "numbers", "open")
}

// prepare looks before it writes: a server that is refused is not touched.
func (b *Backend) prepare(ctx context.Context) error {
	srv, err := b.observe(ctx)
	if err != nil {
		return err
	}
	if err := srv.judge(&b.settings); err != nil {
		return err
	}
	if err := b.checkRights(ctx); err != nil {
		return err
	}
	if err := b.setUp(ctx); err != nil {
		return err
	}
	b.about = b.describe(srv)
	return nil
}

func (b *Backend) describe(srv *server) store.Description {
	set := &b.settings
	d := store.Description{
		Kind: b.strategy.kind, Strategy: set.strategy, Memory: set.memory(), Clock: store.ClockStore, Fenced: true, History: true,
		Product: srv.product(), Format: Format,
		Warnings: srv.warnings(set),
		Settings: []store.Setting{{Name: "server", Value: set.target.String()}, {Name: "namespace", Value: set.namespace}},
	}
	d.Settings = slices.Concat(d.Settings, srv.observed())
	return d
}

// Describe says what the store can do, as observed at the start.
func (b *Backend) Describe(context.Context) (store.Description, error) { return b.about, nil }

// Close gives the connections back.
func (b *Backend) Close(context.Context) error {
	if b.pools.claims == nil {
		return nil
	}
	return b.pools.close()
}
