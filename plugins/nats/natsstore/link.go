package natsstore

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
)

// link is the connection, and the requests on it that wait for an answer. Many
// may wait at once: what is sent together is pipelined, in its order. It never
// sends anything twice. Safe for concurrent use.
type link struct {
	log    *slog.Logger
	dial   func(*link) (*nats.Conn, error)
	redial sync.WaitGroup
	stop   chan struct{} // closed by close

	mu      sync.Mutex
	conn    *nats.Conn
	inbox   string // of the answers; ends in a dot
	deaf    error  // why no answer can come
	last    uint64 // number given to a request
	waiting map[uint64]place
	closed  bool
}

// request is a message that wants an answer.
type request struct {
	subject string
	header  nats.Header
	data    []byte
}

// reply is the answer to a request, or an error of one of the classes.
type reply struct {
	data []byte
	err  error
}

// exchange is a number of requests that were asked for together. The link's lock
// guards it.
type exchange struct {
	requests []request
	replies  []reply
	ids      []uint64 // of the requests that were sent
	open     int      // replies that are missing
	over     bool     // nobody waits any more
	done     chan struct{}
}

// place is one request of an exchange.
type place struct {
	*exchange
	i int
}

func newLink(log *slog.Logger, dial func(*link) (*nats.Conn, error)) *link {
	return &link{log: log, dial: dial, stop: make(chan struct{}), waiting: map[uint64]place{}}
}

// exchange sends the requests in their order, and waits for all answers until
// ctx is over. There are as many replies, in the same order.
func (l *link) exchange(ctx context.Context, requests []request) []reply {
	x := &exchange{requests: requests, replies: make([]reply, len(requests)), open: len(requests), done: make(chan struct{})}
	if len(requests) == 0 {
		return x.replies
	}
	// The library may block while a server does not read; a caller must not wait
	// for that.
	go l.send(ctx, x)
	select {
	case <-x.done:
	case <-ctx.Done():
		l.giveUp(x, context.Cause(ctx))
	}
	return x.replies
}

// ask is exchange for one request.
func (l *link) ask(ctx context.Context, r request) reply { return l.exchange(ctx, []request{r})[0] }

func (l *link) send(ctx context.Context, x *exchange) {
	for i, r := range x.requests {
		if ctx.Err() != nil {
			return // giveUp says of the rest that it was not sent
		}
		l.mu.Lock()
		if x.over {
			l.mu.Unlock()
			return
		}
		l.last++
		id, conn := l.last, l.conn
		x.ids = append(x.ids, id)
		l.waiting[id] = place{x, i}
		inbox, deaf := l.inbox, l.deaf
		l.mu.Unlock()
		if deaf != nil {
			l.resolve(id, reply{err: deaf})
			continue
		}
		m := nats.Msg{Subject: r.subject, Reply: inbox + strconv.FormatUint(id, 36), Header: r.header, Data: r.data}
		if err := conn.PublishMsg(&m); err != nil {
			l.resolve(id, reply{err: publishError(err)})
		}
	}
}

func publishError(err error) error {
	switch {
	case errors.Is(err, nats.ErrReconnectBufExceeded):
		return notApplied("not sent: the connection is lost and is being made again")
	case errors.Is(err, nats.ErrMaxPayload):
		return notApplied("not sent: %w; raise the server's max_payload", err)
	case unsent(err):
		return notApplied("not sent: %w", err)
	}
	return unknown("the connection failed while it was sent: %w", err)
}

// resolve gives a request its reply, unless it has one or nobody waits for it.
func (l *link) resolve(id uint64, r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resolveLocked(id, r)
}

func (l *link) resolveLocked(id uint64, r reply) {
	p, ok := l.waiting[id]
	if !ok {
		return
	}
	delete(l.waiting, id)
	p.replies[p.i] = r
	if p.open--; p.open == 0 {
		p.over = true
		close(p.done)
	}
}

// giveUp ends an exchange: what was sent and not answered is unknown, the rest
// was not sent and never will be.
func (l *link) giveUp(x *exchange, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range x.ids {
		subject := x.requests[i].subject
		l.resolveLocked(id, reply{err: unknown("no answer to a request on %q: %w", subject, cause)})
	}
	for i := len(x.ids); i < len(x.requests); i++ {
		x.replies[i].err = notApplied("given up before it was sent: %w", cause)
	}
	x.over = true
}

// onReply is called by the connection for each answer.
func (l *link) onReply(m *nats.Msg) {
	id, err := strconv.ParseUint(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], 36, 64)
	if err != nil {
		return
	}
	r := reply{data: m.Data}
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		r = reply{err: notApplied("nobody listens on the subject: JetStream is off (start the server with -js), the stream is gone, or its cluster has no leader just now; if it is gone, restarting an instance makes it anew: %w", nats.ErrNoResponders)}
	}
	l.resolve(id, r)
}

// failAll gives every waiting request that match says yes to the error.
func (l *link) failAll(err error, match func(r *request) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, p := range l.waiting {
		if match(&p.requests[p.i]) {
			l.resolveLocked(id, reply{err: err})
		}
	}
}

func everyRequest(*request) bool { return true }
