package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTwoCopiesShareTheSlots runs the program as a user would: two copies, a few
// slots, Ctrl-C.
func TestTwoCopiesShareTheSlots(t *testing.T) {
	if testing.Short() {
		t.Skip("takes about 15 s: it waits for slots that are 5 s apart")
	}
	dir := t.TempDir()
	build(t, filepath.Join(dir, "quickstart"), ".")

	runs := make(chan string, 100)
	copies := []*instance{start(t, dir, runs), start(t, dir, runs)}
	seen := map[string]bool{}
	timeout := time.After(time.Minute)
	for len(seen) < 2 {
		select {
		case line := <-runs:
			if seen[line] {
				t.Errorf("%q was printed twice", line)
			}
			seen[line] = true
		case <-timeout:
			t.Fatalf("only %d runs within a minute\n%s\n%s", len(seen), copies[0].log(), copies[1].log())
		}
	}
	for _, c := range copies {
		if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range copies {
		select {
		case <-c.ended:
			if c.err != nil {
				t.Errorf("copy %d ended with %v after Ctrl-C\n%s", i, c.err, c.log())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("copy %d still runs 20 s after Ctrl-C", i)
		}
	}
}

func build(t *testing.T, out, pkg string) {
	t.Helper()
	if said, err := exec.CommandContext(t.Context(), "go", "build", "-o", out, pkg).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, said)
	}
}

// instance is one running copy.
type instance struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer  // valid once ended is closed
	err    error         // valid once ended is closed
	ended  chan struct{} // closed when it has ended and was read
}

// log is what an ended copy wrote to stderr; one that runs is not read.
func (c *instance) log() string {
	select {
	case <-c.ended:
		return c.stderr.String()
	default:
		return "(it still runs)"
	}
}

func start(t *testing.T, dir string, runs chan<- string) *instance {
	t.Helper()
	c := &instance{cmd: exec.Command(filepath.Join(dir, "quickstart")), ended: make(chan struct{})}
	c.cmd.Dir = dir
	c.cmd.Env = append(os.Environ(), "ANARCHON_PLUGIN_DIR=")
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		<-c.ended
	})
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "run of ") {
				runs <- lines.Text()
			}
		}
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	return c
}
