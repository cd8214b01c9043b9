package natsstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/anarchon-go/anarchon/core/store"
)

const (
	// connectTimeout bounds the first connection, over all servers.
	connectTimeout = 5 * time.Second
	// Pauses between attempts to connect again grow between these.
	minReconnectWait = 100 * time.Millisecond
	maxReconnectWait = 2 * time.Second
	// A connection that answers no ping for this long is dead.
	pingInterval = 10 * time.Second
	pingsOut     = 2
)

// connect makes the first connection.
func (l *link) connect() error {
	conn, err := l.dial(l)
	if err != nil {
		return err
	}
	return l.adopt(conn)
}

// adopt subscribes to the answers on a new connection, and uses it from then on.
func (l *link) adopt(conn *nats.Conn) error {
	inbox := conn.NewInbox() + "."
	l.mu.Lock()
	l.inbox, l.deaf = inbox, nil
	l.mu.Unlock()
	sub, err := conn.Subscribe(inbox+"*", l.onReply)
	if err == nil {
		// An answer must not be dropped because there are many.
		err = sub.SetPendingLimits(-1, -1)
	}
	if err != nil {
		conn.Close()
		return notApplied("subscribe to the answers: %w", err)
	}
	l.mu.Lock()
	l.conn = conn
	l.mu.Unlock()
	return nil
}

// reconnectWait is the pause after so many attempts, the same for no two
// instances: all of them lose a server at the same moment.
func reconnectWait(attempts int) time.Duration {
	d := min(minReconnectWait<<min(attempts, 10), maxReconnectWait)
	return d/2 + rand.N(d/2)
}

// close ends the connection. No request may be made any more.
func (l *link) close() {
	l.mu.Lock()
	conn := l.conn
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	l.redial.Wait()
}

// options are those of every connection. What matters: while there is no
// connection nothing is kept to be sent later, since its sender may have given
// up; it is made again for ever; a write that hangs ends.
func (l *link) options(s *settings) []nats.Option {
	return append([]nats.Option{
		nats.Name("anarchon " + s.namespace),
		nats.RetryOnFailedConnect(false),
		nats.Timeout(connectTimeout / time.Duration(s.target.count)),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(reconnectWait),
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.FlusherTimeout(s.callTimeout),
		nats.ReconnectOnFlusherError(),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(pingsOut),
		nats.CustomInboxPrefix(s.inboxPrefix),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { l.onError(err) }),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.onDisconnect(err) }),
		nats.ReconnectHandler(func(c *nats.Conn) { l.onReconnect(c) }),
		nats.ClosedHandler(l.onClosed),
	}, s.target.options...)
}

func (l *link) onDisconnect(err error) {
	if err == nil { // closed by us
		err = nats.ErrConnectionClosed
	} else {
		l.log.Warn("the connection to NATS is lost and is being made again", "error", err)
	}
	l.failAll(unknown("the connection broke before the answer came: %w", err), everyRequest)
}

func (l *link) onReconnect(c *nats.Conn) {
	l.mu.Lock()
	l.deaf = nil // permissions may have changed
	l.mu.Unlock()
	l.log.Info("connected to NATS again", "server", c.ConnectedAddr())
}

// onClosed is called when a connection is over for good: at our own close, and
// after an error of the server's that the library does not know. Then a new one
// is made.
func (l *link) onClosed(c *nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.conn != c {
		return
	}
	l.redial.Add(1)
	go l.dialAgain(c.LastError())
}

func (l *link) dialAgain(why error) {
	defer l.redial.Done()
	l.log.Warn("the connection to NATS was ended and is being made again", "error", why)
	for attempts := 0; ; attempts++ {
		select {
		case <-l.stop:
			return
		case <-time.After(reconnectWait(attempts)):
		}
		conn, err := l.dial(l)
		if err != nil {
			l.log.Warn("connect to NATS again", "error", err)
			continue
		}
		l.mu.Lock()
		closed := l.closed
		l.mu.Unlock()
		if closed {
			conn.Close()
			return
		}
		if err := l.adopt(conn); err == nil {
			l.log.Info("connected to NATS again", "server", conn.ConnectedAddr())
			return
		}
	}
}

var (
	publishDenied   = regexp.MustCompile(`(?i)violation for publish to "([^"]*)"`)
	replyDenied     = regexp.MustCompile(`(?i)violation for publish with reply of "([^"]*)"`)
	subscribeDenied = regexp.MustCompile(`(?i)violation for subscription to "([^"]*)"`)
)

// onError is told what the server says apart from answers. A request that is not
// permitted gets no answer but this.
func (l *link) onError(err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		l.log.Warn("NATS reports an error", "error", err)
		return
	}
	text := err.Error()
	if m := publishDenied.FindStringSubmatch(text); m != nil {
		err := notApplied("the user may not publish to %q: %w; grant it, docs/nats.md lists what the plugin needs", m[1], err)
		l.failAll(err, func(r *request) bool { return r.subject == m[1] })
		return
	}
	if m := replyDenied.FindStringSubmatch(text); m != nil {
		err := notApplied("the user may not name %q as reply: %w; grant it, or set inboxPrefix to what is granted", m[1], err)
		l.failAll(err, everyRequest)
		return
	}
	l.mu.Lock()
	m := subscribeDenied.FindStringSubmatch(text)
	ours := m != nil && strings.HasPrefix(m[1], l.inbox)
	if ours {
		l.deaf = notApplied("the user may not subscribe to %q, where answers come: %w; grant it, or set inboxPrefix to what is granted", m[1], err)
	}
	deaf := l.deaf
	l.mu.Unlock()
	if ours {
		l.failAll(deaf, everyRequest)
	}
}

// newDial returns the function that connects. An error says what to do.
func newDial(s *settings) func(*link) (*nats.Conn, error) {
	return func(l *link) (*nats.Conn, error) {
		conn, err := nats.Connect(s.target.servers, l.options(s)...)
		if err != nil {
			return nil, notApplied("connect: %w%s", err, connectRemedy(err))
		}
		return conn, nil
	}
}

// connectRemedy says what a failure to connect means, and what to do.
func connectRemedy(err error) string {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var alert *net.OpError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return ": the host's name can't be resolved; look at url"
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, syscall.ECONNREFUSED):
		return ": no server listens there; look at url, and whether the server runs"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return ": the server does not let us in; look at user and password, token, credsFile or nkeySeedFile"
	// What the server answers to the first word, the library gives as text.
	case strings.Contains(err.Error(), "maximum connections exceeded"), strings.Contains(err.Error(), "maximum account active connections exceeded"):
		return ": a limit of connections is reached; raise it, each instance needs one"
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		return ": the server closed the connection at once; its log says why: a limit of connections may be reached, it may want TLS first (tlsFirst), or it may not accept the client's certificate (certFile)"
	case errors.Is(err, nats.ErrSecureConnRequired):
		return ": the server wants TLS; set tls, or tls:// in url"
	case errors.Is(err, nats.ErrSecureConnWanted):
		return ": the server has no TLS; take tls, and tls:// in url, away"
	case errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &verify):
		return ": the server's certificate is not trusted; look at caFile, and at the host's name in url"
	case errors.As(err, &record):
		return ": what answers speaks no TLS, or no NATS; look at the port in url, and at tlsFirst"
	case errors.Is(err, nats.ErrTLS), errors.As(err, &alert) && alert.Op == "remote error":
		return ": the server refused the TLS handshake, as it does if it does not trust the client's certificate or wants one; look at certFile and keyFile"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, nats.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf(": nothing answered within %v; look at url, at firewalls, and whether that port speaks NATS (4222 by default)", connectTimeout)
	}
	return ""
}

// connectWithin is connect, which knows no context, within one.
func (l *link) connectWithin(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- l.connect() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		// The attempt ends by its own timeout, and what it made is closed.
		go func() {
			if <-done == nil {
				l.close()
			}
		}()
		return fmt.Errorf("%w: nats: connect: %w", store.ErrNotApplied, context.Cause(ctx))
	}
}
