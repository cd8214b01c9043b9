package scenarios

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// host is an instance's process.
type host struct {
	lane   string // "A"
	name   string // "A"; "A.2" for its second start
	cmd    *exec.Cmd
	input  io.WriteCloser // its end makes the process stop
	words  *tail          // the last ones of its log
	gone   chan struct{}  // closed when the process has ended
	err    error          // how it ended; to be read once it is gone
	frozen bool
}

// startHost starts an instance. said is called for each of its lines, in order.
func startHost(cmd *exec.Cmd, c hostConfig, said func(hostprog.Line)) (*host, error) {
	told, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	h := &host{lane: laneOf(c.Name), name: c.Name, cmd: cmd, words: &tail{}, gone: make(chan struct{})}
	// A group of its own: Ctrl-C is for whoever plays.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = h.words
	if h.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("instance %s does not start: %w", c.Name, err)
	}
	go func() {
		defer close(h.gone)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if l, err := hostprog.ParseLine(lines.Bytes()); err == nil {
				said(l)
			}
		}
		h.err = cmd.Wait()
	}()
	if _, err := h.input.Write(append(told, '\n')); err != nil {
		_ = cmd.Process.Kill()
		<-h.gone
		return nil, fmt.Errorf("instance %s ended at once: %w\n%s", c.Name, err, h.words)
	}
	return h, nil
}

func (h *host) signal(s syscall.Signal) error { return syscall.Kill(h.cmd.Process.Pid, s) }

// isGone reports whether the process has ended, and waits for it so long.
func (h *host) isGone(within time.Duration) bool {
	select {
	case <-h.gone:
		return true
	default:
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-h.gone:
		return true
	case <-timer.C:
		return false
	}
}

// laneOf is an instance's name without what tells its starts apart: ".2", and the
// time that the store's holders end with.
func laneOf(instance string) string {
	lane, _, _ := strings.Cut(instance, "-")
	lane, _, _ = strings.Cut(lane, ".")
	return lane
}

// tail keeps the last part of what a process wrote.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p)
	if extra := t.b.Len() - tailBytes; extra > 0 {
		t.b.Next(extra)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
