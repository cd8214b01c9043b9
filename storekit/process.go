package storekit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// process is the process of one launch of a plugin. It owns what go-plugin would
// not keep within bounds: the process group, the lifeline, the pipes (a
// grandchild that holds them does not keep the process alive), and the reading of
// them. It is go-plugin's runner.
type process struct {
	cmd *exec.Cmd
	log *hostLog

	lifeline  *os.File       // the write end: the plugin ends when it is closed
	handshake *io.PipeReader // the first line of stdout, then nothing until the end

	mu     sync.Mutex
	killed bool
	reaped bool   // the pid may belong to someone else
	why    string // why the host killed it, if it did for a reason of its own

	done chan struct{} // closed when the process has ended and its output was read

	first    string    // first line of its stdout; guarded by mu
	exitText string    // how it ended; valid once done is closed, as the next
	endedAt  time.Time // when that was seen
}

var _ runner.Runner = (*process)(nil)

// outputGrace is how long the output of an ended process is still read: what is
// in the pipes is there at once, what comes later is of someone who inherited
// them.
const outputGrace = 200 * time.Millisecond

// newProcess is a process to be started from a file, with a name to be listed by.
func newProcess(path, name string, log *hostLog) *process {
	cmd := exec.Command(path)
	cmd.Args[0] = name
	return &process{cmd: cmd, log: log, done: make(chan struct{})}
}

// Start launches the process. cmd.Env must be complete.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		close(p.done)
		return errors.New("the launch was given up")
	}
	var files []*os.File
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	stdout, childStdout := pipe()
	stderr, childStderr := pipe()
	childLifeline, lifeline := pipe()
	if len(files) < 6 {
		closeAll(files)
		close(p.done)
		return errors.New("no more file descriptors")
	}
	p.cmd.Stdout, p.cmd.Stderr = childStdout, childStderr
	p.cmd.ExtraFiles = []*os.File{childLifeline} // descriptor 3
	p.cmd.Env = append(p.cmd.Env, envLifeline+"=3")
	setProcessGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		closeAll(files)
		close(p.done)
		return err
	}
	closeAll([]*os.File{childStdout, childStderr, childLifeline})
	p.lifeline = lifeline

	reader, writer := io.Pipe()
	p.handshake = reader
	var reading sync.WaitGroup
	reading.Go(func() { p.readStdout(stdout, writer) })
	reading.Go(func() { readLines(stderr, p.log.stderr) })
	go func() {
		p.reap()
		endedAt := time.Now()
		deadline := endedAt.Add(outputGrace)
		stdout.SetReadDeadline(deadline)
		stderr.SetReadDeadline(deadline)
		reading.Wait()
		closeAll([]*os.File{stdout, stderr, lifeline})
		p.exitText, p.endedAt = p.cmd.ProcessState.String(), endedAt
		close(p.done)
	}()
	return nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// readStdout gives the first line to go-plugin, which reads the handshake from
// it, and what follows to the log.
func (p *process) readStdout(stdout io.Reader, handshake *io.PipeWriter) {
	defer handshake.Close()
	seen := false
	readLines(stdout, func(line []byte, cut bool) {
		if seen {
			p.log.output("stdout")(line, cut)
			return
		}
		seen = true
		p.mu.Lock()
		p.first = string(bytes.ToValidUTF8(line[:min(len(line), 1024)], []byte("\uFFFD")))
		p.mu.Unlock()
		if len(line) <= 32<<10 { // go-plugin's scanner stops at 64 KiB
			handshake.Write(append(bytes.Clone(line), '\n'))
		} else {
			handshake.Close()
		}
	})
}

// firstLine is the first line of the plugin's stdout, "" if there was none yet.
func (p *process) firstLine() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first
}

// kill ends the process and all of its group, and prevents a start that has not
// happened yet. It does not wait.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	if p.cmd.Process != nil && !p.reaped {
		killGroup(p.cmd.Process)
	}
}

// killFor is kill with a reason for the obituary.
func (p *process) killFor(why string) {
	p.mu.Lock()
	if p.why == "" && !p.reaped {
		p.why = why
	}
	p.mu.Unlock()
	p.kill()
}

// letGo closes the lifeline: the plugin closes its store and exits.
func (p *process) letGo() {
	if p.lifeline != nil {
		p.lifeline.Close()
	}
}

// pid is the process's id, 0 if it has ended.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd.Process == nil || p.reaped {
		return 0
	}
	return p.cmd.Process.Pid
}

// lastPID is the process's id, also after its end.
func (p *process) lastPID() int {
	if p.cmd.Process == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// obituary says how the process ended, with its last words.
func (p *process) obituary() string {
	p.mu.Lock()
	why := p.why
	p.mu.Unlock()
	text := "the plugin ended (" + p.exitText + ")"
	if why != "" {
		text = "the plugin ended: " + why
	}
	if words := p.log.lastWords(); words != "" {
		text += "; its last words:\n\t" + words
	}
	return text
}

// The rest of go-plugin's runner.

func (p *process) Wait(context.Context) error { <-p.done; return nil }
func (p *process) Kill(context.Context) error { p.kill(); return nil }
func (p *process) Stdout() io.ReadCloser      { return p.handshake }
func (p *process) Stderr() io.ReadCloser      { return io.NopCloser(strings.NewReader("")) }
func (p *process) Name() string               { return p.cmd.Path }
func (p *process) ID() string                 { return fmt.Sprintf("%p", p) }

func (p *process) Diagnose(context.Context) string { return "" }

func (p *process) PluginToHost(network, address string) (string, string, error) {
	if network != "unix" {
		return "", "", fmt.Errorf("it listens on %q (%s); a plugin must listen on a Unix socket in $%s", network, address, envSocket)
	}
	return network, address, nil
}

func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
