package rabbitmqstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// position is the last message that was read. Its content tells the log from
// another one that has grown in its place.
type position struct {
	known  bool
	offset int64
	digest [sha256.Size]byte
}

// prefetch is how many messages may be under way to us; each half of it is
// acknowledged at once. That takes nothing out of the log.
const prefetch = 1000

// errOtherLog: the log does not go on where we left it.
var errOtherLog = errors.New("the log is not the one that was read before: it was deleted, shortened or restored; it is read again from the start of its memory")

// read is the reading goroutine of a session: it brings a book up to date. A
// session that resumes gets the last message once more first.
func (l *link) read(s *session, b *book, resume bool, deliveries <-chan amqp.Delivery) {
	n, unseen := 0, s.newest >= 0
	for d := range deliveries {
		offset, ok := d.Headers["x-stream-offset"].(int64)
		if !ok {
			s.fail(errors.New("a delivery has no offset: the log is no stream"))
			return
		}
		at := position{true, offset, sha256.Sum256(d.Body)}
		if resume {
			if at != l.last {
				l.last = position{}
				s.fail(errOtherLog)
				return
			}
			resume = false
		} else if err := l.apply(s, b, d.Body); err != nil {
			s.fail(err)
			return
		}
		l.last = at
		if unseen && offset >= s.newest {
			unseen = false
			close(s.seen)
		}
		s.progress.Store(int64(l.now()))
		if n++; n == prefetch/2 {
			n = 0
			if err := d.Ack(true); err != nil {
				s.fail(fmt.Errorf("acknowledge: %w", err))
				return
			}
		}
	}
}

// apply brings one message into the book, and answers the calls that it
// carries, if it is our own.
func (l *link) apply(s *session, b *book, body []byte) error {
	r, err := decode(body)
	if err != nil {
		l.foreign(body)
		return nil
	}
	if r.Format > Format {
		return newerFormat(l.name, r.Format)
	}
	f := s.landed(r)
	l.mu.Lock()
	answers := b.apply(l.now(), r)
	if f != nil {
		b.cameBack(f.sent)
	}
	l.mu.Unlock()
	if f == nil {
		return nil
	}
	for _, c := range f.calls {
		c.settle(outcome{answers: answers[:len(c.entries):len(c.entries)]})
		answers = answers[len(c.entries):]
	}
	return nil
}

// landed takes our own record out of those under way; nil for all others.
func (s *session) landed(r *record) *flight {
	if r.Writer != s.writer {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[r.Seq]
	if f != nil {
		delete(s.flights, r.Seq)
		<-s.slots
	}
	return f
}

// apply judges the entries of a record in their order.
func (b *book) apply(now time.Duration, r *record) []answer {
	if d := time.Duration(r.SlotTTL) * time.Millisecond; d > b.memory && d <= maxHistoryTTL {
		b.memory = d
	}
	answers := make([]answer, len(r.Entries))
	for i := range r.Entries {
		switch e := &r.Entries[i]; e.Kind {
		case kindClaim:
			answers[i].claim = b.claim(now, e)
		case kindFinish:
			answers[i].finish = b.finish(e)
		}
	}
	return answers
}

// foreign says once that somebody else writes to the log.
func (l *link) foreign(body []byte) {
	l.foreignOnce.Do(func() {
		l.log.Warn("the log holds messages of somebody else, which are left out; give no other program the permission to write to it", "queue", l.name, "message", fmt.Sprintf("%.100q", body))
	})
}
