package storekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

const (
	// slowAfter is how long a call may stay without an answer until the plugin's
	// health is asked.
	slowAfter = time.Second
	// healthTimeout is the time in which a plugin must answer if it lives. It is
	// generous: a machine that swaps is no reason to kill.
	healthTimeout = 5 * time.Second
)

// errGone says that the plugin is dead and that the call may be made again on the
// next one.
var errGone = errors.New("the plugin is gone")

// exchange makes one call. Its error is classed; errGone is among its causes if
// the call should be made again: it was surely not sent, or it changes nothing.
func (c *Client) exchange(ctx context.Context, verb string, changes bool, call func(context.Context, pb.StoreServiceClient) error) error {
	g := c.alive()
	if g == nil {
		return c.fail(verb, store.ErrNotApplied, errGone)
	}
	ctx, sent := watchSent(ctx)
	slow := time.AfterFunc(c.slowAfter, func() { c.probe(g) })
	err := call(ctx, g.svc)
	slow.Stop()
	if err == nil {
		return nil
	}
	class := store.ErrUnknown
	if !sent.Load() {
		class = store.ErrNotApplied
	}
	switch code := status.Code(err); {
	case expired(ctx, err):
		if sent.Load() {
			c.probe(g)
		}
		return c.fail(verb, class, context.Cause(ctx))
	case code == codes.Unimplemented:
		return c.fail(verb, store.ErrUnsupported, errors.New("the plugin does not know this call"))
	case (code == codes.Unavailable || code == codes.Canceled) && g.waitEnded():
		// Canceled, while our context is not over: the connection was closed under the
		// call when the plugin's end was noticed.
		if !sent.Load() || !changes {
			return c.fail(verb, class, errGone)
		}
		return c.fail(verb, class, errors.New(g.proc.obituary()))
	case code == codes.Unavailable && !sent.Load():
		// The process lives and can't be reached, for instance because its socket was
		// removed: another one can.
		g.log.queue.say(slog.LevelError, "the plugin can't be reached and is killed", "error", g.log.scrub(err.Error()))
		g.proc.killFor("it could not be reached and was killed")
		select {
		case <-g.proc.done:
			return c.fail(verb, class, errGone)
		case <-ctx.Done():
			return c.fail(verb, class, context.Cause(ctx))
		}
	}
	return c.fail(verb, class, errors.New(wire.CutMessage(g.log.scrub(err.Error()))))
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

// expired reports whether a call failed because its context is over. The timers of
// gRPC and of the plugin may be a little faster than the context's own; the
// context, which knows why, is then waited for.
func expired(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	if !ok || status.Code(err) != codes.DeadlineExceeded || time.Until(deadline) > time.Second {
		return false
	}
	<-ctx.Done()
	return true
}

// probe asks a plugin that leaves a call without an answer if it still serves any,
// and kills it if not: another is started then. The plugin's process may be
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
		if status.Code(err) != codes.DeadlineExceeded || c.life.Err() != nil || c.spec.Debug {
			return
		}
		pid := g.proc.pid()
		g.log.queue.say(slog.LevelError, "the plugin hangs and is killed", "silent", c.healthTimeout, "pid", pid)
		c.emit(Hung{time.Now(), pid, c.healthTimeout})
		g.proc.killFor(fmt.Sprintf("it hung, with no answer to a health check within %v, and was killed", c.healthTimeout))
	}()
}

// retrying makes a call on a plugin that runs, and makes it again as long as that
// does no harm and the plugin died.
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
