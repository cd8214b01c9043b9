package postgresstore

import (
	"bytes"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fault is what a proxy does to the next answer of the server, or to the next
// request.
type fault int32

const (
	none           fault = iota
	swallowAnswer        // the request arrives; its answer does not, and the connection is cut
	swallowCommit        // all of the answer arrives but its last message, which tells the commit
	swallowRequest       // the request does not arrive, and the connection is cut
	swallowForGood       // the answer does not arrive, and the connection stays silent
)

// proxy stands between the plugin and the server and loses what it is told to.
type proxy struct {
	t      testing.TB
	server string
	listen net.Listener
	next   atomic.Int32  // a fault; only the first connection that sees it has it
	struck chan struct{} // gets a value when it happened

	asking atomic.Bool  // the client had the last word
	trips  atomic.Int32 // how often the client began to speak after the server

	mu    sync.Mutex
	conns []net.Conn
	wait  sync.WaitGroup
}

// newProxy returns settings that go through a proxy.
func newProxy(t testing.TB, set settings) (settings, *proxy) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listen: l, struck: make(chan struct{}, 1)}
	through := set.withURL(t, func(u *url.URL) {
		p.server, u.Host = u.Host, l.Addr().String()
		q := u.Query()
		q.Set("sslmode", "disable") // the proxy looks into the messages
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	})
	p.wait.Go(p.serve)
	t.Cleanup(p.close)
	return through, p
}

// strike makes the next fault; what struck before is forgotten.
func (p *proxy) strike(f fault) {
	select {
	case <-p.struck:
	default:
	}
	p.next.Store(int32(f))
}

func (p *proxy) serve() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.wait.Go(func() { p.pump(client, server, p.request) })
		p.wait.Go(func() { p.pump(server, client, p.answer) })
	}
}

// pump hands on what look lets through, until it says stop.
func (p *proxy) pump(from, to net.Conn, look func([]byte) (pass []byte, stop bool)) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		pass, stop := look(buf[:n])
		if _, e := to.Write(pass); err != nil || e != nil || stop {
			return
		}
	}
}

// request looks at what the client sends. Requests that are cut in two packets
// would escape it; those of the tests are small.
func (p *proxy) request(b []byte) ([]byte, bool) {
	if len(b) > 0 && p.take(swallowRequest) {
		return nil, true
	}
	if len(b) > 0 && !p.asking.Swap(true) {
		p.trips.Add(1)
	}
	return b, false
}

// readyForQuery is the last message of every answer.
var readyForQuery = []byte{'Z', 0, 0, 0, 5, 'I'}

func (p *proxy) answer(b []byte) ([]byte, bool) {
	if len(b) > 0 {
		p.asking.Store(false)
	}
	switch {
	case len(b) == 0:
	case p.take(swallowAnswer):
		return nil, true
	case bytes.HasSuffix(b, readyForQuery) && p.take(swallowCommit):
		return b[:len(b)-len(readyForQuery)], true
	case p.next.Load() == int32(swallowForGood): // until another is struck
		p.signal()
		return nil, false
	}
	return b, false
}

// take reports whether a fault is due, and marks it done.
func (p *proxy) take(f fault) bool {
	taken := p.next.CompareAndSwap(int32(f), int32(none))
	if taken {
		p.signal()
	}
	return taken
}

func (p *proxy) signal() {
	select {
	case p.struck <- struct{}{}:
	default:
	}
}

func (p *proxy) close() {
	p.listen.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}
