package conformance

import (
	"log/slog"
	"strings"
	"sync"
)

// keptLines is how many of the plugins' lines a bad run shows.
const keptLines = 40

// pluginLog keeps the last warnings and errors of the plugins, and of the host
// about them: where a check fails, they often say why. It is safe for concurrent
// use.
type pluginLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *pluginLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// Write takes one line of the log.
func (l *pluginLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSuffix(string(b), "\n"))
	if n := len(l.lines) - keptLines; n > 0 {
		l.lines = l.lines[n:]
	}
	return len(b), nil
}

func (l *pluginLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}
