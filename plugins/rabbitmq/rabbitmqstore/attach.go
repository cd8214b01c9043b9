package rabbitmqstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
)

// setUpTimeout bounds everything from the connection to the attachment, but not
// the reading of the log, which goes on as long as messages arrive.
func (l *link) setUpTimeout() time.Duration { return max(5*time.Second, 2*l.set.callTimeout) }

// quiet is how long a peek waits for a message before it takes a log that was
// there already for empty. Such a log was made by one who has not written his
// first mark yet, or died before; in any other the broker delivers within
// milliseconds.
const quiet = 2 * time.Second

// mostPeeked is how many messages one peek may bring.
const mostPeeked = 1000

// attach begins a session: it makes the log if there is none, begins to read
// where the last session ended, or else one memory ago, and waits until its own
// first mark came back, so that the book is complete up to then.
func (l *link) attach(ctx context.Context) (*session, error) {
	setUp, cancel := context.WithTimeout(ctx, l.setUpTimeout())
	defer cancel()
	s, err := dial(setUp, l.set)
	if err != nil {
		return nil, notApplied("connect to "+l.set.target.String(), explain(err, &l.set.target, l.name))
	}
	stop := context.AfterFunc(setUp, func() { s.socket.Close() })
	deliveries, err := l.setUp(s)
	stop()
	if err != nil {
		s.fail(err)
		s.end()
		if setUp.Err() != nil {
			err = fmt.Errorf("%w (%w)", err, context.Cause(setUp))
		}
		return nil, notApplied("open the log "+l.name, explain(err, &l.set.target, l.name))
	}
	b, resume := l.book, l.last.known
	if !resume {
		b = newBook(l.set.slotTTL, l.set.keep())
	}
	s.watch()
	s.wg.Go(func() { s.write(l.name, l.set.slotTTL, l.now) })
	s.wg.Go(func() {
		l.read(s, b, resume, deliveries)
		select {
		case <-s.failed:
		case <-time.After(time.Second): // for the reason, which comes another way
			s.fail(amqp.ErrClosed)
		}
	})
	if err := l.catchUp(ctx, s); err != nil {
		s.fail(err)
		s.end()
		l.last = position{} // if it does not go on there, it may from the start
		return nil, notApplied("read the log "+l.name, explain(s.err, &l.set.target, l.name))
	}
	l.mu.Lock()
	l.book = b
	l.mu.Unlock()
	return s, nil
}

// setUp makes the log, looks at its ends and begins to read.
func (l *link) setUp(s *session) (<-chan amqp.Delivery, error) {
	found, err := l.declare(s)
	if err != nil {
		return nil, err
	}
	if !found {
		l.last = position{} // the log that was read before is gone
	} else if err := l.look(s); err != nil {
		return nil, err
	}
	// An interval, not a time: it is subtracted from the broker's clock.
	var from any = strconv.Itoa(int(l.set.keep().Seconds())) + "s"
	if l.last.known {
		from = l.last.offset
	}
	if s.in, err = s.conn.Channel(); err != nil {
		return nil, err
	}
	if err := s.in.Qos(prefetch, 0, false); err != nil {
		return nil, err
	}
	return s.in.Consume(l.name, "", false, false, false, false, amqp.Table{"x-stream-offset": from})
}

// declare makes the log if it is not there, and tells whether it was. One that
// was made for another time is used if it carries the memory.
func (l *link) declare(s *session) (found bool, err error) {
	args := logArgs(l.set.keep())
	err = s.onChannel(func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclarePassive(l.name, true, false, false, false, nil)
		return err
	})
	var reply *amqp.Error
	switch {
	case err == nil:
		found = true
	case !errors.As(err, &reply) || reply.Code != amqp.NotFound:
		return false, err
	}
	err = s.onChannel(func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(l.name, true, false, false, false, args)
		return err
	})
	age, drifted := declaredAge(err)
	if !drifted {
		return found, err
	}
	warning, err := judgeAge(age, l.set, l.name)
	if err == nil {
		l.warn(warning)
	}
	return found, err
}

// onChannel does something on a channel of its own, which an error ends.
func (s *session) onChannel(do func(*amqp.Channel) error) error {
	ch, err := s.conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	return do(ch)
}

// look refuses a log of a newer format before anything is written to it, and one
// that does not reach back as far as it must. An empty log is another one than
// was read before.
func (l *link) look(s *session) error {
	// The offset "last" is the beginning of what was stored together last.
	newest, err := s.peek(l.name, "last", mostPeeked)
	if err != nil {
		return err
	}
	if len(newest) == 0 {
		l.last = position{}
		return nil
	}
	for _, d := range newest {
		if r, err := decode(d.Body); err == nil && r.Format > Format {
			return newerFormat(l.name, r.Format)
		}
		s.newest, _ = d.Headers["x-stream-offset"].(int64)
	}
	if l.last.known {
		return nil
	}
	oldest, err := s.peek(l.name, "first", 1)
	if err != nil || len(oldest) == 0 {
		return err
	}
	return judgeReach(&oldest[0], time.Now(), l.set.slotTTL, l.name)
}

func newerFormat(queue string, format int) error {
	return fmt.Errorf("%w: rabbitmq: the log %s has records of format %d, this plugin writes format %d", store.ErrStoreFormat, queue, format, Format)
}

// judgeReach finds a log that was shortened below the memory, which its own age
// never does. The writer's clock is good enough for that: the log is kept for
// much longer.
func judgeReach(oldest *amqp.Delivery, now time.Time, memory time.Duration, queue string) error {
	offset, _ := oldest.Headers["x-stream-offset"].(int64)
	r, err := decode(oldest.Body)
	if offset == 0 || err != nil {
		return nil
	}
	if reach := now.Sub(time.UnixMilli(r.SentAt)); reach < memory {
		return fmt.Errorf("%w: the log %s reaches back only %v, and its memory must be %v: a policy shortens it (see max-age and max-length-bytes of the policies that match the queue); slots that were granted are forgotten. Remove the policy for this queue, and start again after %v",
			store.ErrNotApplied, queue, reach.Round(time.Second), memory, (memory - reach).Round(time.Second))
	}
	return nil
}

// peek reads what the broker delivers at once from an offset of the log on, up to
// so many messages; none if there is none.
func (s *session) peek(log string, from any, most int) (found []amqp.Delivery, err error) {
	err = s.onChannel(func(ch *amqp.Channel) error {
		if err := ch.Qos(most, 0, false); err != nil {
			return err
		}
		const tag = "peek"
		deliveries, err := ch.Consume(log, tag, false, false, false, false, amqp.Table{"x-stream-offset": from})
		if err != nil {
			return err
		}
		select {
		case d, ok := <-deliveries:
			if !ok {
				return amqp.ErrClosed
			}
			found = append(found, d)
		case <-time.After(quiet):
			return nil
		}
		// What was stored together is delivered together, before the answer to this.
		if err := ch.Cancel(tag, false); err != nil {
			return err
		}
		for d := range deliveries {
			found = append(found, d)
		}
		return nil
	})
	return found, err
}

var errNoProgress = errors.New("the broker does not deliver the log; see its alarms, and whether the queue has a running leader")

// catchUp reads the log as it was found, then sends the session's first mark and
// waits until it is back. Nothing is written before the log is known to be of
// no newer format.
func (l *link) catchUp(ctx context.Context, s *session) error {
	mark := newCall(nil)
	most := l.setUpTimeout()
	s.progress.Store(int64(l.now()))
	seen := s.seen
	var queue chan *call
	if s.newest < 0 {
		seen, queue = nil, s.queue
	}
	for {
		select {
		case <-seen:
			seen, queue = nil, s.queue
		case queue <- mark:
			queue = nil
		case o := <-mark.done:
			return o.err
		case <-s.failed:
			return s.err
		case <-ctx.Done():
			return overdue(ctx)
		case <-time.After(most / 10):
			if l.now()-time.Duration(s.progress.Load()) > most {
				return errNoProgress
			}
		}
	}
}
