package redisstore

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy lies between a backend and a server, and swallows the answers of
// scripts. All else goes through: who sends again can, on a new connection too.
type proxy struct {
	t      testing.TB
	server string
	l      net.Listener

	mu      sync.Mutex
	swallow bool // answers go nowhere
	cut     bool // and the connection ends when one would come
	conns   []net.Conn
	wg      sync.WaitGroup
}

func newProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, server: server, l: l}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) close() {
	p.l.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		var script atomic.Bool // was sent since answers are lost
		p.wg.Go(func() {
			defer out.Close()
			pass(in, out, func(sent []byte) bool {
				swallow, cut := p.state()
				script.Store((swallow || cut) && (script.Load() || bytes.Contains(sent, []byte("eval"))))
				return true
			})
		})
		p.wg.Go(func() {
			defer in.Close()
			pass(out, in, func([]byte) bool {
				_, cut := p.state()
				if script.Load() && cut {
					in.Close()
				}
				return !script.Load()
			})
		})
	}
}

// pass copies, except what keep refuses.
func pass(from, to net.Conn, keep func([]byte) bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if !keep(buf[:n]) {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) state() (swallow, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.swallow, p.cut
}

func (p *proxy) set(swallow, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow, p.cut = swallow, cut
}

// executions is how many scripts a server ran to their end or refused.
func executions(t testing.TB, url string) int {
	t.Helper()
	text, err := driver(t, url).Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for name, stats := range parseInfo(text) {
		if name != "cmdstat_eval" && name != "cmdstat_evalsha" {
			continue
		}
		_, rest, _ := strings.Cut(stats, "calls=")
		calls, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			t.Fatalf("INFO commandstats says %q", stats)
		}
		total += n
	}
	return total
}

// awaitExecutions waits until the server ran so many scripts since before, and a
// while longer to see if more come.
func awaitExecutions(t testing.TB, url string, before, want int) {
	t.Helper()
	for deadline := time.Now().Add(patience); executions(t, url)-before < want && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // a resent one would follow at once: the driver backs off for 8 to 512 ms
	if got := executions(t, url) - before; got != want {
		t.Fatalf("the server ran %d scripts; %d were asked for", got, want)
	}
}
