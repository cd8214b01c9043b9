package coretest

import (
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
)

// Clock is a clock that stands still until a test sets it. Give it to a store with
// [WithClock], to an instance with [core.Options.Now], or to both. It is safe for
// concurrent use; the zero value shows the zero time.
//
// It moves no timer: an instance notices at its next one that the clock was set, at most
// a minute later, as in production.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows the given time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the clock, forward or back.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Advance moves the clock on; a negative duration moves it back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Option changes how [NewStore] makes a store.
type Option struct{ apply func(*model.Options) }

// WithClock lets the store go by a clock of the test: it judges leases and lateness by
// it, and every answer shows it.
func WithClock(c *Clock) Option {
	return Option{func(o *model.Options) { o.Now = c.Now }}
}
