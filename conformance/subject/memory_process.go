package subject

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// local is a process that is none: it can be closed, killed and frozen like one.
type local struct {
	store  store.Store // the server's side
	outer  store.Store // the plugin's
	link   *memoryLink
	server *memoryServer
	lag    func() time.Duration
	life   context.Context
	end    context.CancelCauseFunc

	mu     sync.Mutex
	thawed chan struct{} // closed when the process goes on; nil while it does
}

var (
	errKilled = errors.New("the process was killed")
	errClosed = errors.New("the process was closed")
)

// Kill cuts all calls off and refuses later ones.
func (l *local) Kill() error { l.over(errKilled); return nil }

// Close is Kill by a friendlier name: no call is in flight any more.
func (l *local) Close(context.Context) error { l.over(errClosed); return nil }

func (l *local) over(why error) {
	l.end(why)
	if e, ok := l.store.(interface{ End() }); ok {
		e.End()
	}
}

// Freeze stops the process; calls wait.
func (l *local) Freeze() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.thawed = make(chan struct{})
	if f, ok := l.store.(interface{ Frozen(bool) }); ok {
		f.Frozen(true)
	}
	return nil
}

// Thaw lets it go on.
func (l *local) Thaw() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thawed != nil {
		close(l.thawed)
		l.thawed = nil
		if f, ok := l.store.(interface{ Frozen(bool) }); ok {
			f.Frozen(false)
		}
	}
	return nil
}

func (l *local) connections() int {
	if c, ok := l.store.(interface{ Connections() int }); ok {
		return c.Connections()
	}
	if l.life.Err() != nil {
		return 0
	}
	return 1
}

// awake waits until the process is not frozen.
func (l *local) awake(ctx context.Context) error {
	l.mu.Lock()
	thawed := l.thawed
	l.mu.Unlock()
	if thawed == nil {
		return nil
	}
	select {
	case <-thawed:
		return ctx.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// behind is what lies behind a plugin's own code: the link and the server.
type behind struct{ *local }

func through[A any](ctx context.Context, l *local, step func(ctx context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(context.Cause(l.life)) })()
	var none A
	if l.life.Err() != nil {
		return none, fmt.Errorf("%w: %w", store.ErrNotApplied, context.Cause(l.life))
	}
	return overLink(ctx, l.link, func(ctx context.Context) (A, error) {
		return serve(ctx, l.server, func(ctx context.Context) (A, error) {
			if err := l.wait(ctx); err != nil {
				return none, fmt.Errorf("%w: %w", store.ErrNotApplied, err)
			}
			a, err := step(ctx)
			if err != nil {
				return none, err
			}
			if err := l.wait(ctx); err != nil {
				return none, fmt.Errorf("%w: %w", store.ErrUnknown, err)
			}
			return a, nil
		})
	})
}

// wait lets the lag pass, or returns why it could not. Without a lag the context
// is the store's own affair.
func (l *local) wait(ctx context.Context) error {
	if l.lag == nil {
		return nil
	}
	return sleep(ctx, l.lag())
}

// call makes a call of the process.
func call[A any](ctx context.Context, l *local, f func() (A, error)) (A, error) {
	var none A
	if err := l.awake(ctx); err != nil {
		return none, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	a, err := f()
	if late := l.awake(ctx); late != nil {
		return none, fmt.Errorf("%w: %w", store.ErrUnknown, late)
	}
	return a, err
}

func (l *local) Describe(ctx context.Context) (store.Description, error) {
	return call(ctx, l, func() (store.Description, error) { return l.outer.Describe(ctx) })
}

func (l *local) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return call(ctx, l, func() (store.ClaimAnswer, error) { return l.outer.Claim(ctx, req) })
}

func (l *local) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return call(ctx, l, func() (store.HeartbeatAnswer, error) { return l.outer.Heartbeat(ctx, req) })
}

func (l *local) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return call(ctx, l, func() (store.FinishAnswer, error) { return l.outer.Finish(ctx, req) })
}

func (l *local) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return call(ctx, l, func() (store.UnfinishedAnswer, error) { return l.outer.Unfinished(ctx, req) })
}

func (l *local) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return call(ctx, l, func() (store.HistoryAnswer, error) { return l.outer.History(ctx, req) })
}

func (b behind) Describe(ctx context.Context) (store.Description, error) {
	return through(ctx, b.local, b.store.Describe)
}

func (b behind) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return through(ctx, b.local, func(ctx context.Context) (store.ClaimAnswer, error) {
		return writes(b.server, func() (store.ClaimAnswer, error) { return b.store.Claim(ctx, req) })
	})
}

func (b behind) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return through(ctx, b.local, func(ctx context.Context) (store.HeartbeatAnswer, error) {
		return writes(b.server, func() (store.HeartbeatAnswer, error) { return b.store.Heartbeat(ctx, req) })
	})
}

func (b behind) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return through(ctx, b.local, func(ctx context.Context) (store.FinishAnswer, error) {
		return writes(b.server, func() (store.FinishAnswer, error) { return b.store.Finish(ctx, req) })
	})
}

func (b behind) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return through(ctx, b.local, func(ctx context.Context) (store.UnfinishedAnswer, error) { return b.store.Unfinished(ctx, req) })
}

func (b behind) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return through(ctx, b.local, func(ctx context.Context) (store.HistoryAnswer, error) { return b.store.History(ctx, req) })
}
