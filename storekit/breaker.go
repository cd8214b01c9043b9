package storekit

import (
	"math/rand/v2"
	"time"
)

// policy says when a plugin that ended is started again.
type policy struct {
	healthyAfter time.Duration // a plugin that served so long was healthy: its death begins a new row
	firstPause   time.Duration
	longestPause time.Duration
	breakAfter   int // failures in a row, from which on calls are refused while it is down
}

var defaultPolicy = policy{
	healthyAfter: 10 * time.Second,
	firstPause:   100 * time.Millisecond,
	longestPause: 30 * time.Second,
	breakAfter:   5,
}

// breaker counts the failures of a plugin in a row: early deaths, and starts that
// failed. It has no clock.
//
// A start that follows a broken row is a trial (half-open): calls wait for it and
// go to it. Served long enough, the plugin is healthy again; if it dies at once
// the row is one longer.
type breaker struct {
	policy
	failures int
}

// failed counts a failure of a plugin that was ready for so long, 0 if it never
// was. It returns the pause before the next start.
func (b *breaker) failed(ran time.Duration) time.Duration {
	if ran >= b.healthyAfter {
		b.failures = 0
	}
	p := b.pause(b.failures)
	b.failures++
	return p
}

// broken reports whether calls are refused while the plugin is down.
func (b *breaker) broken() bool { return b.failures >= b.breakAfter }

// pause is the time to wait before the start that follows n failures in a row:
// none after the first death, then doubling, each between a half and all of its
// length, so that many hosts do not start in step.
func (b *breaker) pause(n int) time.Duration {
	if n == 0 {
		return 0
	}
	p := b.longestPause
	if n < 20 {
		p = min(p, b.firstPause<<(n-1))
	}
	return p/2 + rand.N(p/2+1)
}
