package subject

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// memoryLink is the way to a store inside this process. It counts calls where a
// proxy counts bytes.
type memoryLink struct {
	// connections is asked of the store, if it tells; else there is one.
	connections func() int
	accept      func() error // asks the server for a new connection

	mu      sync.Mutex
	lost    bool // there is no connection
	mode    memoryMode
	delay   time.Duration
	traffic kit.Traffic
	mended  chan struct{} // closed by the next Mend or Cut
	held    []func()
}

type memoryMode uint8

const (
	linkWhole memoryMode = iota
	linkSwallows
	linkHolds
	linkCut
)

func newMemoryLink(connections func() int, accept func() error) *memoryLink {
	return &memoryLink{connections: connections, accept: accept, mended: make(chan struct{})}
}

func (l *memoryLink) set(m memoryMode, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode, l.delay = m, delay
}

func (l *memoryLink) Swallow()              { l.set(linkSwallows, 0) }
func (l *memoryLink) Hold()                 { l.set(linkHolds, 0) }
func (l *memoryLink) Delay(d time.Duration) { l.set(linkWhole, d) }
func (l *memoryLink) Connections() int      { return l.connections() }

func (l *memoryLink) Cut() {
	l.set(linkCut, 0)
	l.mu.Lock()
	l.lost = true
	l.mu.Unlock()
	l.release()
}

// connect makes the connection anew if it was cut.
func (l *memoryLink) connect() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lost || l.mode == linkCut {
		return nil
	}
	if err := l.accept(); err != nil {
		return err
	}
	l.lost = false
	return nil
}

func (l *memoryLink) Mend() {
	l.mu.Lock()
	l.mode, l.delay = linkWhole, 0
	held := l.held
	l.held = nil
	l.traffic.Delivered += int64(len(held))
	l.mu.Unlock()
	for _, deliver := range held {
		go deliver()
	}
	l.release()
}

// release ends the calls that wait for an answer that will not come.
func (l *memoryLink) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.mended)
	l.mended = make(chan struct{})
}

func (l *memoryLink) Traffic() kit.Traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.traffic
}

// overLink lets a call go over a link.
func overLink[A any](ctx context.Context, l *memoryLink, step func(ctx context.Context) (A, error)) (A, error) {
	var none A
	if err := l.connect(); err != nil {
		return none, err
	}
	l.mu.Lock()
	mode, delay, mended := l.mode, l.delay, l.mended
	switch mode {
	case linkHolds:
		late := context.WithoutCancel(ctx)
		l.held = append(l.held, func() { _, _ = step(late) })
		l.traffic.Held++
	case linkCut:
	default:
		l.traffic.Delivered++
	}
	l.mu.Unlock()

	lost := func() (A, error) {
		select {
		case <-ctx.Done():
			return none, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
		case <-mended:
			return none, fmt.Errorf("%w: the connection ended", store.ErrUnknown)
		}
	}
	switch mode {
	case linkCut:
		return none, fmt.Errorf("%w: connection refused", store.ErrNotApplied)
	case linkHolds:
		return lost()
	case linkSwallows:
		go func() { // the server does not mind how long its caller waits
			_, _ = step(context.WithoutCancel(ctx))
			l.mu.Lock()
			l.traffic.Swallowed++
			l.mu.Unlock()
		}()
		return lost()
	}
	if err := sleep(ctx, delay); err != nil {
		return none, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	a, err := step(ctx)
	if err != nil {
		return none, err
	}
	if err := sleep(ctx, delay); err != nil {
		return none, fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	return a, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
