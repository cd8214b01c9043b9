package hosttest

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// service is an instance in a process of its own.
type service struct {
	cmd   *exec.Cmd
	lines chan hostprog.Line
	log   bytes.Buffer // valid once lines is closed
	seen  []hostprog.Line
}

// startService starts an instance whose job runs for ever; attr says how its
// process is set up.
func startService(t *testing.T, file string, stdin *os.File, attr *syscall.SysProcAttr) *service {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{cmd: exec.Command(self, file), lines: make(chan hostprog.Line, 1000)}
	s.cmd.Env = append(os.Environ(), envRole+"=instance")
	s.cmd.Stdin, s.cmd.Stderr, s.cmd.SysProcAttr = stdin, &s.log, attr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		<-ended
	})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if l, err := hostprog.ParseLine(lines.Bytes()); err == nil {
				s.lines <- l
			}
		}
		s.cmd.Wait()
		close(s.lines)
	}()
	return s
}

// await waits for a line.
func (s *service) await(t *testing.T, what string) hostprog.Line {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case l, ok := <-s.lines:
			if !ok {
				t.Fatalf("the service ended (%v) before it said %q: %+v\n%s", s.cmd.ProcessState, what, s.seen, &s.log)
			}
			s.seen = append(s.seen, l)
			if l.What == what {
				return l
			}
		case <-late:
			t.Fatalf("the service does not say %q: %+v", what, s.seen)
		}
	}
}

// end waits for the end of the process.
func (s *service) end(t *testing.T) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case l, ok := <-s.lines:
			if !ok {
				return
			}
			s.seen = append(s.seen, l)
		case <-late:
			t.Fatalf("the service does not end: %+v", s.seen)
		}
	}
}

// tree lists a process and all that descend from it.
func tree(pid int) []int {
	pids := []int{pid}
	for i := 0; i < len(pids); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pids[i]))
		for _, f := range files {
			b, _ := os.ReadFile(f)
			for child := range strings.FieldsSeq(string(b)) {
				if n, err := strconv.Atoi(child); err == nil {
					pids = append(pids, n)
				}
			}
		}
	}
	return pids
}

// Whoever stops a service, and however: its running jobs are handed over while the
// plugin is still there, and then nothing is left.
func TestStopSignals(t *testing.T) {
	for _, test := range []struct {
		name string
		stop func(t *testing.T, s *service, terminal *os.File)
	}{
		{"Ctrl-C in a terminal", func(t *testing.T, _ *service, terminal *os.File) {
			if _, err := terminal.Write([]byte{3}); err != nil { // the line discipline makes a SIGINT of it
				t.Fatal(err)
			}
		}},
		{"the terminal is closed", func(t *testing.T, _ *service, terminal *os.File) {
			terminal.Close() // SIGHUP
		}},
		{"SIGTERM to every process, as systemd does by default", func(t *testing.T, s *service, _ *os.File) {
			// The plugin first, or it might get its signal when it has left already.
			for _, pid := range slices.Backward(tree(s.cmd.Process.Pid)) {
				syscall.Kill(pid, syscall.SIGTERM)
			}
		}},
		{"all three to every process, twice", func(t *testing.T, s *service, _ *os.File) {
			pids := tree(s.cmd.Process.Pid)
			for range 2 {
				for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
					for _, pid := range slices.Backward(pids) {
						syscall.Kill(pid, sig)
					}
				}
			}
		}},
		{"SIGTERM to the group", func(t *testing.T, s *service, _ *os.File) {
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			terminal, line := openTerminal(t)
			file := newFile(t)
			// A session of its own, with the terminal, as a shell is.
			s := startService(t, file, line, &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0})
			line.Close()
			started := s.await(t, "started")
			pids := tree(s.cmd.Process.Pid)
			if len(pids) != 2 {
				t.Fatalf("processes %d; want the service and its plugin", pids)
			}
			test.stop(t, s, terminal)
			l := s.await(t, "interrupted")
			if !l.Handed || l.Token != started.Token {
				t.Errorf("the run ended as %+v; want it handed over", l)
			}
			s.end(t)
			if s.cmd.ProcessState.ExitCode() != 0 {
				t.Errorf("the service ended with %v\n%s", s.cmd.ProcessState, &s.log)
			}
			awaitGone(t, pids[1])
			// A plugin that dies of the signal is started again in time, but not every
			// machine is that fast.
			if strings.Contains(s.log.String(), "the plugin is down") {
				t.Errorf("the signal reached the plugin:\n%s", &s.log)
			}

			c := open(t, sqlite(file))
			h, err := c.History(t.Context(), store.HistoryRequest{Job: "long", Limit: 1})
			if err != nil || len(h.Attempts) != 1 || !h.Attempts[0].HandedOver || int64(h.Attempts[0].Token) != started.Token {
				t.Errorf("history: %+v, %v; want the attempt to be handed over", h.Attempts, err)
			}
		})
	}
}
