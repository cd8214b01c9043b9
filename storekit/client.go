package storekit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Client runs one plugin and is the store that it serves. It is safe for
// concurrent use.
//
// Concurrent claims, heartbeats and finishes go to the plugin in batches; a call
// that is alone goes at once. Every call has a deadline. A plugin that dies, or
// hangs, is started again at once, with the same configuration, and after
// repeated deaths with growing pauses; see [State]. Calls in flight at its death
// end as [store.ErrUnknown] if they were sent; calls that come while it is down
// wait for it within their deadline and then end as [store.ErrNotApplied], with
// the plugin's last words.
type Client struct {
	name   string
	spec   Plugin
	launch launcher

	healthTimeout time.Duration // constants, but for tests
	slowAfter     time.Duration

	closing    context.Context // ends when Close begins
	beginClose context.CancelFunc
	life       context.Context // ends when Close has waited long enough
	endLife    context.CancelCauseFunc
	supervised chan struct{} // closed when nobody starts the plugin any more

	claims     *lane[store.ClaimRequest, store.ClaimAnswer]
	heartbeats *lane[store.HeartbeatRequest, store.HeartbeatAnswer]
	finishes   *lane[store.FinishRequest, store.FinishAnswer]
	grants     grants
	leases     atomic.Bool // described as a lease backend: grants judges it
	events     mailbox[Event]

	mu       sync.Mutex
	gen      *generation // the last that was ready; nil until the first
	state    State
	changed  chan struct{} // closed, and replaced, when the state changes
	breaker  breaker
	lastErr  error         // why it is down
	calls    int           // in flight
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
		slowAfter:     slowAfter,
		supervised:    make(chan struct{}),
		changed:       make(chan struct{}),
		breaker:       breaker{policy: defaultPolicy},
		idle:          make(chan struct{}),
		closed:        make(chan struct{}),
	}
	c.closing, c.beginClose = context.WithCancel(context.Background())
	c.life, c.endLife = context.WithCancelCause(context.Background())
	c.claims = newLane(c.life, c.sendClaims)
	c.heartbeats = newLane(c.life, c.sendHeartbeats)
	c.finishes = newLane(c.life, c.sendFinishes)
	c.events = mailbox[Event]{most: maxEvents, deliver: c.tell, missed: func(n int) { c.tell(EventsDropped{time.Now(), n}) }}
	logger := cmp.Or(spec.Logger, slog.Default()).With("plugin", name)
	c.launch.log = newLogQueue(logger, func(n int) { c.emit(LinesDropped{time.Now(), n}) })
	return c
}

// maxEvents is how many events wait for a callback.
const maxEvents = 10_000

// emit tells an event to whom it may concern. It does not wait.
func (c *Client) emit(e Event) {
	if c.spec.OnEvent != nil {
		c.events.put(e, 1)
	}
}

func (c *Client) tell(e Event) {
	defer func() {
		if v := recover(); v != nil {
			c.launch.log.say(slog.LevelError, "the event callback panicked", "panic", fmt.Sprint(v))
		}
	}()
	c.spec.OnEvent(e)
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

// State says where the plugin is in its life.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
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
	if c.closing.Err() != nil {
		return nil, nil, c.fail(verb, store.ErrNotApplied, errClosed)
	}
	c.calls++
	cancel := context.CancelFunc(func() {})
	timeout := c.spec.callTimeout()
	// Many calls of core share one context: a child each would want the lock of that.
	if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > timeout {
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, &timeoutError{timeout})
	}
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls--; c.calls == 0 && c.closing.Err() != nil {
			close(c.idle)
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
// says what did not end well; in any case nothing is left behind. A logger or a
// callback that blocks delays Close by a second at most; it must not be called
// by that callback. Later calls return the same.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closing.Err() != nil {
		c.mu.Unlock()
		<-c.closed
		return c.closeErr
	}
	c.beginClose()
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
	<-c.supervised // a launch under way was cut off, and cleans up within a bound
	err := c.gen.close(deadline)
	if !drained {
		err = errors.Join(fmt.Errorf("calls in flight did not end within %v", timeout*2/5), err)
	}
	if err != nil {
		c.closeErr = fmt.Errorf("plugin %s: close: %w", c.name, err)
	}
	c.end(c.closeErr)
	close(c.closed)
	return c.closeErr
}

// end makes the client's last words heard, for a while.
func (c *Client) end(err error) {
	c.mu.Lock()
	c.setState(StateClosed)
	c.mu.Unlock()
	c.emit(Closed{time.Now(), err})
	grace := time.Now().Add(flushGrace)
	c.launch.log.box.flush(grace) // may itself give rise to an event
	c.events.flush(grace)
}
