package core_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// link is the way from an instance to its store, with faults.
type link struct {
	store.Store
	over <-chan struct{}
	dead atomic.Bool // the process died: answers that are on their way arrive nowhere

	mu    sync.Mutex
	fault fault
	calls map[string]int
}

// fault is what happens to calls.
type fault uint8

const (
	whole     fault = iota
	cut             // nothing reaches the store: surely not applied
	mute            // calls reach the store, answers get lost
	hung            // calls reach nobody and end when their context does
	stuck           // calls reach nobody and never end
	panicking       // calls panic
)

func (l *link) set(f fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *link) called(verb string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[verb]
}

func (l *link) now(verb string) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	l.calls[verb]++
	return l.fault
}

func through[Q, A any](ctx context.Context, l *link, name string, verb func(context.Context, Q) (A, error), req Q) (A, error) {
	var none A
	switch l.now(name) {
	case cut:
		return none, fmt.Errorf("cut: %w", store.ErrNotApplied)
	case mute:
		verb(ctx, req)
		<-ctx.Done()
		return none, ctx.Err() // of no class: it counts as unknown
	case hung:
		<-ctx.Done()
		return none, fmt.Errorf("hung: %w", store.ErrUnknown)
	case stuck:
		<-l.over
		return none, nil
	case panicking:
		panic("a bug in the store")
	}
	time.Sleep(time.Millisecond) // a call takes some time
	return verb(ctx, req)
}

func (l *link) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	return through(ctx, l, "claim", l.Store.Claim, q)
}

func (l *link) Heartbeat(ctx context.Context, q store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return through(ctx, l, "heartbeat", l.Store.Heartbeat, q)
}

func (l *link) Finish(ctx context.Context, q store.FinishRequest) (store.FinishAnswer, error) {
	return through(ctx, l, "finish", l.Store.Finish, q)
}

func (l *link) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return through(ctx, l, "recall", l.Store.Unfinished, q)
}

func (l *link) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	return through(ctx, l, "history", l.Store.History, q)
}
