package scenarios

import (
	"maps"
	"net"
	"strings"
	"sync"
)

// proxy forwards connections to a server, and can be cut: then connections stay
// open and nothing passes, as when a cable is pulled; what was sent meanwhile
// arrives when it is mended, as TCP would send it again.
type proxy struct {
	target   string
	listener net.Listener

	mu    sync.Mutex
	pass  chan struct{} // closed while traffic passes
	conns map[net.Conn]struct{}
	ended bool
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{target: target, listener: l, pass: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	close(p.pass)
	go p.accept()
	return p, nil
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

// serve carries one connection until either end closes it.
func (p *proxy) serve(client net.Conn) {
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	p.await()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	back := make(chan struct{})
	go func() {
		defer close(back)
		p.carry(client, server)
	}()
	p.carry(server, client)
	<-back
}

// carry copies one direction; at its end both are closed.
func (p *proxy) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.await()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) await() {
	p.mu.Lock()
	pass := p.pass
	p.mu.Unlock()
	<-pass
}

// cut lets nothing pass from now on.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.pass:
		p.pass = make(chan struct{})
	default: // it is cut already
	}
}

// mend lets everything pass again.
func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.pass:
	default:
		close(p.pass)
	}
}

func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *proxy) drop(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) close() {
	p.listener.Close()
	p.mend()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for c := range p.conns {
		c.Close()
	}
}

// replaceAddress returns the options of a plugin with another server's address.
func replaceAddress(options map[string]any, old, by string) map[string]any {
	options = maps.Clone(options)
	for name, value := range options {
		if text, ok := value.(string); ok {
			options[name] = strings.ReplaceAll(text, old, by)
		}
	}
	return options
}
