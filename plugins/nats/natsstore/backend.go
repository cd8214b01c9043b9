package natsstore

import (
	"context"
	"log/slog"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Backend is a claim-only backend on NATS JetStream. Its verbs are safe for
// concurrent use; their errors are classed as package store says. Heartbeat and
// Unfinished are [store.ErrUnsupported].
type Backend struct {
	storekit.Unimplemented

	log      *slog.Logger
	settings settings
	link     *link
	api      *api
	trimmer  *trimmer
	homes    homes
	about    store.Description
}

var (
	_ storekit.Backend       = (*Backend)(nil)
	_ storekit.ClaimBatcher  = (*Backend)(nil)
	_ storekit.FinishBatcher = (*Backend)(nil)
)

// New makes a backend that is not configured yet. It is a [storekit.Factory].
func New(env storekit.Env) storekit.Backend { return &Backend{log: env.Logger} }

// Info says what the plugin is.
func (b *Backend) Info() storekit.Info { return Info() }

// Configure connects, makes the two streams of the namespace if they are not
// there, and tries what the verbs need. It fails within 5 s if there is no server,
// and within 20 s in all. A newer format is [store.ErrStoreFormat]; a setting that
// can't be is [store.ErrInvalid]; the rest is [store.ErrNotApplied].
func (b *Backend) Configure(ctx context.Context, cfg storekit.Config) error {
	set, err := readSettings(cfg)
	if err != nil {
		return err
	}
	return b.open(ctx, set)
}

func (b *Backend) open(ctx context.Context, set settings) error {
	b.settings = set
	b.link = newLink(b.log, newDial(&b.settings))
	if err := b.link.connectWithin(ctx); err != nil {
		return err
	}
	version := b.link.conn.ConnectedServerVersion()
	warning, err := checkServer(version)
	if err == nil {
		b.api = newAPI(b.link, set.domain)
		var h *home
		if h, err = b.setUp(ctx); err == nil {
			b.homes.now.Store(h)
			b.about = describe(&b.settings, version, h)
		}
	}
	if err != nil {
		b.link.close()
		return err
	}
	if warning != "" {
		b.about.Warnings = append(b.about.Warnings, warning)
	}
	b.trimmer = newTrimmer(b.log, func(ctx context.Context, job string, size int) error {
		return b.api.trim(ctx, b.settings.layout.history, b.settings.layout.job(job), size)
	})
	return nil
}

// Describe says what the store can do, as observed at the start.
func (b *Backend) Describe(context.Context) (store.Description, error) { return b.about, nil }

// Close ends the connection.
func (b *Backend) Close(context.Context) error {
	if b.trimmer == nil {
		return nil
	}
	b.trimmer.close()
	b.link.close()
	return nil
}
