package rabbitmqstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
)

// call is some entries that one caller waits for. Without entries it is a
// mark.
type call struct {
	entries []entry
	state   atomic.Int32
	done    chan outcome // holds one
}

// outcome is what became of a call.
type outcome struct {
	answers []answer // one per entry
	err     error
}

// answer is of a claim or of a finish.
type answer struct {
	claim  store.ClaimAnswer
	finish store.FinishAnswer
}

// States of a call.
const (
	callWaiting int32 = iota // nothing was sent
	callSent                 // it may be in the log
	callGivenUp              // it will not be sent
	callSettled
)

func newCall(entries []entry) *call { return &call{entries: entries, done: make(chan outcome, 1)} }

// settle answers the call, once.
func (c *call) settle(o outcome) {
	if c.state.Swap(callSettled) != callSettled {
		c.done <- o
	}
}

// A record carries the calls that wait at that moment, up to so many entries or
// bytes of text. The fewer records are under way, the more calls share one: a
// message costs the broker and all readers much more than an entry does.
const (
	mostEntries = 1000
	mostBytes   = 1 << 20
	mostFlights = 3
)

var (
	errCancelled = errors.New("the log was deleted or its leader is gone")
	errReturned  = errors.New("the log is gone: its queue was deleted")
	errNack      = errors.New("the broker refused to confirm the record")
)

// send hands a call to the writing goroutine and waits for what becomes of it.
func (s *session) send(ctx context.Context, c *call, most time.Duration) ([]answer, error) {
	if why := s.blocked.Load(); why != nil {
		return nil, notApplied("publish", errBlocked(*why))
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case s.queue <- c:
	case <-s.failed:
		return nil, notApplied("publish", s.err)
	case <-ctx.Done():
		return nil, overdue(ctx)
	case <-timer.C:
		return nil, notApplied("publish", errTimeout)
	}
	var why error
	select {
	case o := <-c.done:
		return o.answers, o.err
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-timer.C:
		why = errTimeout
		if reason := s.blocked.Load(); reason != nil {
			why = errBlocked(*reason)
		} else {
			// A broker that answers nothing is looked for on a new connection.
			s.fail(errTimeout)
		}
	}
	if c.state.CompareAndSwap(callWaiting, callGivenUp) {
		return nil, notApplied("publish", why)
	}
	select {
	case o := <-c.done: // at the last moment
		return o.answers, o.err
	default:
		return nil, unknown(why)
	}
}

// write is the writing goroutine: it puts the calls that wait into one record
// after the other.
func (s *session) write(log string, slotTTL time.Duration, now func() time.Duration) {
	for seq := uint64(1); ; {
		select {
		case s.slots <- struct{}{}:
		case <-s.failed:
			return
		}
		var first *call
		select {
		case first = <-s.queue:
		case <-s.failed:
			return
		}
		r := record{Format: Format, Writer: s.writer, Seq: seq, SentAt: time.Now().UnixMilli(), SlotTTL: slotTTL.Milliseconds()}
		calls := s.collect(first, &r)
		if len(calls) == 0 {
			<-s.slots
			continue
		}
		s.mu.Lock()
		s.flights[seq] = &flight{sent: now(), calls: calls}
		s.mu.Unlock()
		err := s.out.Publish("", log, true, false, amqp.Publishing{
			DeliveryMode: amqp.Persistent, ContentType: "application/json",
			MessageId: strconv.FormatUint(seq, 10), Body: r.encode(),
		})
		if err != nil {
			s.fail(fmt.Errorf("publish: %w", err))
			return
		}
		seq++ // also the confirm's delivery tag
	}
}

// collect takes more calls that wait already, and leaves out those that were
// given up.
func (s *session) collect(next *call, r *record) (calls []*call) {
	size := 0
	for {
		if next.state.CompareAndSwap(callWaiting, callSent) {
			calls = append(calls, next)
			for _, e := range next.entries {
				size += len(e.Job) + len(e.Error) + 256
			}
			r.Entries = append(r.Entries, next.entries...)
		}
		if len(r.Entries) >= mostEntries || size >= mostBytes {
			return calls
		}
		select {
		case next = <-s.queue:
		default:
			return calls
		}
	}
}

// refused: the broker says that it could not take care of a record, which may
// be in the log all the same. What comes after it is no better off.
func (s *session) refused(seq uint64) {
	s.settle(seq, outcome{err: unknown(errNack)})
	s.fail(errNack)
}

// returned: there is no queue of that name, so the record went nowhere.
func (s *session) returned(r amqp.Return) {
	seq, err := strconv.ParseUint(r.MessageId, 10, 64)
	if err == nil {
		s.settle(seq, outcome{err: notApplied("publish", errReturned)})
	}
	s.fail(errReturned)
}

func (s *session) settle(seq uint64, o outcome) {
	s.mu.Lock()
	f := s.flights[seq]
	s.mu.Unlock()
	if f == nil {
		return
	}
	for _, c := range f.calls {
		c.settle(o)
	}
}
