// Package link is a TCP proxy that breaks the way between a plugin and its store
// on purpose, and counts what it did: a lost answer is one of which it is known
// that the request went through and that the answer was thrown away.
//
// It is our own and not a library's because the faults that matter here need what
// general proxies lack: requests that are kept back and still arrive after whoever
// sent them has given up, all connections at once, and counts to check a fault by.
package link

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// Proxy is a [kit.Link] over TCP. Close it after use.
type Proxy struct {
	target string
	l      net.Listener
	wg     sync.WaitGroup

	mu      sync.Mutex
	mode    mode
	delay   time.Duration
	traffic kit.Traffic
	pairs   map[*pair]bool
	closed  bool
}

type mode uint8

const (
	whole mode = iota
	swallow
	hold
	cut
)

// New starts a proxy on a free port of the loopback interface.
func New(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, l: l, pairs: map[*pair]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where the store is to be reached over the proxy.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Close ends all connections and waits until nothing of the proxy runs.
func (p *Proxy) Close() error {
	p.mu.Lock()
	var err error
	if !p.closed {
		p.closed = true
		err = p.l.Close()
		p.endAll()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return err
}

// Swallow throws the store's answers away.
func (p *Proxy) Swallow() { p.set(swallow, 0) }

// Hold keeps requests back until Mend.
func (p *Proxy) Hold() { p.set(hold, 0) }

// Delay lets everything take that much longer, each way.
func (p *Proxy) Delay(d time.Duration) { p.set(whole, d) }

func (p *Proxy) set(m mode, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.delay = m, delay
}

// Cut ends all connections and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.delay = cut, 0
	p.endAll()
}

// Mend makes the link whole, and delivers what was held.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.delay = whole, 0
	for c := range p.pairs {
		switch {
		case len(c.held) > 0:
			p.traffic.Delivered += int64(len(c.held))
			delete(p.pairs, c) // it is no connection of the client's any more
			c.client.Close()
			held := c.held
			c.held = nil
			p.wg.Go(func() { c.deliver(held) })
		case c.holed:
			p.end(c)
		}
	}
}

// Traffic says what went over the proxy.
func (p *Proxy) Traffic() kit.Traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.traffic
}

// Connections is how many there are.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pairs)
}

func (p *Proxy) endAll() {
	for c := range p.pairs {
		p.end(c)
	}
}

func (p *Proxy) end(c *pair) {
	delete(p.pairs, c)
	c.client.Close()
	c.server.Close()
}

func (p *Proxy) accept() {
	for {
		client, err := p.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.wg.Go(func() { p.connect(client) })
		}
	}
}

const dialTimeout = 5 * time.Second

func (p *Proxy) connect(client net.Conn) {
	if p.refuses() {
		client.Close()
		return
	}
	server, err := net.DialTimeout("tcp", p.target, dialTimeout)
	if err != nil {
		client.Close()
		return
	}
	c := &pair{client: client, server: server}
	p.mu.Lock()
	if p.closed || p.mode == cut { // meanwhile
		p.mu.Unlock()
		client.Close()
		server.Close()
		return
	}
	p.pairs[c] = true
	p.mu.Unlock()
	p.wg.Go(func() { p.pump(c, c.client, c.server, p.request) })
	p.wg.Go(func() { p.pump(c, c.server, c.client, p.answer) })
}

func (p *Proxy) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed || p.mode == cut
}

// request decides what becomes of a piece of a request: it is passed on after a
// delay, or not.
func (p *Proxy) request(c *pair, b []byte) (pass bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == hold || len(c.held) > 0 { // what comes after what is held waits too
		c.held = append(c.held, b...)
		p.traffic.Held += int64(len(b))
		return false, 0
	}
	p.traffic.Delivered += int64(len(b))
	return true, p.delay
}

// answer is request for the other way.
func (p *Proxy) answer(c *pair, b []byte) (pass bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == swallow || c.holed {
		c.holed = true
		p.traffic.Swallowed += int64(len(b))
		return false, 0
	}
	return true, p.delay
}

// ended says that one side of a connection is gone. What is held is still to be
// delivered.
func (p *Proxy) ended(c *pair) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(c.held) == 0 && p.pairs[c] {
		p.end(c)
	}
}
