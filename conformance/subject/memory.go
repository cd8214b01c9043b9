package subject

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// Memory is a subject that runs inside this process: for the kit's own tests,
// and for the author of a store who wants to look at a failing check with a
// debugger. It proves less than processes do.
type Memory struct {
	Name string
	// Process opens the store as one more process does, in a namespace; an empty one
	// is the default. A store that has the method End() is told when its process
	// is closed or killed.
	Process func(namespace string) store.Store
	// Lag, if not nil, is how long each call takes before, and again after, the
	// store's step. A call that is cut off before it is surely not applied; one
	// that is cut off after it is unknown.
	Lag func() time.Duration
}

// About names the store.
func (m Memory) About() kit.About {
	return kit.About{Plugin: m.Name, Version: "in process", Variant: "default"}
}

// Open opens the store once more.
func (m Memory) Open(_ context.Context, namespace string) (kit.Process, error) {
	life, end := context.WithCancelCause(context.Background())
	return &local{store: m.Process(namespace), lag: m.Lag, life: life, end: end}, nil
}

// local is a process that is none: it can be closed and killed like one.
type local struct {
	store store.Store
	lag   func() time.Duration
	life  context.Context
	end   context.CancelCauseFunc
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

func through[A any](ctx context.Context, l *local, step func(ctx context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.life, func() { cancel(context.Cause(l.life)) })()
	var none A
	if l.life.Err() != nil {
		return none, fmt.Errorf("%w: %w", store.ErrNotApplied, context.Cause(l.life))
	}
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
}

// wait lets the lag pass, or returns why it could not. Without a lag the context
// is the store's own affair.
func (l *local) wait(ctx context.Context) error {
	if l.lag == nil {
		return nil
	}
	timer := time.NewTimer(l.lag())
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *local) Describe(ctx context.Context) (store.Description, error) {
	return through(ctx, l, l.store.Describe)
}

func (l *local) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return through(ctx, l, func(ctx context.Context) (store.ClaimAnswer, error) { return l.store.Claim(ctx, req) })
}

func (l *local) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return through(ctx, l, func(ctx context.Context) (store.HeartbeatAnswer, error) { return l.store.Heartbeat(ctx, req) })
}

func (l *local) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return through(ctx, l, func(ctx context.Context) (store.FinishAnswer, error) { return l.store.Finish(ctx, req) })
}

func (l *local) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return through(ctx, l, func(ctx context.Context) (store.UnfinishedAnswer, error) { return l.store.Unfinished(ctx, req) })
}

func (l *local) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return through(ctx, l, func(ctx context.Context) (store.HistoryAnswer, error) { return l.store.History(ctx, req) })
}
