package main

import (
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

func TestSceneTellsAStory(t *testing.T) {
	t.Setenv("TZ", "UTC")
	at := time.Date(2026, 1, 1, 10, 0, 1, 0, time.Local)
	slot := time.Date(2026, 1, 1, 10, 0, 0, 0, time.Local).UnixMilli()
	for _, c := range []struct {
		line hostprog.Line
		want string // the sentence's end; "" for none
	}{
		{hostprog.Line{What: "ready", Instance: "A"}, "is up and waits"},
		{hostprog.Line{What: "claim", Instance: "A", Job: "report", Answer: "won", Reason: "scheduled"}, ""},
		{hostprog.Line{What: "started", Instance: "A", Job: "report", Attempt: 1, Reason: "scheduled"}, "RUNS 10:00:00, attempt 1"},
		{hostprog.Line{What: "heartbeat", Instance: "A", Job: "report", Answer: "renewed"}, ""},
		{hostprog.Line{What: "backup", Instance: "B", Job: "report", Holder: "A-17", Left: 3 * time.Second}, "waits as backup of A for 10:00:00, lease left 3s"},
		{hostprog.Line{What: "skipped", Instance: "C", Job: "report", Reason: "overlap", Holder: "A-17"}, "skips 10:00:00: overlap, A still runs"},
		{hostprog.Line{What: "claim", Instance: "B", Job: "report", Answer: "won", Reason: "takeover", Attempt: 2}, "TAKES OVER 10:00:00: attempt 2"},
		{hostprog.Line{What: "claim", Instance: "C", Job: "report", Answer: "finished"}, "claims 10:00:00: already done"},
		{hostprog.Line{What: "claim", Instance: "C", Job: "report", Error: "outcome unknown"}, "claims 10:00:00: outcome unknown"},
		{hostprog.Line{What: "heartbeat", Instance: "A", Job: "report", Answer: "lost"}, "heartbeat for 10:00:00 refused: somebody else has the run"},
		{hostprog.Line{What: "lost", Instance: "A", Job: "report", Attempt: 1}, "LOST 10:00:00 to another instance: its handler is cancelled"},
		{hostprog.Line{What: "interrupted", Instance: "B", Job: "report", Handed: true}, "hands 10:00:00 over"},
	} {
		s := newScene()
		c.line.At, c.line.Slot = at, slot
		got := s.take(c.line)
		if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s by %s: %q, want it to end with %q", c.line.What, c.line.Instance, got, c.want)
		}
	}
}

func TestLaneStatus(t *testing.T) {
	s := newScene()
	at := time.Now()
	slot := at.UnixMilli()
	take := func(what string, attempt int) {
		s.take(hostprog.Line{At: at, What: what, Instance: "A", Job: "report", Slot: slot, Attempt: attempt, Holder: "B-1"})
	}
	now := at.Add(1200 * time.Millisecond)
	status := func() string { return s.lane("A").status(now) }
	if got := status(); got != "starting" {
		t.Errorf("before it is up: %q", got)
	}
	take("ready", 0)
	if got := status(); got != "waits" {
		t.Errorf("up: %q", got)
	}
	take("backup", 0)
	if got := status(); !strings.HasPrefix(got, "waits, backup of report") {
		t.Errorf("backup: %q", got)
	}
	take("started", 2)
	if got := status(); !strings.Contains(got, "(attempt 2) for 1.2s") {
		t.Errorf("running: %q", got)
	}
	take("succeeded", 2)
	if got := status(); got != "waits" {
		t.Errorf("done: %q", got)
	}
}
