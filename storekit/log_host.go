package storekit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// hostLog passes the output of one process on to the host's logger and remembers
// the last of it for error messages. Whatever a plugin prints, and however much,
// it never panics, it never waits, and what it keeps is bounded. It is safe for
// concurrent use.
type hostLog struct {
	queue   *logQueue
	secrets atomic.Pointer[scrubber]

	mu    sync.Mutex
	last  []string // the newest lines, oldest first
	crash []string // the first lines from a panic on
}

const (
	keptLines  = 20  // lines remembered of each kind
	keptLength = 400 // bytes remembered of a line
)

// stderr takes a line that the plugin wrote to its stderr: JSON with the keys of
// hclog, or plain text.
func (h *hostLog) stderr(line []byte, cut bool) {
	if !h.queue.admits(len(line), time.Now()) {
		h.remember(h.scrubLine(line, cut), nil, !bytes.HasPrefix(line, []byte("{")))
		return
	}
	level, message, attrs, ok := h.parse(line, cut)
	if cut {
		attrs = append(attrs, slog.Bool("cut", true))
	}
	if crash := h.remember(message, attrs, !ok); crash {
		level = slog.LevelError
	}
	h.queue.put(level, message, len(line), attrs...)
}

// output takes a line that the plugin printed otherwise.
func (h *hostLog) output(stream string) func([]byte, bool) {
	return func(line []byte, cut bool) {
		message := h.scrubLine(line, cut)
		h.remember(message, nil, false)
		if !h.queue.admits(len(line), time.Now()) {
			return
		}
		attrs := []slog.Attr{slog.String("stream", stream)}
		if cut {
			attrs = append(attrs, slog.Bool("cut", true))
		}
		h.queue.put(slog.LevelInfo, message, len(line), attrs...)
	}
}

func (h *hostLog) scrub(s string) string { return h.secrets.Load().scrub(s) }

// scrubLine scrubs a line that may have been cut in the middle of a secret.
func (h *hostLog) scrubLine(line []byte, cut bool) string {
	if cut {
		return h.secrets.Load().scrubCut(string(line))
	}
	return h.scrub(string(line))
}

// parse reads a log line. What is no JSON object with a message is the message
// itself, and not ok.
func (h *hostLog) parse(line []byte, cut bool) (level slog.Level, message string, attrs []slog.Attr, ok bool) {
	var fields map[string]any
	if bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &fields) == nil {
		message, ok = fields["@message"].(string)
	}
	if !ok {
		return slog.LevelInfo, h.scrubLine(line, cut), nil, false
	}
	level = levelFrom(fields["@level"])
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		switch key {
		case "@message", "@level", "@timestamp":
		case "@module", "@caller":
			attrs = append(attrs, slog.Any(key[1:], h.scrubValue(fields[key])))
		default:
			attrs = append(attrs, slog.Any(h.scrub(key), h.scrubValue(fields[key])))
		}
	}
	return level, h.scrub(message), attrs, true
}

// levelFrom reads hclog's and slog's spellings; what is neither is info.
func levelFrom(v any) slog.Level {
	s, _ := v.(string)
	if strings.EqualFold(s, "trace") {
		return slog.LevelDebug - 4
	}
	var l slog.Level
	if l.UnmarshalText([]byte(s)) != nil {
		return slog.LevelInfo
	}
	return l
}

func (h *hostLog) scrubValue(v any) any {
	switch v := v.(type) {
	case string:
		return h.scrub(v)
	case []any:
		for i := range v {
			v[i] = h.scrubValue(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = h.scrubValue(v[k])
		}
	}
	return v
}

// remember keeps a line for lastWords. It reports whether the line, plain text on
// stderr, belongs to a crash of the plugin's runtime: from its first words on all
// such lines do.
func (h *hostLog) remember(message string, attrs []slog.Attr, plain bool) bool {
	var b strings.Builder
	b.WriteString(message)
	for _, a := range attrs {
		if a.Key != "stack" { // it is in the log, and would fill a message alone
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		}
	}
	line := b.String()
	if len(line) > keptLength {
		line = strings.ToValidUTF8(line[:keptLength], "") + "…"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	crashed := plain && (len(h.crash) > 0 || strings.HasPrefix(message, "panic:") || strings.HasPrefix(message, "fatal error:"))
	if crashed && len(h.crash) < keptLines {
		h.crash = append(h.crash, line)
	}
	if len(h.last) == keptLines {
		h.last = slices.Delete(h.last, 0, 1)
	}
	h.last = append(h.last, line)
	return crashed
}

// lastWords returns what the plugin said at its end, for an error message; empty
// if it said nothing. After a crash of its runtime that is the beginning of the
// report.
func (h *hostLog) lastWords() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.crash
	if len(lines) == 0 {
		lines = h.last[max(0, len(h.last)-5):]
	} else {
		lines = lines[:min(len(lines), 6)]
	}
	return strings.Join(lines, "\n\t")
}
