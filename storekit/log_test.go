package storekit

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// testLogger shows a test's log if the test fails.
func testLogger(t testing.TB) *slog.Logger {
	l := new(logBuffer)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", l)
		}
	})
	return l.logger()
}

func TestOddLinesOfAPlugin(t *testing.T) {
	log := new(logBuffer)
	p := testPlugin(t, "odd stderr", nil)
	p.Logger = log.logger()
	c := open(t, p)
	if _, err := c.Claim(t.Context(), claim("print:later")); err != nil {
		t.Error(err)
	}
	c.Close()
	for _, want := range []string{
		`level=INFO msg="{\"@message\":1}" plugin=fake`,
		`level=INFO msg=fine plugin=fake`,
		`level=WARN msg=careful plugin=fake count=3 deep="map[a:[1 map[b:<nil>]]]"`,
		`msg="plain words"`,
		`cut=true`,
		`level=INFO msg="printed later" plugin=fake stream=stdout`,
		`level=INFO msg="complained later" plugin=fake`,
		`level=INFO msg=configured plugin=fake password="" poolSize=2`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %s", want)
		}
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 2*maxLine {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// oddHandler panics in all that a handler does for a line.
type oddHandler struct {
	slog.Handler
	odd string
}

func (h oddHandler) Enabled(context.Context, slog.Level) bool {
	if h.odd == "Enabled" {
		panic("odd handler")
	}
	return true
}
func (h oddHandler) Handle(context.Context, slog.Record) error { panic("odd handler") }
func (h oddHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }

// A logger that panics loses its lines, and nothing else: neither the plugin's output
// nor the host's own lines, nor what is said of dropped ones, ends the service.
func TestPanickingLogger(t *testing.T) {
	for _, odd := range []string{"Handle", "Enabled"} {
		t.Run(odd, func(t *testing.T) {
			dropped := 0
			q := newLogQueue(slog.New(oddHandler{odd: odd}), func(n int) { dropped += n })
			h := &hostLog{queue: q}
			h.secrets.Store(scrubberOf(nil))
			h.stderr([]byte("words"), false)
			q.say(slog.LevelInfo, "words of the host")
			q.box.drop()
			q.box.flush(time.Now().Add(time.Minute))
			if dropped != 1 {
				t.Errorf("%d lines dropped; want 1", dropped)
			}
		})
	}
}

func FuzzHostLog(f *testing.F) {
	for _, line := range oddLines {
		f.Add([]byte(line[:min(len(line), 1000)])) // long ones only slow the fuzzer
	}
	f.Add([]byte(`{"@message":"s3cret","s3cret":"s3cret"}`))
	f.Add([]byte("panic: s3cret\n\ngoroutine 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out := new(logBuffer)
		h := &hostLog{queue: newLogQueue(out.logger(), func(int) {})}
		h.secrets.Store(scrubberOf([]string{"s3cret"}))
		readLines(strings.NewReader(string(text)), h.stderr)
		w := &lineWriter{emit: h.output("stdout")}
		w.Write(text)
		w.Write([]byte{'\n'})
		h.queue.box.flush(time.Now().Add(time.Minute))
		if strings.Contains(out.String(), "s3cret") || strings.Contains(h.lastWords(), "s3cret") {
			t.Errorf("the secret came through: %s", out)
		}
		if len(h.lastWords()) > keptLines*(keptLength+10) {
			t.Errorf("%d bytes of last words", len(h.lastWords()))
		}
	})
}

func TestLines(t *testing.T) {
	long := strings.Repeat("a", maxLine)
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a\nb\r\n\nc", []string{"a", "b", "c"}},
		{"x\n" + long + "more\ny\n", []string{"x", long + "+", "y"}},
		{long + long + long, []string{long + "+"}},
		{"\n\n", nil},
	} {
		var read, written []string
		collect := func(to *[]string) func([]byte, bool) {
			return func(line []byte, cut bool) {
				s := string(line)
				if cut {
					s += "+"
				}
				*to = append(*to, s)
			}
		}
		readLines(strings.NewReader(c.in), collect(&read))
		if !slices.Equal(read, c.want) {
			t.Errorf("readLines(%.20q): %d lines; want %d", c.in, len(read), len(c.want))
		}
		w := &lineWriter{emit: collect(&written)}
		for part := range slices.Chunk([]byte(c.in+"\n"), 1000) {
			w.Write(part)
		}
		if !slices.Equal(written, c.want) {
			t.Errorf("lineWriter(%.20q): %d lines; want %d", c.in, len(written), len(c.want))
		}
	}
}

func TestCrashReport(t *testing.T) {
	out := new(logBuffer)
	h := &hostLog{queue: newLogQueue(out.logger(), func(int) {})}
	for _, line := range []string{"starting", "panic: boom", "goroutine 1 [running]:", `{"@level":"info","@message":"still here","n":1}`, "main.go:7"} {
		h.stderr([]byte(line), false)
	}
	if got, want := h.lastWords(), "panic: boom\n\tgoroutine 1 [running]:\n\tmain.go:7"; got != want {
		t.Errorf("last words %q; want %q", got, want)
	}
	h.queue.box.flush(time.Now().Add(time.Minute))
	for _, want := range []string{"level=INFO msg=starting", `level=ERROR msg="panic: boom"`, `level=INFO msg="still here" n=1`, "level=ERROR msg=main.go:7"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, out)
		}
	}
}
