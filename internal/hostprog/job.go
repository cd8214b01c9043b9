package hostprog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core"
)

// Job is a job that only takes time.
type Job struct {
	Name    string
	Every   time.Duration
	Takes   time.Duration // how long a run lasts
	Overlap string        // "skip" or "allow"
	Ignores bool          // the handler ignores its context
	Cancels bool          // it is cancelled when its lease can't be renewed in time; else it goes on
	First   int64         // the first slot, Unix milliseconds; 0: aligned to the epoch, and without an end
	Count   int           // how many slots there are from First on; 0: without an end
}

// jobKeys are the settings that ParseJob knows.
var jobKeys = []string{"every", "takes", "overlap", "ignores", "first"}

// ParseJob reads a job as a person writes it on a command line:
// "name,every=3s,takes=7s,overlap=allow,ignores=true,first=2026-01-02T15:04:05Z".
// Without first the slots are aligned to the epoch.
func ParseJob(text string) (Job, error) {
	name, rest, _ := strings.Cut(text, ",")
	j := Job{Name: name, Every: 10 * time.Second, Takes: time.Second, Overlap: "skip"}
	if name == "" {
		return j, fmt.Errorf("job %q has no name; write NAME,every=10s,takes=1s", text)
	}
	for setting := range strings.SplitSeq(rest, ",") {
		if setting == "" {
			continue
		}
		key, value, ok := strings.Cut(setting, "=")
		if !ok || !slices.Contains(jobKeys, key) {
			return j, fmt.Errorf("job %q: %q is no setting; known are %s", name, setting, strings.Join(jobKeys, "=, ")+"=")
		}
		var err error
		switch key {
		case "every":
			if j.Every, err = time.ParseDuration(value); err == nil && j.Every < time.Second {
				err = errors.New("it must be at least 1s")
			}
		case "takes":
			j.Takes, err = time.ParseDuration(value)
		case "overlap":
			if j.Overlap = value; value != "skip" && value != "allow" {
				err = errors.New("it must be skip or allow")
			}
		case "ignores":
			j.Ignores, err = strconv.ParseBool(value)
		case "first":
			var at time.Time
			at, err = time.Parse(time.RFC3339Nano, value)
			j.First = at.UnixMilli()
		}
		if err != nil {
			return j, fmt.Errorf("job %q: %s is %q: %w", name, key, value, err)
		}
	}
	return j, nil
}

// String writes the job as ParseJob reads it. Cancels and Count are not among the
// settings that a person gives.
func (j Job) String() string {
	text := fmt.Sprintf("%s,every=%v,takes=%v,overlap=%s", j.Name, j.Every, j.Takes, j.Overlap)
	if j.Ignores {
		text += ",ignores=true"
	}
	if j.First != 0 {
		text += ",first=" + time.UnixMilli(j.First).UTC().Format(time.RFC3339Nano)
	}
	return text
}

// core returns the job as core runs it.
func (j Job) core(w *writer) core.Job {
	c := core.Job{
		Name:     j.Name,
		Schedule: core.Every(j.Every),
		Handler:  func(ctx context.Context, run core.Run) error { return j.run(ctx, run, w) },
		Timing:   core.Timing{Overlap: core.Skip},
	}
	if j.First != 0 {
		c.Schedule = Series{First: j.First, Every: j.Every, Count: j.Count}
	}
	if j.Overlap == "allow" {
		c.Timing.Overlap = core.Allow
	}
	if j.Cancels {
		c.OnUnconfirmed = core.Cancel
	}
	return c
}

// run takes its time, and tells when its context is cancelled and when it returns.
func (j Job) run(ctx context.Context, run core.Run, w *writer) error {
	tell := func(what string, cause error) {
		l := Line{What: what}
		l.of(run)
		l.failed(cause)
		w.write(l)
	}
	defer tell("returned", nil)
	defer context.AfterFunc(ctx, func() { tell("cancelled", context.Cause(ctx)) })()
	timer := time.NewTimer(j.Takes)
	defer timer.Stop()
	cancelled := ctx.Done()
	if j.Ignores {
		cancelled = nil
	}
	select {
	case <-timer.C:
		return nil
	case <-cancelled:
		return context.Cause(ctx)
	}
}
