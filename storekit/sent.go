package storekit

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// sentWatcher tells if a call's request was ever handed to the transport. Until
// then the plugin surely did not see it; after that nobody knows.
type sentWatcher struct{}

type sentKey struct{}

// watchSent returns a context for one call, and a flag that is set once its
// request may have been sent. Read the flag after the call has returned.
func watchSent(ctx context.Context) (context.Context, *atomic.Bool) {
	sent := new(atomic.Bool)
	return context.WithValue(ctx, sentKey{}, sent), sent
}

func (sentWatcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (sentWatcher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.OutPayload); ok {
		if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
			sent.Store(true)
		}
	}
}

func (sentWatcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sentWatcher) HandleConn(context.Context, stats.ConnStats)                       {}
