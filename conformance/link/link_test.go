package link_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/link"
)

// server counts the lines that it gets and answers each.
type server struct {
	l    net.Listener
	mu   sync.Mutex
	seen []string
}

func newServer(t *testing.T) *server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{l: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					s.mu.Lock()
					s.seen = append(s.seen, lines.Text())
					s.mu.Unlock()
					fmt.Fprintln(c, "re "+lines.Text())
				}
			}()
		}
	}()
	return s
}

func (s *server) saw(line string) func() bool {
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, l := range s.seen {
			if l == line {
				return true
			}
		}
		return false
	}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("10 s, and not %s", what)
		}
	}
}

func newProxy(t *testing.T) (*link.Proxy, *server) {
	s := newServer(t)
	p, err := link.New(s.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, s
}

func dial(t *testing.T, p *link.Proxy) (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c, bufio.NewReader(c)
}

func say(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if got, err := r.ReadString('\n'); got != want+"\n" {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func gone(t *testing.T, r *bufio.Reader) {
	t.Helper()
	if got, err := r.ReadString('\n'); err == nil || len(got) > 0 {
		t.Fatalf("heard %q, %v; want an end", got, err)
	}
}

func TestWholeAndDelayed(t *testing.T) {
	p, _ := newProxy(t)
	c, r := dial(t, p)
	say(t, c, "a")
	hear(t, r, "re a")
	p.Delay(30 * time.Millisecond)
	start := time.Now()
	say(t, c, "b")
	hear(t, r, "re b")
	if took := time.Since(start); took < 60*time.Millisecond {
		t.Errorf("there and back took %v; want 60 ms or more", took)
	}
	if got, want := p.Traffic(), (kit.Traffic{Delivered: 4}); got != want {
		t.Errorf("traffic %+v, want %+v", got, want)
	}
	if n := p.Connections(); n != 1 {
		t.Errorf("%d connections", n)
	}
	c.Close()
	await(t, "without connections", func() bool { return p.Connections() == 0 })
}

func TestSwallow(t *testing.T) {
	p, s := newProxy(t)
	c, r := dial(t, p)
	say(t, c, "a")
	hear(t, r, "re a")
	p.Swallow()
	say(t, c, "b")
	await(t, "swallowed", func() bool { return p.Traffic().Swallowed == 5 })
	if !s.saw("b")() {
		t.Error("the server did not see the request whose answer was swallowed")
	}
	p.Mend() // the stream has a hole
	gone(t, r)
	c, r = dial(t, p)
	say(t, c, "c")
	hear(t, r, "re c")
}

// What is held arrives although its sender has gone.
func TestHold(t *testing.T) {
	p, s := newProxy(t)
	c, r := dial(t, p)
	say(t, c, "a")
	hear(t, r, "re a")
	p.Hold()
	say(t, c, "b")
	await(t, "held", func() bool { return p.Traffic().Held == 2 })
	c.Close()
	time.Sleep(10 * time.Millisecond) // if it arrived, it would now
	if s.saw("b")() {
		t.Fatal("the server saw what is held")
	}
	p.Mend()
	await(t, "delivered", s.saw("b"))
	await(t, "without connections", func() bool { return p.Connections() == 0 })
}

func TestCut(t *testing.T) {
	p, _ := newProxy(t)
	c, r := dial(t, p)
	say(t, c, "a")
	hear(t, r, "re a")
	p.Cut()
	gone(t, r)
	c, r = dial(t, p)
	gone(t, r)
	c.Close()
	p.Mend()
	c, r = dial(t, p)
	say(t, c, "b")
	hear(t, r, "re b")
}

func TestServerGone(t *testing.T) {
	p, s := newProxy(t)
	s.l.Close()
	_, r := dial(t, p)
	gone(t, r)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("a closed proxy takes connections")
	}
}
