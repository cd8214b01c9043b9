package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// scene follows what the instances say, and turns it into sentences and lanes.
// It does no I/O.
type scene struct {
	lanes map[string]*lane
}

// lane is one instance as seen from outside.
type lane struct {
	name  string
	pid   int
	state string          // "starting", "up", "killed", "stopped"
	runs  []hostprog.Line // runs in progress: their "started" lines
	watch string          // the run that it backs up, if any
	last  string          // the last thing worth saying while it waits
	beats int
}

func newScene() *scene { return &scene{lanes: make(map[string]*lane)} }

func (s *scene) lane(name string) *lane {
	l := s.lanes[name]
	if l == nil {
		l = &lane{name: name, state: "starting"}
		s.lanes[name] = l
	}
	return l
}

// names returns the instances' names in order.
func (s *scene) names() []string {
	names := make([]string, 0, len(s.lanes))
	for n := range s.lanes {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// take notes a line and returns it as a sentence, or "" if it is not worth one.
func (s *scene) take(l hostprog.Line) string {
	ln := s.lane(l.Instance)
	text := ln.take(l)
	if text == "" {
		return ""
	}
	return sentence(l.At, l.Instance, l.Job, text)
}

func sentence(at time.Time, who, job, text string) string {
	return fmt.Sprintf("%s  %-4s  %-7s %s", at.Format("15:04:05.0"), who, job, text)
}

func (ln *lane) take(l hostprog.Line) string {
	slot := clock(l.Slot)
	switch l.What {
	case "ready":
		ln.state = "up"
		return "is up and waits"
	case "stopped":
		ln.state = "stopped"
		return "has stopped"
	case "claim":
		return ln.claim(l, slot)
	case "heartbeat":
		ln.beats++
		if l.Answer == "lost" {
			return "heartbeat for " + slot + " refused: somebody else has the run"
		}
		if l.Error != "" {
			return "heartbeat for " + slot + " unanswered: " + l.Error
		}
	case "started":
		ln.runs = append(ln.runs, l)
		ln.watch = ""
		why := ""
		if l.Reason != "scheduled" {
			why = " (" + l.Reason + ")"
		}
		return fmt.Sprintf("RUNS %s, attempt %d%s", slot, l.Attempt, why)
	case "succeeded":
		ln.ended(l)
		return "done " + slot
	case "failed":
		ln.ended(l)
		return "FAILED " + slot + ": " + l.Error
	case "interrupted":
		ln.ended(l)
		if l.Handed {
			return "hands " + slot + " over"
		}
		return "interrupted " + slot
	case "lost":
		ln.ended(l)
		return "LOST " + slot + " to another instance: its handler is cancelled"
	case "skipped":
		ln.last = "skipped " + l.Job + " " + slot + " (" + l.Reason + ")"
		if l.Holder != "" {
			return "skips " + slot + ": " + l.Reason + ", " + short(l.Holder) + " still runs"
		}
		return "skips " + slot + ": " + l.Reason
	case "backup":
		ln.watch = l.Job + " " + slot
		return fmt.Sprintf("waits as backup of %s for %s, lease left %s", short(l.Holder), slot, tenths(l.Left))
	case "unconfirmed", "confirmed", "unrecorded", "stuck":
		return l.What + " " + slot
	case "storeerror":
		return "the store fails: " + l.Error
	case "storeback":
		return "the store answers again"
	case "clockjump", "paused":
		return l.What + " " + tenths(l.Left)
	}
	return ""
}

func (ln *lane) claim(l hostprog.Line, slot string) string {
	if l.Error != "" {
		return "claims " + slot + ": " + l.Error
	}
	switch l.Answer {
	case "won", "overlap", "running": // the event that follows says more
		if l.Reason == "takeover" && l.Answer == "won" {
			return fmt.Sprintf("TAKES OVER %s: attempt %d", slot, l.Attempt)
		}
		return ""
	case "finished":
		return "claims " + slot + ": already done"
	}
	return "claims " + slot + ": " + l.Answer
}

func (ln *lane) ended(l hostprog.Line) {
	ln.runs = slices.DeleteFunc(ln.runs, func(r hostprog.Line) bool { return r.Job == l.Job && r.Slot == l.Slot })
}

// status says in a line what an instance does now.
func (ln *lane) status(now time.Time) string {
	if ln.state != "up" {
		return ln.state
	}
	if len(ln.runs) > 0 {
		var parts []string
		for _, r := range ln.runs {
			parts = append(parts, fmt.Sprintf("%s %s (attempt %d) for %s", r.Job, clock(r.Slot), r.Attempt, tenths(now.Sub(r.At))))
		}
		return "runs " + strings.Join(parts, ", ")
	}
	if ln.watch != "" {
		return "waits, backup of " + ln.watch
	}
	if ln.last != "" {
		return "waits; " + ln.last
	}
	return "waits"
}

func clock(slot int64) string { return time.UnixMilli(slot).Format("15:04:05") }

func tenths(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// short is an instance's name without what tells its starts apart.
func short(instance string) string {
	if i := strings.LastIndexByte(instance, '-'); i > 0 {
		return instance[:i]
	}
	return instance
}
