package storekit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

const (
	// healthyAfter is the age from which a plugin's death is not taken as one of a
	// row of failures.
	healthyAfter = 10 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
	// healthTimeout is the time in which a plugin must answer if it lives. It is
	// generous: a machine that swaps is no reason to kill.
	healthTimeout = 5 * time.Second
)

// pause is the time to wait before the start that follows n failures in a row:
// none after the first death, then doubling, each between a half and all of its
// length, so that many hosts do not start in step.
func pause(n int) time.Duration {
	if n == 0 {
		return 0
	}
	p := longestPause
	if n < 10 {
		p = min(p, firstPause<<(n-1))
	}
	return p/2 + rand.N(p/2)
}

// alive returns the plugin if one runs.
func (c *Client) alive() *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gen.proc.ended() {
		return nil
	}
	return c.gen
}

// up waits until the plugin runs, and starts it if it does not. The error says
// why it is down.
func (c *Client) up(ctx context.Context) error {
	for {
		c.mu.Lock()
		if !c.gen.proc.ended() {
			c.mu.Unlock()
			return nil
		}
		if c.starting == nil {
			if c.life.Err() != nil {
				c.mu.Unlock()
				return errClosed
			}
			c.starting = make(chan struct{})
			go c.restart(c.gen)
		}
		starting := c.starting
		c.mu.Unlock()
		select {
		case <-starting:
		case <-c.closing:
			return errClosed
		case <-ctx.Done():
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.lastErr == nil {
				return fmt.Errorf("%w; the plugin is being started", context.Cause(ctx))
			}
			return fmt.Errorf("%w; the plugin is down: %v", context.Cause(ctx), c.lastErr) // its class is not the call's
		}
	}
}

// restart replaces a dead process. Only one runs at a time.
func (c *Client) restart(dead *generation) {
	dead.destroy()
	c.mu.Lock()
	if dead.born != (time.Time{}) {
		if time.Since(dead.born) > healthyAfter {
			c.failures = 0
		}
		c.lastErr = errors.New(dead.proc.obituary())
		dead.born = time.Time{} // counted
	}
	wait := pause(c.failures)
	c.failures++
	log := c.launch.logger.With("plugin", c.name)
	log.Warn("the plugin is down and is started again", "after", wait, "failures", c.failures, "error", c.lastErr)
	c.mu.Unlock()

	var g *generation
	var err error
	select {
	case <-time.After(wait):
		ctx, cancel := c.startContext(c.life)
		g, err = c.launch.launch(ctx)
		cancel()
	case <-c.closing:
	case <-c.life.Done():
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case g != nil:
		c.gen = g
		log.Info("the plugin runs again", "pid", g.proc.pid())
	case err != nil:
		c.lastErr = err
	}
	close(c.starting)
	c.starting = nil
}

// errGone says that a call was surely not sent because the plugin is dead: it may
// be made again on the next one.
var errGone = errors.New("the plugin is gone")

// exchange makes one call. Its error is classed; errGone is among its causes if
// the call should be made again.
func (c *Client) exchange(ctx context.Context, verb string, call func(context.Context, pb.StoreServiceClient) error) error {
	g := c.alive()
	if g == nil {
		return c.fail(verb, store.ErrNotApplied, errGone)
	}
	ctx, sent := watchSent(ctx)
	err := call(ctx, g.svc)
	if err == nil {
		return nil
	}
	class := store.ErrUnknown
	if !sent.Load() {
		class = store.ErrNotApplied
	}
	switch code := status.Code(err); {
	case ctx.Err() != nil:
		if sent.Load() {
			c.probe(g)
		}
		return c.fail(verb, class, context.Cause(ctx))
	case code == codes.Unimplemented:
		return c.fail(verb, store.ErrUnsupported, errors.New("the plugin does not know this call"))
	case code == codes.Unavailable && g.waitEnded():
		if !sent.Load() {
			return c.fail(verb, class, errGone)
		}
		return c.fail(verb, class, errors.New(g.proc.obituary()))
	case code == codes.Unavailable && !sent.Load():
		// The process lives and can't be reached, for instance because its socket was
		// removed: another one can.
		g.log.logger.Error("the plugin can't be reached and is killed", "error", err)
		g.proc.kill()
		select {
		case <-g.proc.done:
			return c.fail(verb, class, errGone)
		case <-ctx.Done():
			return c.fail(verb, class, context.Cause(ctx))
		}
	}
	return c.fail(verb, class, errors.New(g.log.scrub(err.Error())))
}

// probe asks a plugin that left a call without an answer if it still serves any,
// and kills it if not: the next call starts another. The plugin's process may be
// stopped or deadlocked; a store that is slow or away is no reason.
func (c *Client) probe(g *generation) {
	if !g.probing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer g.probing.Store(false)
		ctx, cancel := context.WithTimeout(c.life, c.healthTimeout)
		defer cancel()
		_, err := g.svc.Health(ctx, &pb.HealthRequest{})
		if status.Code(err) == codes.DeadlineExceeded && c.life.Err() == nil {
			g.log.logger.Error("the plugin hangs and is killed", "silent", c.healthTimeout, "pid", g.proc.pid())
			g.proc.kill()
		}
	}()
}

// retrying makes a call on a plugin that runs, and makes it again as long as it
// was surely not sent because the plugin died.
func (c *Client) retrying(ctx context.Context, verb string, try func(context.Context) error) error {
	for {
		if err := c.up(ctx); err != nil {
			return c.fail(verb, store.ErrNotApplied, err)
		}
		err := try(ctx)
		if !errors.Is(err, errGone) || ctx.Err() != nil {
			return err
		}
	}
}

// remote is the error of an item that the plugin refused.
func (c *Client) remote(verb string, e *pb.Error) error {
	return fmt.Errorf("plugin %s: %s: %w", c.name, verb, wire.ToError(e, c.scrub))
}

// broken is the error for an answer that breaks the protocol: what the plugin did
// is then not known.
func (c *Client) broken(verb string, err error) error {
	return c.fail(verb, store.ErrUnknown, fmt.Errorf("the plugin breaks the protocol: %v", err)) // its class would contradict ours
}

// scrub takes the secrets out of a text from the plugin.
func (c *Client) scrub(s string) string {
	c.mu.Lock()
	log := c.gen.log
	c.mu.Unlock()
	return log.scrub(s)
}
