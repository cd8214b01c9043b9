package natsstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// homes holds the streams as they were when last looked at, and looks again when
// an answer said that they are gone: a server that lost its disk, or had them in
// memory, comes back without them, and its clients with their connection.
type homes struct {
	mu    sync.Mutex // held while looking
	now   atomic.Pointer[home]
	stale atomic.Bool
}

// home returns the streams. Where they were gone it sets them up.
func (b *Backend) home(ctx context.Context) (*home, error) {
	if !b.homes.stale.Load() {
		return b.homes.now.Load(), nil
	}
	b.homes.mu.Lock()
	defer b.homes.mu.Unlock()
	before := b.homes.now.Load()
	if !b.homes.stale.Load() {
		return before, nil
	}
	h, err := b.setUp(ctx)
	if err != nil {
		return nil, err
	}
	if h.era != before.era {
		b.log.Warn("the stream that remembers slots was gone, and is there anew: slots granted before are forgotten and may run a second time", "stream", h.claims.Name)
	}
	b.homes.now.Store(h)
	b.homes.stale.Store(false)
	return h, nil
}

// doubt has the streams looked at before the next verb, if the error says that
// one of them is gone.
func (h *homes) doubt(err error) {
	if errors.Is(err, nats.ErrNoResponders) || hasCode(err, jetstream.JSErrCodeStreamNotFound) || hasCode(err, codeStreamMismatch) {
		h.stale.Store(true)
	}
}
