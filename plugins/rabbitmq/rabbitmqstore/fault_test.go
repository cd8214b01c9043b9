package rabbitmqstore

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"

	"github.com/anarchon-go/anarchon/core/store"
)

// proxy stands between the plugin and the broker. While it swallows, what the
// broker says gets lost.
type proxy struct {
	l        net.Listener
	swallows atomic.Bool
	mu       sync.Mutex
	conns    []net.Conn
}

func newProxy(t *testing.T, broker string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", broker)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			go func() {
				_, _ = io.Copy(out, in)
				out.Close()
			}()
			go func() {
				defer in.Close()
				b := make([]byte, 32<<10)
				for {
					n, err := out.Read(b)
					if err != nil {
						return
					}
					if p.swallows.Load() {
						continue
					}
					if _, err := in.Write(b[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	return p
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func hostOf(url string) string { return strings.TrimPrefix(url, "amqp://") }

// TestLostAnswers: a claim whose answer is lost is unknown, and asked again with
// the same claim id, through this or another process, it is won.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	o := fresh(t, url)
	p := newProxy(t, hostOf(url))
	b, other := open(t, o.with("url", "amqp://"+p.l.Addr().String()).with("callTimeout", "500ms")), open(t, o)
	connected := func() {
		t.Helper()
		await(t, "the connection", func() bool {
			_, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1})
			return err == nil
		})
	}
	for i, asked := range []store.Store{b, other, b} {
		connected()
		q := claimOf("j", int64(i))
		p.swallows.Store(true)
		if a, err := b.Claim(t.Context(), q); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("a claim whose answer is lost: %+v, %v", a, err)
		}
		p.swallows.Store(false)
		p.cut()
		if a := insist(t, asked, q); a.Verdict != store.VerdictWon {
			t.Fatalf("asked again: %+v", a)
		}
		mustClaim(t, other, claimOf("j", int64(i)), store.VerdictFinished)
		f := finishOf(q, store.OutcomeFailed)
		connected()
		p.swallows.Store(true)
		if _, err := b.Finish(t.Context(), f); !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("a finish whose answer is lost: %v", err)
		}
		p.swallows.Store(false)
		p.cut()
		mustFinish(t, other, f, true)
		f.Outcome = store.OutcomeSuccess
		mustFinish(t, other, f, false)
	}
	a, err := other.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 10})
	if err != nil || len(a.Attempts) != 3 {
		t.Errorf("history is %+v, %v", a, err)
	}
}

// TestNotSent: without a connection nothing is sent, and that is said.
func TestNotSent(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	p := newProxy(t, hostOf(url))
	b := open(t, fresh(t, url).with("url", "amqp://"+p.l.Addr().String()).with("callTimeout", "200ms"))
	p.l.Close()
	p.cut()
	await(t, "the loss of the connection", func() bool {
		_, err := b.Claim(t.Context(), claimOf("j", 1))
		return errors.Is(err, store.ErrNotApplied) && strings.Contains(err.Error(), "no connection")
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Claim(ctx, claimOf("j", 1)); !errors.Is(err, store.ErrNotApplied) {
		t.Error(err)
	}
}

// TestRestarts: the log outlives the broker, killed or stopped, for those who
// stay and for those who come; a log that was deleted is made anew.
func TestRestarts(t *testing.T) {
	c := broker(t)
	o := fresh(t, urlOf(c)).with("callTimeout", "2s")
	stays := open(t, o)
	won, ended := claimOf("j", 1), claimOf("j", 2)
	mustClaim(t, stays, won, store.VerdictWon)
	mustClaim(t, stays, ended, store.VerdictWon)
	mustFinish(t, stays, finishOf(ended, store.OutcomeSuccess), true)
	check := func(b *Backend) {
		t.Helper()
		if a := insist(t, b, won); a.Verdict != store.VerdictWon {
			t.Errorf("the winner asked again: %+v", a)
		}
		if a := insist(t, b, claimOf("j", 1)); a.Verdict != store.VerdictFinished || a.Status != store.StatusRunning {
			t.Errorf("another asker: %+v", a)
		}
		if a := insist(t, b, claimOf("j", 2)); a.Verdict != store.VerdictFinished || a.Status != store.StatusSuccess {
			t.Errorf("of the run that ended: %+v", a)
		}
	}
	// Stopped as by its operator first, and not killed at the end of the patience:
	// a broker killed within moments of its very first stream forgets that it has
	// streams; see docs/rabbitmq.md.
	start := time.Now()
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 25*time.Second {
		t.Errorf("the broker took %v to stop; its image does not hand it the signal", took)
	}
	if err := c.Again(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(stays)
	check(open(t, o))
	if err := errors.Join(c.Kill(t.Context()), c.Again(t.Context())); err != nil {
		t.Fatal(err)
	}
	check(stays)
	check(open(t, o))

	ch := driver(t, urlOf(c))
	if _, err := ch.QueueDelete(logName(o["namespace"].(string)), false, false, false); err != nil {
		t.Fatal(err)
	}
	if a := insist(t, stays, claimOf("j", 3)); a.Verdict != store.VerdictWon {
		t.Errorf("after the log was deleted: %+v", a)
	}
	if a := insist(t, open(t, o), claimOf("j", 3)); a.Verdict != store.VerdictFinished {
		t.Errorf("through another process: %+v", a)
	}
}

// TestAnotherLogInItsPlace: a log that was deleted and has grown again while we
// were away is not taken for the old one.
func TestAnotherLogInItsPlace(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	o := fresh(t, url)
	p := newProxy(t, hostOf(url))
	away := open(t, o.with("url", "amqp://"+p.l.Addr().String()).with("callTimeout", "300ms"))
	mustClaim(t, away, claimOf("j", 1), store.VerdictWon)
	p.swallows.Store(true)
	p.cut()
	ch := driver(t, url)
	if _, err := ch.QueueDelete(logName(o["namespace"].(string)), false, false, false); err != nil {
		t.Fatal(err)
	}
	there := open(t, o)
	for slot := range int64(9) {
		mustClaim(t, there, claimOf("j", slot+10), store.VerdictWon)
	}
	p.swallows.Store(false)
	p.cut()
	if a := insist(t, away, claimOf("j", 12)); a.Verdict != store.VerdictFinished {
		t.Errorf("a slot of the new log: %+v", a)
	}
	if a := insist(t, away, claimOf("j", 1)); a.Verdict != store.VerdictWon {
		t.Errorf("a slot that only the old log had: %+v", a)
	}
}

// TestPausedBroker: calls are bounded, and end as unknown.
func TestPausedBroker(t *testing.T) {
	c := broker(t)
	b := open(t, fresh(t, urlOf(c)).with("callTimeout", "500ms"))
	if err := c.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Resume(context.Background()) }) // it goes on already, if all is well
	q, start := claimOf("j", 1), time.Now()
	_, err := b.Claim(t.Context(), q)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a call to a broker that is frozen took %v", took)
	}
	wantError(t, err, store.ErrUnknown, []string{"callTimeout"})
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := insist(t, b, q); a.Verdict != store.VerdictWon {
		t.Errorf("%+v", a)
	}
}

// TestBlocked: a broker short of memory takes no claims; the first is unknown,
// the others are not sent, and both say why.
func TestBlocked(t *testing.T) {
	c := broker(t)
	b := open(t, fresh(t, urlOf(c)).with("callTimeout", "2s"))
	t.Cleanup(func() {
		_, _ = c.Exec(context.Background(), "rabbitmqctl", "-q", "set_vm_memory_high_watermark", "0.6")
	})
	ctl(t, c, "set_vm_memory_high_watermark", "0.00001")
	q := claimOf("j", 1)
	// The broker looks at its memory now and then, and speaks of it at a publish.
	await(t, "a claim that is caught by the alarm", func() bool {
		_, err := b.Claim(t.Context(), q)
		if err == nil {
			q = claimOf("j", q.Slot+1)
			return false
		}
		return errors.Is(err, store.ErrUnknown) && strings.Contains(err.Error(), "blocks publishers") && strings.Contains(err.Error(), "memory")
	})
	_, err := b.Claim(t.Context(), claimOf("j", 1000))
	wantError(t, err, store.ErrNotApplied, []string{"blocks publishers", "alarms"})
	ctl(t, c, "set_vm_memory_high_watermark", "0.6")
	if a := insist(t, b, q); a.Verdict != store.VerdictWon {
		t.Errorf("%+v", a)
	}
	if a := insist(t, b, claimOf("j", 1000)); a.Verdict != store.VerdictWon {
		t.Errorf("%+v", a)
	}
}

// TestNoLeaks: a backend that was closed leaves nothing behind, here or in the
// broker, but the log.
func TestNoLeaks(t *testing.T) {
	c := broker(t)
	o := fresh(t, urlOf(c))
	ignore := goleak.IgnoreCurrent()
	for range 3 {
		b, _, err := configure(t, o)
		if err != nil {
			t.Fatal(err)
		}
		for slot := range int64(20) {
			q := claimOf("j", slot)
			if a := insist(t, b, q); a.Verdict == store.VerdictWon {
				mustFinish(t, b, finishOf(q, store.OutcomeSuccess), true)
			}
		}
		if n := len(b.link.session.flights); n != 0 {
			t.Errorf("%d records are under way after the last answer", n)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	goleak.VerifyNone(t, ignore)
	await(t, "the broker to see the connections end", func() bool { return strings.TrimSpace(ctl(t, c, "list_connections", "pid")) == "" })
	if out := ctl(t, c, "list_queues", "name"); strings.Count(out, o["namespace"].(string)) != 1 {
		t.Errorf("queues of this namespace: %q; want its log alone", out)
	}
}

// TestNackIsUnknown: what the broker refuses to confirm may be in the log.
func TestNackIsUnknown(t *testing.T) {
	var s *session
	sent := func() *call {
		s = &session{flights: map[uint64]*flight{}, failed: make(chan struct{})}
		c := newCall(nil)
		c.state.Store(callSent)
		s.flights[1] = &flight{calls: []*call{c}}
		return c
	}
	c := sent()
	s.refused(1)
	if o := <-c.done; !errors.Is(o.err, store.ErrUnknown) {
		t.Errorf("nack: %v", o.err)
	}
	c = sent()
	s.returned(amqp.Return{MessageId: "1"})
	if o := <-c.done; !errors.Is(o.err, store.ErrNotApplied) {
		t.Errorf("returned: %v", o.err)
	}
	if !isClosed(s.failed) {
		t.Error("a session without a log goes on")
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
