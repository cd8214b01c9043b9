//go:build cgo

package sqlitestore

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Backend is a lease backend on one SQLite file. Its verbs are safe for
// concurrent use; their errors are classed as package store says.
type Backend struct {
	storekit.Unimplemented

	log      *slog.Logger
	now      string                               // SQL of the store's clock
	fsType   func(dir string) (filesystem, error) // tells the file system
	settings settings
	write    *writer
	read     *reader
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
	return &Backend{log: env.Logger, now: storeNow, fsType: statFilesystem}
}

// Info says what the plugin is.
func (b *Backend) Info() storekit.Info { return Info() }

// settings are the options, checked.
type settings struct {
	path      string
	namespace string
	busy      time.Duration
	noCreate  bool
}

func readSettings(cfg storekit.Config) (settings, error) {
	s := settings{
		path:      cfg.String("path"),
		namespace: cfg.String("namespace"),
		busy:      cfg.Duration("busyTimeout"),
		noCreate:  !cfg.Bool("create"),
	}
	return s, store.CheckName("namespace", s.namespace)
}

// Configure opens the file, and makes it and its tables if they are not there.
// It waits for locks at most busyTimeout. A newer format is
// [store.ErrStoreFormat]; a path that can't do is [store.ErrInvalid]; the rest
// is [store.ErrNotApplied].
func (b *Backend) Configure(ctx context.Context, cfg storekit.Config) error {
	set, err := readSettings(cfg)
	if err != nil {
		return err
	}
	return b.open(ctx, set)
}

func (b *Backend) open(ctx context.Context, set settings) (err error) {
	libraryWarning, err := checkLibrary()
	if err != nil {
		return notApplied("start", err)
	}
	l, err := locate(set.path, b.fsType)
	if err != nil {
		return err
	}
	if libraryWarning != "" {
		l.warnings = append(l.warnings, libraryWarning)
	}
	w, r := newWriter(l, set.busy, b.now), newReader(l, set.busy, b.now)
	err = whileBusy(ctx, set.busy, func() error {
		if err := peek(l, !set.noCreate); err != nil {
			return err
		}
		return w.connect()
	})
	if err == nil {
		err = whileBusy(ctx, set.busy, r.open)
	}
	if err == nil {
		b.about, err = describe(w.conn, l, set)
	}
	if err != nil {
		return notApplied("open "+l.path, errors.Join(err, r.close(), w.close(ctx)))
	}
	for _, warning := range l.warnings {
		b.log.Warn(warning)
	}
	b.settings, b.write, b.read = set, w, r
	return nil
}

// Describe says what the store can do, as observed at the start.
func (b *Backend) Describe(context.Context) (store.Description, error) { return b.about, nil }

// Close gives the file back. The last one to close it folds the write-ahead log
// into it.
func (b *Backend) Close(ctx context.Context) error {
	if b.write == nil {
		return nil
	}
	// The reader first: a read-only connection can't fold the log.
	return errors.Join(b.read.close(), b.write.close(ctx))
}
