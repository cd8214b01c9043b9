package storekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrCrashLoop is in the error of a call while the plugin is [StateBroken].
var ErrCrashLoop = errors.New("the plugin dies again and again")

// open makes the first start. Unlike a later one it is not repeated.
func (c *Client) open(ctx context.Context) error {
	ctx, cancel := c.startContext(ctx)
	defer cancel()
	g, err := c.start(ctx)
	if err != nil {
		err = fmt.Errorf("plugin %s (%s): %w", c.name, c.launch.shown, err)
		c.beginClose()
		c.endLife(errClosed)
		c.end(err)
		return err
	}
	go c.supervise(g)
	return nil
}

func (c *Client) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := c.spec.startTimeout()
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the start may take %v", timeout))
}

// start launches a process and makes it the plugin's.
func (c *Client) start(ctx context.Context) (*generation, error) {
	c.mu.Lock()
	failures := c.breaker.failures
	c.setState(StateStarting)
	c.mu.Unlock()
	begin := time.Now()
	c.emit(Starting{begin, failures})
	g, err := c.launch.launch(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.gen = g
	c.setState(StateReady)
	c.mu.Unlock()
	level := slog.LevelDebug
	if failures > 0 {
		level = slog.LevelInfo
	}
	pid, took := g.proc.pid(), g.born.Sub(begin)
	c.launch.log.say(level, "the plugin runs", "pid", pid, "version", g.info.Version, "took", took)
	c.emit(Ready{g.born, pid, g.info.Version, took})
	return g, nil
}

// setState changes the state and wakes whoever waits for a change. c.mu is held.
func (c *Client) setState(s State) {
	c.state = s
	close(c.changed)
	c.changed = make(chan struct{})
}

// supervise keeps the plugin running until Close begins. It does not wait for the
// next call: heartbeats of running jobs must find a plugin.
func (c *Client) supervise(g *generation) {
	defer close(c.supervised)
	for g != nil {
		select {
		case <-g.proc.done:
			g = c.revive(g)
		case <-c.closing.Done():
			return
		}
	}
}

// revive replaces a process that ended. It returns nil if Close begins first.
func (c *Client) revive(dead *generation) *generation {
	pid, ran, err := dead.proc.lastPID(), dead.proc.endedAt.Sub(dead.born), errors.New(dead.proc.obituary())
	dead.destroy()
	for {
		pause := c.down(pid, ran, err)
		select {
		case <-time.After(pause):
		case <-c.closing.Done():
			return nil
		}
		var g *generation
		ctx, cancel := c.startContext(c.closing)
		g, err = c.start(ctx)
		cancel()
		switch {
		case err == nil:
			return g
		case c.closing.Err() != nil:
			return nil
		}
		pid, ran = 0, 0
	}
}

// down notes that the plugin ended or could not be started, and returns the pause
// before the next start.
func (c *Client) down(pid int, ran time.Duration, err error) time.Duration {
	c.mu.Lock()
	pause := c.breaker.failed(ran)
	failures, broken := c.breaker.failures, c.breaker.broken()
	c.lastErr = err
	if broken {
		c.setState(StateBroken)
	} else {
		c.setState(StateBackoff)
	}
	c.mu.Unlock()
	level := slog.LevelWarn
	if broken {
		level = slog.LevelError
	}
	c.launch.log.say(level, "the plugin is down and is started again", "after", pause, "failures", failures, "broken", broken, "error", err)
	c.emit(Down{time.Now(), pid, ran, err, failures, pause, broken})
	return pause
}

// up waits until the plugin runs. The error says why it does not.
func (c *Client) up(ctx context.Context) error {
	for {
		c.mu.Lock()
		state, changed, g, why, failures := c.state, c.changed, c.gen, c.lastErr, c.breaker.failures
		c.mu.Unlock()
		switch {
		case c.closing.Err() != nil:
			return errClosed
		case state == StateReady && !g.proc.ended(): // else the change is under way
			return nil
		case state == StateBroken:
			return fmt.Errorf("%w, %d times in a row; it is tried again: %v", ErrCrashLoop, failures, why)
		}
		select {
		case <-changed:
		case <-c.closing.Done():
		case <-ctx.Done():
			if why == nil {
				return fmt.Errorf("%w; the plugin is being started", context.Cause(ctx))
			}
			return fmt.Errorf("%w; the plugin is down: %v", context.Cause(ctx), why) // its class is not the call's
		}
	}
}
