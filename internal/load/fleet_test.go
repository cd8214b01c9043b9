package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
)

// member is an instance in a process of its own.
type member struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	last  hostReport
}

// fleet is the instances of a service.
type fleet []*member

// launch starts instances. watchDir is where they leave their vital signs; empty for
// nowhere.
func launch(t *testing.T, watchDir string, cfgs ...hostConfig) fleet {
	t.Helper()
	var f fleet
	for i, cfg := range cfgs {
		cfg.Name = fmt.Sprintf("instance %d", i+1)
		cfg.Timing.Overlap, cfg.HeldTiming.Overlap = core.Skip, core.Skip // the default; zero has no spelling
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envHost+"=1")
		if watchDir != "" {
			cmd.Env = append(cmd.Env, envWatch+"="+watchDir)
			cfg.Plugin.Env = append(cfg.Plugin.Env, envWatch+"="+watchDir)
		}
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		m := &member{cmd: cmd, in: in, lines: bufio.NewReaderSize(out, 1<<20)}
		f = append(f, m)
		t.Cleanup(func() {
			cmd.Process.Kill() // if the test did not end it
			cmd.Wait()
		})
		if err := json.NewEncoder(in).Encode(cfg); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// patience is how long an instance may take for an answer, or to end. One that hangs is
// killed, and what waits for it fails.
const patience = 2 * time.Minute

func (f fleet) hurry() (stop func() bool) {
	return time.AfterFunc(patience, func() {
		for _, m := range f {
			m.cmd.Process.Kill() // an error means that it has ended
		}
	}).Stop
}

// ask gets a report of every instance.
func (f fleet) ask(t *testing.T) {
	t.Helper()
	defer f.hurry()()
	var wg sync.WaitGroup
	errs := make([]error, len(f))
	for i, m := range f {
		wg.Go(func() {
			if _, errs[i] = io.WriteString(m.in, "report\n"); errs[i] != nil {
				return
			}
			line, err := m.lines.ReadBytes('\n')
			if err != nil {
				errs[i] = err
				return
			}
			var r hostReport
			errs[i] = json.Unmarshal(line, &r)
			m.last = r
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("instance %d: %v", i+1, err)
		}
	}
}

// sum adds up one figure of all instances' last reports.
func (f fleet) sum(figure func(*counts) int) (n int) {
	for _, m := range f {
		n += figure(&m.last.Counts)
	}
	return n
}

// slowest is the greatest of one figure.
func (f fleet) slowest(figure func(*counts) time.Duration) (d time.Duration) {
	for _, m := range f {
		d = max(d, figure(&m.last.Counts))
	}
	return d
}

// starts are how late the handlers of a slot started, in milliseconds, in order.
func (f fleet) starts(slot int64) (all []int32) {
	for _, m := range f {
		all = append(all, m.last.Starts[slot]...)
	}
	slices.Sort(all)
	return all
}

// cpu is the processor time of hosts and of plugins so far, after a report.
func (f fleet) cpu(t *testing.T) (hosts, plugins time.Duration) {
	t.Helper()
	for _, m := range f {
		hosts += processCPU(t, m.cmd.Process.Pid)
		plugins += processCPU(t, m.last.PluginPID)
	}
	return hosts, plugins
}

// end stops the instances gracefully.
func (f fleet) end(t *testing.T) {
	t.Helper()
	defer f.hurry()()
	for _, m := range f {
		m.in.Close()
	}
	for i, m := range f {
		if err := m.cmd.Wait(); err != nil {
			t.Errorf("instance %d: %v", i+1, err)
		}
	}
}

// cpuStep is the clock tick that /proc counts processor time in.
const cpuStep = 10 * time.Millisecond

// processCPU is the processor time of a process so far, in whole steps.
func processCPU(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if os.IsNotExist(err) {
		if _, err := os.Stat("/proc/self/stat"); err != nil {
			t.Skip("needs /proc: the processor time of other processes")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name before it may hold anything
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime; see proc(5)
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * cpuStep
}

// profile makes all processes that watch in dir write a CPU profile there until the
// returned function is called.
func profile(t *testing.T, dir string) (stop func()) {
	t.Helper()
	marker := filepath.Join(dir, profileMarker)
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		os.Remove(marker)
		time.Sleep(5 * watchEvery / 2) // they look so often; then the files are written
	}
}

// patient asks until the condition holds.
func (f fleet) patient(t *testing.T, what string, within time.Duration, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for {
		f.ask(t)
		if holds() {
			return
		}
		select {
		case <-ctx.Done():
			for i, m := range f {
				c := m.last.Counts
				t.Logf("instance %d: %+v", i+1, c)
			}
			t.Fatalf("not within %v: %s", within, what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
