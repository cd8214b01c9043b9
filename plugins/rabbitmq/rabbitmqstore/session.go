package rabbitmqstore

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// session is one connection to the broker, from its attachment to the log to
// its end: a channel that writes and one that reads. A session that fails is
// over; the link begins another one. The driver's own recovery is not used: it
// would send again what may have been sent.
type session struct {
	writer  string // names our records in the log
	conn    *amqp.Connection
	socket  net.Conn
	out, in *amqp.Channel
	product string

	queue chan *call    // to the writing goroutine
	slots chan struct{} // holds one for each record under way

	blocked atomic.Pointer[string] // why the broker takes no publishes; nil: it does

	mu       sync.Mutex
	flights  map[uint64]*flight // sent and not back, by seq
	newest   int64              // a message near the end of the log, as it was found; -1 if it was empty
	seen     chan struct{}      // closed when that was read
	progress atomic.Int64       // when the last message was read
	failed   chan struct{}      // closed at the end, which err tells
	once     sync.Once
	err      error
	wg       sync.WaitGroup
}

// flight is a record under way.
type flight struct {
	sent  time.Duration
	calls []*call
}

// heartbeat finds a dead connection within three of it. Calls have their own,
// shorter bound.
const heartbeat = 5 * time.Second

// dial connects, bounded by ctx.
func dial(ctx context.Context, set settings) (s *session, err error) {
	t := set.target
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", t.String())
	if err != nil {
		return nil, err
	}
	// The driver's handshakes and declarations wait for ever: closing the socket
	// ends them.
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	defer func() {
		if err != nil {
			raw.Close()
			if ctx.Err() != nil {
				err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
			}
		}
	}()
	socket := net.Conn(&boundedConn{raw, set.callTimeout})
	if t.tls != nil {
		secure := tls.Client(socket, t.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		socket = secure
	}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName("anarchon " + set.namespace)
	conn, err := amqp.Open(socket, amqp.Config{
		SASL:       []amqp.Authentication{&amqp.PlainAuth{Username: t.username, Password: t.password}},
		Vhost:      t.vhost,
		Heartbeat:  heartbeat,
		Properties: properties,
	})
	if err != nil {
		return nil, err
	}
	var nonce [12]byte
	rand.Read(nonce[:])
	s = &session{
		writer: hex.EncodeToString(nonce[:]), conn: conn, socket: raw,
		product: fmt.Sprint(conn.Properties["product"], " ", conn.Properties["version"]),
		queue:   make(chan *call), slots: make(chan struct{}, mostFlights), flights: map[uint64]*flight{},
		failed: make(chan struct{}), newest: -1, seen: make(chan struct{}),
	}
	if s.out, err = conn.Channel(); err != nil {
		return nil, err
	}
	if err = s.out.Confirm(false); err != nil {
		return nil, err
	}
	return s, nil
}

// boundedConn bounds each write: a broker that takes nothing more must not hold
// a call, or the heartbeats, for ever.
type boundedConn struct {
	net.Conn
	most time.Duration
}

func (c *boundedConn) Write(b []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.most)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// fail ends the session. The first reason counts.
func (s *session) fail(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.failed)
	})
}

// end closes the connection after the session failed, waits for its goroutines
// and tells the calls in flight. It takes a second at most if the broker does
// not answer.
func (s *session) end() {
	s.settleAll()
	_ = s.conn.CloseDeadline(time.Now().Add(time.Second)) // a goodbye; the socket is closed anyway
	s.socket.Close()
	s.wg.Wait()
	s.settleAll() // what was written meanwhile
}

func (s *session) settleAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.flights {
		for _, c := range f.calls {
			c.settle(outcome{err: unknown(fmt.Errorf("the connection ended before the record came back: %w", s.err))})
		}
	}
}

// watch turns what the broker says beside deliveries into the session's state.
func (s *session) watch() {
	closed := s.conn.NotifyClose(make(chan *amqp.Error, 1))
	outClosed := s.out.NotifyClose(make(chan *amqp.Error, 1))
	inClosed := s.in.NotifyClose(make(chan *amqp.Error, 1))
	cancelled := s.in.NotifyCancel(make(chan string, 1))
	blocked := s.conn.NotifyBlocked(make(chan amqp.Blocking, 8))
	confirms := s.out.NotifyPublish(make(chan amqp.Confirmation, 64))
	returns := s.out.NotifyReturn(make(chan amqp.Return, 64))
	s.wg.Go(func() {
		for b := range blocked {
			if b.Active {
				s.blocked.Store(&b.Reason)
			} else {
				s.blocked.Store(nil)
			}
		}
	})
	s.wg.Go(func() {
		for c := range confirms {
			if !c.Ack {
				s.refused(c.DeliveryTag)
			}
		}
	})
	s.wg.Go(func() {
		for r := range returns {
			s.returned(r)
		}
	})
	s.wg.Go(func() {
		var err error
		select {
		case e := <-closed:
			err = closeError(e)
		case e := <-outClosed:
			err = closeError(e)
		case e := <-inClosed:
			err = closeError(e)
		case <-cancelled:
			err = errCancelled
		case <-s.failed:
			return
		}
		s.fail(err)
	})
}

func closeError(e *amqp.Error) error {
	if e == nil {
		return amqp.ErrClosed
	}
	return e
}
