//go:build cgo

package sqlitestore

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleEnv makes the test binary play a role in another process instead of
// running tests; see roles.
const roleEnv = "SQLITESTORE_TEST_ROLE"

// role is what a child does: it waits at ready until all children are there, and
// prints lines.
type role func(me part, ready func()) error

// part is what a child is told.
type part struct {
	path string // the file
	name string // its own
	slot int64  // the first one, near now
}

var roles = map[string]role{
	"open":  openRole,
	"slots": slotsRole,
	"batch": batchRole,
	"load":  loadRole,
}

func TestMain(m *testing.M) {
	name := os.Getenv(roleEnv)
	if name == "" {
		goleak.VerifyTestMain(m)
		return
	}
	me := part{path: os.Args[1], name: os.Args[2]}
	if _, err := fmt.Sscan(os.Args[3], &me.slot); err != nil {
		panic(err)
	}
	err := roles[name](me, func() {
		fmt.Println("ready")
		_, _ = io.ReadAll(os.Stdin) // until the parent closes it
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a process that plays a role.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	start io.Closer
	lines chan string // what it prints; closed at its end
	err   strings.Builder
}

// startSlot is the same in all processes of a run.
var startSlot = time.Now().UnixMilli()

// spawn starts a child, which is killed with the test.
func spawn(t testing.TB, role, path, name string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0], path, name, fmt.Sprint(startSlot)), lines: make(chan string, 1024)}
	c.cmd.Env = append(os.Environ(), roleEnv+"="+role)
	c.cmd.Stderr = &c.err
	for _, f := range change {
		f(c.cmd)
	}
	stdin, err1 := c.cmd.StdinPipe()
	stdout, err2 := c.cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	c.start = stdin
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			c.kill()
		}
	})
	return c
}

// spawnAll starts children and lets them go together.
func spawnAll(t testing.TB, n int, role, path string) []*child {
	t.Helper()
	var all []*child
	for i := range n {
		all = append(all, spawn(t, role, path, fmt.Sprint("p", i)))
	}
	for _, c := range all {
		c.expect("ready")
	}
	for _, c := range all {
		c.start.Close()
	}
	return all
}

func (c *child) expect(want string) {
	c.t.Helper()
	if got := c.line(); got != want {
		c.t.Fatalf("child printed %q; want %q", got, want)
	}
}

// line is the next line, within a generous bound for a busy machine.
func (c *child) line() string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatalf("child ended early: %v: %s", c.cmd.Wait(), c.err.String())
		}
		return line
	case <-time.After(time.Minute):
		c.t.Fatal("child is silent for a minute")
		return ""
	}
}

// rest is all that it still prints; it must then end well.
func (c *child) rest() []string {
	c.t.Helper()
	var all []string
	for line := range c.lines {
		all = append(all, line)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("child: %v: %s", err, c.err.String())
	}
	return all
}

// kill is kill -9; what was printed before stays readable in lines.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	go func() { // a child that blocks on its full pipe must not keep Wait
		for range c.lines {
		}
	}()
	_ = c.cmd.Wait()
}
