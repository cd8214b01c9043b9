package storekit

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// A plugin that writes without end neither stops itself nor fills the host's
// memory, whether the logger is fast or blocks for ever.
func TestFloodOfLogLines(t *testing.T) {
	for _, blocked := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocked %v", blocked), func(t *testing.T) {
			out := &blockedWriter{release: make(chan struct{})}
			if !blocked {
				close(out.release)
			}
			log := newEventLog()
			p := testPlugin(t, "plugin", nil)
			p.Logger = slog.New(slog.NewTextHandler(out, nil))
			p.OnEvent = log.add
			c := open(t, p)
			before := heap()
			// 40 000 lines of 1 000 bytes, then the answer.
			if a, err := c.Claim(t.Context(), claim("flood:40000")); err != nil || a.Verdict != store.VerdictWon {
				t.Fatalf("%+v, %v", a, err)
			}
			if grown := heap() - before; grown > 4*queuedLog {
				t.Errorf("the heap grew by %d bytes; at most %d wait for the logger", grown, queuedLog)
			}
			if blocked {
				close(out.release)
			}
			c.Close()
			// Close waits a second for a logger, which may not be enough on a busy machine.
			c.launch.log.box.flush(time.Now().Add(patience))
			c.events.flush(time.Now().Add(patience))
			lines, dropped := strings.Count(out.String(), "flooding "), 0
			for _, e := range log.await(t, "end", func(e Event) bool { _, ok := e.(Closed); return ok }) {
				if d, ok := e.(LinesDropped); ok {
					dropped += d.Lines
				}
			}
			if lines+dropped != 40_000 {
				t.Errorf("%d lines came and %d are said to be dropped, together %d of 40000", lines, dropped, lines+dropped)
			}
			if dropped == 0 || !strings.Contains(out.String(), "lines were dropped") {
				t.Errorf("%d lines were dropped, and the log does not say it", dropped)
			}
		})
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// The last words are remembered although the lines are dropped.
func TestPanicAfterAFlood(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", nil))
	_, err := c.Claim(t.Context(), claim("flood and panic:20000"))
	if err == nil || !strings.Contains(err.Error(), "panic: I am drowning") {
		t.Errorf("%v; want the plugin's panic", err)
	}
}

// What comes over the wire is bounded in both directions, and the error says so.
func TestSizes(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", nil))
	_, err := c.Claim(t.Context(), claim("huge error"))
	if err == nil || !strings.Contains(err.Error(), "(1000000 bytes)") || len(err.Error()) > 10_000 {
		t.Errorf("an error of a million bytes became one of %d: %.100s", len(err.Error()), err)
	}
	_, err = c.History(t.Context(), store.HistoryRequest{Job: "huge answer", Limit: 1})
	if !errors.Is(err, store.ErrUnknown) || !strings.Contains(err.Error(), "plugin fake: recall") || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("an answer that does not fit: %.300v", err)
	}
	_, err = c.History(t.Context(), store.HistoryRequest{Job: "a", Limit: 1, Page: strings.Repeat("p", maxMessage)})
	if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "plugin fake: recall") || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("a question that does not fit: %.300v", err)
	}
	if pid := c.PID(); pid == 0 {
		t.Error("the plugin did not survive")
	}
	if a, err := c.Claim(t.Context(), claim("a")); err != nil || a.Verdict != store.VerdictWon {
		t.Errorf("afterwards: %+v, %v", a, err)
	}
}

// A full pipe of output that is not read would stop the plugin.
func TestOutputIsAlwaysRead(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", nil))
	begin := time.Now()
	for range 3 {
		if _, err := c.Claim(t.Context(), claim("flood stdout:5000")); err != nil {
			t.Fatalf("after %v: %v", time.Since(begin), err)
		}
	}
}
