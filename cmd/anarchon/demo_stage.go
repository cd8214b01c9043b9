package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/storekit"
)

// stage starts, kills and stops the instances and follows what they say.
type stage struct {
	*demo
	plugin storekit.Plugin
	jobs   []hostprog.Job
	view   view
	scene  *scene

	actors  map[string]*actor
	said    chan hostprog.Line
	exited  chan *actor
	running int

	began    time.Time // when the first instance was up
	victim   hostprog.Line
	killed   time.Time
	takeover time.Time
	restart  time.Time
	faults   []string
}

// actor is one instance's process.
type actor struct {
	name     string
	cmd      *exec.Cmd
	lifeline io.WriteCloser
	stderr   *tail
	err      error
	expected bool // its end was our doing
}

func (s *stage) play(ctx context.Context) error {
	s.actors = make(map[string]*actor)
	s.said = make(chan hostprog.Line, 100)
	s.exited = make(chan *actor, 10)
	for _, name := range []string{"A", "B", "C"} {
		if err := s.spawn(name); err != nil {
			s.stopAll()
			return err
		}
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	end := time.NewTimer(s.length)
	defer end.Stop()
	for {
		select {
		case l := <-s.said:
			s.take(l)
		case a := <-s.exited:
			s.gone(a)
			if s.running == 0 {
				s.stopAll()
				return fmt.Errorf("all instances ended by themselves:\n%s", strings.Join(s.faults, "\n"))
			}
		case now := <-ticker.C:
			s.act(now)
			s.draw(now)
		case <-end.C:
			s.stopAll()
			return nil
		case <-ctx.Done():
			s.stopAll()
			return nil
		case <-s.view.interrupted():
			s.stopAll()
			return nil
		}
	}
}

// spawn starts an instance. It ends when its standard input does, so that none
// is left behind if this process dies.
func (s *stage) spawn(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "demo", "instance", "--name", name, "--json", "--lifeline",
		"--lease", demoLease.String(), "--heartbeat", demoHeartbeat.String(), "--plugin", s.plugin.Path, "--config", "path="+s.db)
	for _, j := range s.jobs {
		cmd.Args = append(cmd.Args, "--job", j.String())
	}
	ownGroup(cmd) // Ctrl-C is for this process: it stops them in order
	a := &actor{name: name, cmd: cmd, stderr: &tail{}}
	cmd.Stderr = a.stderr
	if a.lifeline, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("instance %s does not start: %w", name, err)
	}
	s.actors[name] = a
	s.running++
	ln := s.scene.lane(name)
	*ln = lane{name: name, pid: cmd.Process.Pid, state: "starting"}
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if l, err := hostprog.ParseLine(lines.Bytes()); err == nil {
				s.said <- l
			}
		}
		a.err = cmd.Wait()
		s.exited <- a
	}()
	return nil
}

func (s *stage) take(l hostprog.Line) {
	if s.began.IsZero() && l.What == "ready" {
		s.began = l.At
	}
	if text := s.scene.take(l); text != "" {
		s.view.say(text)
	}
	switch {
	case l.What == "started" && l.Job == victimJob && s.killed.IsZero() && s.victim.Job == "":
		s.victim = l
	case l.What == "started" && l.Job == victimJob && !s.killed.IsZero() && l.Slot == s.victim.Slot && l.Attempt > s.victim.Attempt:
		if s.takeover.IsZero() {
			s.takeover = l.At
			s.tell(fmt.Sprintf("takeover %s after the kill; the lease is %v", tenths(l.At.Sub(s.killed)), demoLease))
		}
	case l.What == "succeeded" && l.Job == victimJob && s.killed.IsZero() && l.Slot == s.victim.Slot:
		s.victim = hostprog.Line{} // it was too fast for us
	}
}

// act does what the plot asks for at this time.
func (s *stage) act(now time.Time) {
	if s.killed.IsZero() && s.victim.Job != "" && now.Sub(s.victim.At) > killAfter {
		a := s.actors[s.victim.Instance]
		s.tell(fmt.Sprintf("kill -9 %s, which runs %s %s", a.name, s.victim.Job, clock(s.victim.Slot)))
		a.expected = true
		s.killed = now
		s.restart = now.Add(restartAfter)
		_ = a.cmd.Process.Kill() // an error means that it is gone already
	}
	if !s.restart.IsZero() && now.After(s.restart) {
		s.restart = time.Time{}
		s.tell("starts " + s.victim.Instance + " again")
		if err := s.spawn(s.victim.Instance); err != nil {
			s.faults = append(s.faults, err.Error())
		}
	}
}

func (s *stage) gone(a *actor) {
	s.running--
	s.scene.lane(a.name).state = "gone"
	if a.expected {
		s.scene.lane(a.name).state = "killed"
		return
	}
	fault := fmt.Sprintf("instance %s ended by itself: %v\n%s", a.name, a.err, a.stderr)
	s.faults = append(s.faults, fault)
	s.tell(fault)
}

// stopAll stops the instances gracefully, and kills those that don't.
func (s *stage) stopAll() {
	if s.running > 0 {
		s.tell("stops all instances gracefully")
	}
	for _, a := range s.actors {
		a.expected = true
		_ = a.lifeline.Close()
	}
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	for s.running > 0 {
		select {
		case l := <-s.said:
			s.take(l)
		case a := <-s.exited:
			s.running--
			s.scene.lane(a.name).state = "stopped"
		case <-deadline.C:
			for _, a := range s.actors {
				_ = a.cmd.Process.Kill()
			}
			s.faults = append(s.faults, fmt.Sprintf("%d instances did not stop within %v", s.running, stopWithin))
			return
		}
		s.draw(time.Now())
	}
	for { // what they said last
		select {
		case l := <-s.said:
			s.take(l)
		default:
			return
		}
	}
}

func (s *stage) tell(text string) { s.view.say(sentence(time.Now(), "demo", "", text)) }

func (s *stage) draw(now time.Time) {
	var b strings.Builder
	for _, name := range s.scene.names() {
		ln := s.scene.lanes[name]
		fmt.Fprintf(&b, "  %s  pid %-8d %s\n", name, ln.pid, ln.status(now))
	}
	s.view.lanes(b.String())
}

// verdict says what the demo showed, and fails if it did not show it.
func (s *stage) verdict(out io.Writer) error {
	if len(s.faults) > 0 {
		return fmt.Errorf("%s", strings.Join(s.faults, "\n"))
	}
	switch {
	case s.killed.IsZero():
		fmt.Fprintf(out, "No runner was killed: the %s job did not run long enough. Try -for 60s.\n", victimJob)
	case !s.takeover.IsZero():
		fmt.Fprintf(out, "%s was killed while it ran %s %s; a backup took the run over %s later (lease %v, heartbeat %v).\n",
			s.victim.Instance, s.victim.Job, clock(s.victim.Slot), tenths(s.takeover.Sub(s.killed)), demoLease, demoHeartbeat)
	case time.Since(s.killed) > demoLease+2*demoHeartbeat+stopWithin:
		return errNoTakeover
	default:
		fmt.Fprintln(out, "The demo ended before the killed runner's lease was over.")
	}
	return nil
}

// tail keeps the last part of what a process wrote.
type tail struct{ bytes.Buffer }

const tailBytes = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.Buffer.Write(b)
	if extra := t.Len() - tailBytes; extra > 0 {
		t.Next(extra)
	}
	return len(b), nil
}
