package storekit

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// logQueue brings what a plugin says to the host's logger, in order, and never
// waits for it: a logger that blocks must not block the plugin, and a plugin that
// floods must not use up the host's memory, time or disk.
type logQueue struct {
	logger *slog.Logger
	box    mailbox[slog.Record]

	mu     sync.Mutex
	second time.Time // the beginning of the present second
	lines  int       // passed on in it
	bytes  int
}

const (
	logLines   = 2000    // lines of a plugin's output that are passed on in a second
	logBytes   = 2 << 20 // bytes of them
	queuedLog  = 8 << 20 // bytes that wait for a slow logger, with perLine for each line
	perLine    = 512
	flushGrace = time.Second // what a logger or a callback may delay the end of Close
)

// newLogQueue returns a queue; dropped is told of lines that were not passed on.
func newLogQueue(logger *slog.Logger, dropped func(lines int)) *logQueue {
	q := &logQueue{logger: logger}
	q.box.most = queuedLog
	q.box.deliver = func(r slog.Record) {
		defer survive()
		logger.Handler().Handle(context.Background(), r)
	}
	q.box.missed = func(n int) {
		func() {
			defer survive()
			logger.Warn("the plugin writes more than the log takes: lines were dropped", "lines", n)
		}()
		dropped(n)
	}
	return q
}

// survive ends a panic of the logger, which is foreign code: a line is lost, the service
// is not.
func survive() { _ = recover() }

// wants reports whether the logger takes lines of a level.
func (q *logQueue) wants(level slog.Level) bool {
	defer survive()
	return q.logger.Enabled(context.Background(), level)
}

// admits reports whether a line of the plugin's output fits into this second. One
// that does not is counted.
func (q *logQueue) admits(bytes int, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if age := now.Sub(q.second); age < 0 || age >= time.Second {
		q.second, q.lines, q.bytes = now, 0, 0
	}
	if q.lines >= logLines || q.bytes+bytes > logBytes {
		q.box.drop()
		return false
	}
	q.lines++
	q.bytes += bytes
	return true
}

// put logs a line of about so many bytes.
func (q *logQueue) put(level slog.Level, message string, bytes int, attrs ...slog.Attr) {
	if !q.wants(level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.AddAttrs(attrs...)
	q.box.put(r, bytes+perLine)
}

// say logs a line of the host's own about the plugin.
func (q *logQueue) say(level slog.Level, message string, args ...any) {
	if !q.wants(level) {
		return
	}
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.Add(args...)
	q.box.put(r, perLine)
}
