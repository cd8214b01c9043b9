package rabbitmqstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// link keeps one session after the other with the log, and the book that they
// fill. It is safe for concurrent use.
type link struct {
	set  settings
	log  *slog.Logger
	name string // of the log's queue
	now  func() time.Duration

	last        position // of the reading goroutine, or of the keeper between sessions
	foreignOnce sync.Once

	mu       sync.Mutex
	book     *book
	session  *session      // nil while there is none
	changed  chan struct{} // closed when session changes
	why      error         // why there is none
	warnings []string

	about store.Description // fixed at the start

	stop context.CancelCauseFunc
	wg   sync.WaitGroup
}

var errClosed = errors.New("the backend is closed")

// openLink connects, and goes on connecting until it is closed.
func openLink(ctx context.Context, set settings, log *slog.Logger) (*link, error) {
	start := time.Now()
	l := &link{
		set: set, log: log, name: logName(set.namespace),
		now:  func() time.Duration { return time.Since(start) },
		book: newBook(set.slotTTL, set.keep()), changed: make(chan struct{}),
	}
	s, err := l.attach(ctx)
	if err != nil {
		return nil, err
	}
	life, stop := context.WithCancelCause(context.Background())
	l.stop = stop
	l.use(s, nil)
	l.about = describe(set, s.product, l.name, l.warnings)
	l.wg.Go(func() { l.keep(life, s) })
	return l, nil
}

// use changes the session that calls use.
func (l *link) use(s *session, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session, l.why = s, why
	close(l.changed)
	l.changed = make(chan struct{})
}

// Pauses between attempts to connect.
const (
	firstPause = 100 * time.Millisecond
	mostPause  = 2 * time.Second
)

// keep tends sessions until the link is closed.
func (l *link) keep(life context.Context, s *session) {
	pause := firstPause
	for {
		if s != nil {
			began := l.now()
			l.tend(life, s)
			l.use(nil, s.err)
			s.end()
			if life.Err() != nil || l.over(s.err) {
				return
			}
			l.log.Warn("the connection to RabbitMQ ended; claims in flight are unknown, and it is made again", "queue", l.name, "error", s.err)
			if l.now()-began > 2*mostPause {
				pause = firstPause
			}
		}
		select {
		case <-life.Done():
			return
		case <-time.After(pause/2 + rand.N(pause/2)):
		}
		pause = min(2*pause, mostPause)
		var err error
		if s, err = l.attach(life); err != nil {
			l.use(nil, err)
			if life.Err() != nil || l.over(err) {
				return
			}
			l.log.Warn("can't connect to RabbitMQ; trying again", "error", err)
			continue
		}
		l.use(s, nil)
		l.log.Info("connected to RabbitMQ again", "queue", l.name)
	}
}

// over reports whether there must be no other session: whoever connects writes a
// mark, and nothing may be written to a log of a newer format.
func (l *link) over(err error) bool {
	if !errors.Is(err, store.ErrStoreFormat) {
		return false
	}
	l.log.Error("the log is of a newer format; this plugin answers nothing more", "error", err)
	return true
}

// markEvery is how often an idle link reads and forgets up to a mark of its
// own.
func (l *link) markEvery() time.Duration {
	return min(max(l.set.slotTTL/2, 250*time.Millisecond), 5*time.Minute)
}

// tend lets the book forget from time to time, until the session or the link
// ends.
func (l *link) tend(life context.Context, s *session) {
	tick := time.NewTicker(l.markEvery())
	defer tick.Stop()
	for {
		select {
		case <-life.Done():
			s.fail(errClosed)
			return
		case <-s.failed:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		idle := l.now()-l.book.horizon >= l.markEvery()
		l.mu.Unlock()
		if idle {
			// The error concerns the session, which says so itself.
			_, _ = s.send(life, newCall(nil), l.set.callTimeout)
		}
		l.mu.Lock()
		l.book.forget()
		l.mu.Unlock()
	}
}

// ask sends entries to the log and returns their answers. It waits for a
// connection at most callTimeout.
func (l *link) ask(ctx context.Context, entries []entry) ([]answer, error) {
	if ctx.Err() != nil {
		return nil, overdue(ctx)
	}
	s, err := l.await(ctx)
	if err != nil {
		return nil, err
	}
	return s.send(ctx, newCall(entries), l.set.callTimeout)
}

func (l *link) await(ctx context.Context) (*session, error) {
	timer := time.NewTimer(l.set.callTimeout)
	defer timer.Stop()
	for {
		l.mu.Lock()
		s, changed, why := l.session, l.changed, l.why
		l.mu.Unlock()
		switch {
		case s != nil:
			return s, nil
		case errors.Is(why, store.ErrStoreFormat): // for good
			return nil, why
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, overdue(ctx)
		case <-timer.C:
			return nil, fmt.Errorf("%w: rabbitmq: there is no connection to the broker: %w", store.ErrNotApplied, why)
		}
	}
}

// withBook reads the book.
func (l *link) withBook(f func(*book)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.book)
}

// warn keeps a warning for Describe and says it, once.
func (l *link) warn(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.warnings, text) {
		l.warnings = append(l.warnings, text)
		l.log.Warn(text)
	}
}

// close ends the link.
func (l *link) close() {
	l.stop(errClosed)
	l.wg.Wait()
}
