package natsstore

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between the plugin and the server, and breaks what passes.
type proxy struct {
	target string
	l      net.Listener

	mute, hold atomic.Bool // what the server, or the client, says is thrown away
	stalled    atomic.Pointer[<-chan struct{}]

	mu    sync.Mutex
	conns []net.Conn
	front []net.Conn // towards the client
	shut  bool       // no connection is accepted
	done  sync.WaitGroup
}

// newProxy stands before the server of an URL.
func newProxy(t testing.TB, url string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: strings.TrimPrefix(url, "nats://"), l: l}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.cut()
		p.done.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.l.Addr().String() }

func (p *proxy) accept() {
	for {
		front, err := p.l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		shut := p.shut
		p.mu.Unlock()
		back, err := net.Dial("tcp", p.target)
		if err != nil || shut {
			front.Close()
			if err == nil {
				back.Close()
			}
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, front, back)
		p.front = append(p.front, front)
		p.mu.Unlock()
		p.done.Go(func() { p.carry(back, front, &p.hold, true) })
		p.done.Go(func() { p.carry(front, back, &p.mute, false) })
	}
}

func (p *proxy) carry(to, from net.Conn, drop *atomic.Bool, fromClient bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		if until := p.stalled.Load(); fromClient && until != nil {
			<-*until
		}
		n, err := from.Read(buf)
		if n > 0 && !drop.Load() {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stall reads nothing of what the client says, until then.
func (p *proxy) stall(until <-chan struct{}) { p.stalled.Store(&until) }

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns, p.front = nil, nil
}

// away makes the server unreachable, or reachable again.
func (p *proxy) away(away bool) {
	p.mu.Lock()
	p.shut = away
	p.mu.Unlock()
	if away {
		p.cut()
	}
}

// say puts words into the server's mouth.
func (p *proxy) say(t testing.TB, words string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.front {
		if _, err := c.Write([]byte(words)); err != nil {
			t.Fatal(err)
		}
	}
}
