package kit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// OpenLinked opens a process with a link of its own to the store. The check must
// say [NeedLink].
func (r *Run) OpenLinked() (*Client, Link) {
	p, link, err := r.suite.Subject.(Linker).OpenLinked(r.ctx, "")
	if err != nil {
		r.Inconclusive("opening a process over a link of its own: %v", err)
	}
	r.keep(p)
	r.atEnd(link.Mend)
	return &Client{run: r, process: p, name: "linked"}, link
}

// keep has a process closed when the check is over.
func (r *Run) keep(p Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = append(r.own, p)
}

// OpenOwn opens a process that no other check gets afterwards.
func (r *Run) OpenOwn(name string) *Client {
	p, err := open(r.ctx, r.suite.Subject, "")
	if err != nil {
		r.Inconclusive("opening a process: %v", err)
	}
	r.keep(p)
	return &Client{run: r, process: p, name: name}
}

// TryOpen opens one more process, if the store lets it in, for what it says. ctx bounds
// the launch.
func (r *Run) TryOpen(ctx context.Context) error {
	p, err := open(ctx, r.suite.Subject, "")
	if err == nil {
		r.keep(p)
	}
	return err
}

// Close closes a client's process before the check is over. It must be one that
// the check has for itself.
func (r *Run) Close(c *Client) {
	r.mu.Lock()
	r.own = slicesWithout(r.own, c.process)
	r.mu.Unlock()
	if err := closeAll([]Process{c.process}); err != nil {
		r.Inconclusive("closing the plugin of %s: %v", c.name, err)
	}
}

func slicesWithout(procs []Process, p Process) []Process {
	var rest []Process
	for _, q := range procs {
		if q != p {
			rest = append(rest, q)
		}
	}
	return rest
}

// Freeze stops a client's process as SIGSTOP does, until the returned function is
// called, or the check is over. The check must say [NeedFreeze].
func (r *Run) Freeze(c *Client) (thaw func()) {
	f := c.process.(Freezer)
	if err := f.Freeze(); err != nil {
		r.Inconclusive("stopping the plugin of %s: %v", c.name, err)
	}
	// A plugin that was killed meanwhile is as good as one that goes on.
	thaw = sync.OnceFunc(func() { _ = f.Thaw() })
	r.atEnd(thaw)
	return thaw
}

// StartHost starts a host that holds the run of req. The check must say
// [NeedHost].
func (r *Run) StartHost(req store.ClaimRequest) (Host, Grant) {
	called := time.Now()
	h, err := r.suite.Subject.(Hoster).StartHost(r.ctx, "", req)
	if err != nil {
		r.Inconclusive("starting a host: %v", err)
	}
	r.atEnd(func() { _ = h.Close() })
	a := Claimed{h.Claimed(), Span{called, time.Now()}}
	r.trace.add("host", showClaim(req), showClaimed(a.ClaimAnswer), a.Span)
	if a.Verdict != store.VerdictWon {
		r.Fatalf("%s through a host's plugin: want won, got %s", showClaim(req), showClaimed(a.ClaimAnswer))
	}
	return h, Grant{a, req}
}

// Server is the store's own process. The check must say [NeedPause] or
// [NeedCrash], and that it runs [Check.Alone]. Processes that were lent before are
// not lent again.
func (r *Run) Server() Server {
	r.atEnd(func() {
		_ = r.suite.pool.close() // their connections are broken
		r.mu.Lock()
		r.own, r.pooled = append(r.own, r.pooled...), nil
		r.mu.Unlock()
	})
	return r.suite.Subject.(Served).Server()
}

// OpenSmall opens n processes onto the store that [Run.Exhaust] fills. The check
// must say [NeedSpace].
func (r *Run) OpenSmall(n int) []*Client {
	clients := make([]*Client, n)
	for i := range clients {
		p, err := bounded(r.ctx, func() (Process, error) { return r.suite.Subject.(Scarce).OpenSmall(r.ctx) })
		if err != nil {
			r.Inconclusive("opening the store that is to be filled: %v", err)
		}
		r.keep(p)
		clients[i] = &Client{run: r, process: p, name: fmt.Sprintf("p%d", i+1)}
	}
	return clients
}

// Exhaust lets the store run out of space or of connections, until the returned
// function is called, or the check is over. The check must say that need, and that
// it runs [Check.Alone]. It does not end with the check's time: a server must not
// stay so.
func (r *Run) Exhaust(what Needs) (giveBack func()) {
	within := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(r.ctx), time.Minute)
	}
	ctx, cancel := within()
	defer cancel()
	back, err := r.suite.Subject.(Scarce).Exhaust(ctx, what)
	if err != nil {
		r.Inconclusive("using up what the store has of %v: %v", what, err)
	}
	giveBack = sync.OnceFunc(func() {
		ctx, cancel := within()
		defer cancel()
		if err := back(ctx); err != nil {
			r.end(Error, fmt.Sprintf("giving back what the store had of %v: %v", what, err))
		}
	})
	r.atEnd(giveBack)
	return giveBack
}

// OpenFresh opens the store of that name of this check, which is nobody else's.
// The check must say [NeedFresh].
func (r *Run) OpenFresh(name string) *Client {
	c, err := r.TryOpenFresh(name)
	if err != nil {
		r.Fatalf("opening a store that is set up anew: %v", err)
	}
	return c
}

// TryOpenFresh is OpenFresh where the plugin may refuse.
func (r *Run) TryOpenFresh(name string) (*Client, error) {
	s := r.suite.Subject.(Tamperer)
	p, err := bounded(r.ctx, func() (Process, error) { return s.OpenFresh(r.ctx, r.Namespace(name)) })
	if err != nil {
		return nil, err
	}
	r.keep(p)
	return &Client{run: r, process: p, name: name}, nil
}

// Tamper does something to the fresh store of that name, past the plugin. The
// check must say [NeedTamper].
func (r *Run) Tamper(name string, what Tampering) []string {
	lines, err := r.suite.Subject.(Tamperer).Tamper(r.ctx, r.Namespace(name), what)
	if err != nil {
		r.Inconclusive("tampering with the store (%s): %v", what, err)
	}
	return lines
}

// Skew is how far the store's clock is ahead of this machine's. The check must say
// [NeedSkew].
func (r *Run) Skew() time.Duration { return r.suite.skew }

// Within returns a context of the check's that ends after d, for calls that are
// expected to be cut off.
func (r *Run) Within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, d)
}
