package storekit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Client runs one plugin and is the store that it serves. It is safe for
// concurrent use.
//
// Concurrent claims, heartbeats and finishes go to the plugin in batches; a call
// that is alone goes at once. Every call has a deadline. A plugin that dies is
// started again, with the same configuration, by the next call; after repeated
// deaths with growing pauses. Calls in flight at its death end as
// [store.ErrUnknown] if they were sent; calls that come while it is down wait for
// it within their deadline and then end as [store.ErrNotApplied], with the
// plugin's last words.
type Client struct {
	name   string
	spec   Plugin
	launch launcher

	healthTimeout time.Duration // a constant, but for tests

	life    context.Context // ends when Close has waited long enough
	endLife context.CancelCauseFunc

	claims     *lane[store.ClaimRequest, store.ClaimAnswer]
	heartbeats *lane[store.HeartbeatRequest, store.HeartbeatAnswer]
	finishes   *lane[store.FinishRequest, store.FinishAnswer]

	mu       sync.Mutex
	gen      *generation   // nil until the first start
	starting chan struct{} // closed when the start that is under way ends; nil if none is
	failures int           // starts that failed, and early deaths, in a row
	lastErr  error         // why it is down
	calls    int           // in flight
	closing  chan struct{} // closed when Close begins
	idle     chan struct{} // closed when closing and calls is 0
	closed   chan struct{} // closed when Close is through
	closeErr error         // valid once closed is closed
}

var _ store.Store = (*Client)(nil)

func newClient(name string, spec Plugin, l launcher) *Client {
	c := &Client{
		name:          name,
		spec:          spec,
		launch:        l,
		healthTimeout: healthTimeout,
		closing:       make(chan struct{}),
		idle:          make(chan struct{}),
		closed:        make(chan struct{}),
	}
	c.life, c.endLife = context.WithCancelCause(context.Background())
	c.claims = newLane(c.life, c.sendClaims)
	c.heartbeats = newLane(c.life, c.sendHeartbeats)
	c.finishes = newLane(c.life, c.sendFinishes)
	return c
}

// open makes the first start. Unlike a later one it is not repeated.
func (c *Client) open(ctx context.Context) error {
	ctx, cancel := c.startContext(ctx)
	defer cancel()
	g, err := c.launch.launch(ctx)
	if err != nil {
		return fmt.Errorf("plugin %s (%s): %w", c.name, c.launch.path, err)
	}
	c.gen = g
	return nil
}

func (c *Client) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := c.spec.startTimeout()
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the start may take %v", timeout))
}

// Info says what the plugin is.
func (c *Client) Info() Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gen.info
}

// PID returns the process id of the plugin, 0 while none runs. It changes with
// every restart.
func (c *Client) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gen.proc.pid()
}

// errClosed is what a call after Close ends with.
var errClosed = errors.New("the plugin was closed")

// begin counts a call in, bounds its context, and is undone by what it returns.
func (c *Client) begin(ctx context.Context, verb string) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, c.fail(verb, store.ErrNotApplied, context.Cause(ctx))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closing:
		return nil, nil, c.fail(verb, store.ErrNotApplied, errClosed)
	default:
	}
	c.calls++
	timeout := c.spec.callTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &timeoutError{timeout})
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls--; c.calls == 0 {
			select {
			case <-c.closing:
				close(c.idle)
			default:
			}
		}
	}, nil
}

// timeoutError is the cause of a context that storekit bounded by itself.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string        { return fmt.Sprintf("no answer within %v", e.after) }
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// fail makes the error of a call: which plugin, which verb, what it leaves open,
// and why.
func (c *Client) fail(verb string, class, why error) error {
	return fmt.Errorf("plugin %s: %s: %w: %w", c.name, verb, class, why)
}

// Close stops the plugin: new calls are refused, calls in flight are waited for,
// the plugin closes its store and exits. What takes longer than
// [Plugin.CloseTimeout] altogether is cut off: the calls then end as
// [store.ErrUnknown], and the process is killed with its whole group. An error
// says what did not end well; in any case nothing is left behind. Later calls
// return the same.
func (c *Client) Close() error {
	c.mu.Lock()
	select {
	case <-c.closing:
		c.mu.Unlock()
		<-c.closed
		return c.closeErr
	default:
	}
	close(c.closing)
	if c.calls == 0 {
		close(c.idle)
	}
	c.mu.Unlock()

	timeout := c.spec.closeTimeout()
	deadline := time.Now().Add(timeout)
	drained := true
	select {
	case <-c.idle:
	case <-time.After(timeout * 2 / 5):
		drained = false
	}
	c.endLife(errClosed)
	c.mu.Lock()
	starting := c.starting
	c.mu.Unlock()
	if starting != nil {
		<-starting // its launch was cut off with life, and cleans up within a bound
	}
	err := c.gen.close(deadline)
	if !drained {
		err = errors.Join(fmt.Errorf("calls in flight did not end within %v", timeout*2/5), err)
	}
	if err != nil {
		c.closeErr = fmt.Errorf("plugin %s: close: %w", c.name, err)
	}
	close(c.closed)
	return c.closeErr
}
