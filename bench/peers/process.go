package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// process is an instance, seen from outside.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	errors *bytes.Buffer
	pids   []int
}

// launch starts this program as an instance.
func launch(ctx context.Context, o order) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, self), errors: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	p.cmd.Stderr = p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	return p, p.cmd.Start()
}

// read reads the instance's next answer.
func (p *process) read(into any) error {
	if err := p.out.Decode(into); err != nil {
		return fmt.Errorf("an instance gave no answer: %w\n%s", err, p.errors)
	}
	return nil
}

// starts returns those since the last call.
func (p *process) starts() (s []start, err error) {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return nil, err
	}
	return s, p.read(&s)
}

// stopTime is how long an instance may take to stop before it is killed.
const stopTime = 20 * time.Second

// stop lets the instance stop in good order.
func (p *process) stop() {
	p.in.Close()
	kill := time.AfterFunc(stopTime, func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	p.cmd.Wait() // how it ends is no part of what is measured
}

// usage is what processes take.
type usage struct {
	cpu time.Duration // since they started
	rss int64         // bytes in memory now
}

func (u usage) plus(v usage) usage { return usage{u.cpu + v.cpu, u.rss + v.rss} }

// tick is the unit of processor times in /proc: Linux has 100 of them in a second, everywhere.
const tick = 10 * time.Millisecond

// used reads what a process takes; see proc(5).
func used(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("the memory and processor time of a process are read from /proc, on Linux: %w", err)
	}
	return parseStat(string(stat), os.Getpagesize())
}

func parseStat(stat string, page int) (usage, error) {
	// The second field, the program's name in parentheses, may hold anything.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 22 {
		return usage{}, fmt.Errorf("%q has %d fields; want 22", stat, len(fields))
	}
	var n [3]int64
	for i, field := range []int{11, 12, 21} { // utime, stime, rss
		v, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return usage{}, err
		}
		n[i] = v
	}
	return usage{time.Duration(n[0]+n[1]) * tick, n[2] * int64(page)}, nil
}
