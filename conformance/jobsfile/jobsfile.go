// Package jobsfile reads a list of jobs from YAML and judges their timings against a
// store, by core's own rules: what core.Scheduler.Add would refuse is refused here, in
// the same words. It is how an operator learns if a store is safe for some jobs,
// without the service that runs them.
//
//	defaults:                  # of all jobs; optional
//	  lease: 1m
//	jobs:
//	  - name: invoices/nightly
//	    schedule: 30 2 * * *   # or: every 5m
//	    zone: Europe/Athens    # of a cron expression; default UTC
//	    jitter: 2s             # or: disabled
//	    max-late: 1m
//	    lease: 30s
//	    heartbeat: 5s
//	    catch-up: 5m           # or: disabled
//	    overlap: skip          # or: allow
//	    max-attempts: 3
//	    history-size: 100
//	    stop-timeout: 30s
//
// All but name and schedule may be left out; they are then core's defaults.
package jobsfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/cron"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/yamlkeys"
)

// Job is one entry of the file.
type Job struct {
	Name     string
	Line     int // where it begins
	Schedule core.Schedule
	Timing   core.Timing // as written, over the file's defaults; zero where neither says
}

// maxSize bounds a file: what is larger is no list of jobs.
const maxSize = 4 << 20

// ReadFile reads the jobs of the file at path. The error names the file, and joins
// the faults of all jobs.
func ReadFile(path string) ([]Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	jobs, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return jobs, nil
}

// Read reads jobs. An unknown key, a missing name, a schedule or a value that can't be
// read and a name that is there twice are faults, each with its line; the error joins
// the first fault of each job. Timing rules are not looked at: see [Judge].
func Read(r io.Reader) ([]Job, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxSize {
		return nil, fmt.Errorf("the file is larger than %d MB: it is no list of jobs", maxSize>>20)
	}
	doc, err := yamlkeys.Document(b)
	if err != nil {
		return nil, err
	}
	if doc == nil {
		return nil, errors.New("the file is empty; it must have a list \"jobs\"")
	}
	if doc.Kind == yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: the file begins with a list; begin with \"jobs:\", and put the list below it", doc.Line)
	}
	var (
		defaults core.Timing
		list     *yaml.Node
	)
	err = yamlkeys.Each(doc, []string{"defaults", "jobs"}, func(key string, value *yaml.Node) error {
		if key == "jobs" {
			list = value // the defaults may come after them
			return nil
		}
		return yamlkeys.Each(value, timingKeys, func(key string, value *yaml.Node) error { return setTiming(&defaults, key, value) })
	})
	switch {
	case err != nil:
		return nil, err
	case list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0:
		return nil, errors.New("there is no job; the file must have a list \"jobs\", each with a name and a schedule")
	}
	return readJobs(list.Content, defaults)
}

func readJobs(nodes []*yaml.Node, defaults core.Timing) ([]Job, error) {
	var (
		jobs   []Job
		faults []error
		seen   = map[string]int{}
	)
	for _, node := range nodes {
		j, err := readJob(node, defaults)
		switch line, twice := seen[j.Name]; {
		case err != nil:
			faults = append(faults, err)
		case twice:
			faults = append(faults, fmt.Errorf("line %d: job %q is there already, in line %d", j.Line, j.Name, line))
		default:
			seen[j.Name] = j.Line
			jobs = append(jobs, j)
		}
	}
	return jobs, errors.Join(faults...)
}

// timingKeys are the keys that defaults may have, too.
var timingKeys = []string{"jitter", "max-late", "lease", "heartbeat", "catch-up", "overlap", "max-attempts", "history-size", "stop-timeout"}

var jobKeys = append([]string{"name", "schedule", "zone"}, timingKeys...)

func readJob(node *yaml.Node, defaults core.Timing) (Job, error) {
	j := Job{Line: node.Line, Timing: defaults}
	var schedule, zone *yaml.Node
	err := yamlkeys.Each(node, jobKeys, func(key string, value *yaml.Node) error {
		switch key {
		case "name":
			j.Name = value.Value
		case "schedule":
			schedule = value
		case "zone":
			zone = value
		default:
			return setTiming(&j.Timing, key, value)
		}
		return nil
	})
	if err == nil {
		if err = store.CheckName("name", j.Name); err != nil {
			err = fmt.Errorf("line %d: %w", j.Line, err)
		}
	}
	if err == nil {
		j.Schedule, err = readSchedule(j, schedule, zone)
	}
	if err != nil && j.Name != "" {
		err = fmt.Errorf("job %q: %w", j.Name, err)
	}
	return j, err
}

func readSchedule(j Job, schedule, zone *yaml.Node) (core.Schedule, error) {
	if schedule == nil {
		return nil, fmt.Errorf("line %d: it has no schedule; write a cron expression, or: every 5m", j.Line)
	}
	loc := time.UTC
	if zone != nil {
		var err error
		if loc, err = Zone(zone.Value); err != nil {
			return nil, fmt.Errorf("line %d: %w", zone.Line, err)
		}
	}
	s, err := Schedule(schedule.Value, loc)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", schedule.Line, err)
	}
	if _, cronExpr := s.(*cron.Schedule); zone != nil && !cronExpr {
		return nil, fmt.Errorf("line %d: zone is for cron expressions; %v is aligned to the Unix epoch in every zone", zone.Line, s)
	}
	return s, nil
}

// Schedule reads a cron expression, or an interval written "every 5m".
func Schedule(text string, loc *time.Location) (core.Schedule, error) {
	rest, interval := strings.CutPrefix(strings.TrimSpace(text), "every ")
	if !interval {
		return cron.Parse(text, loc)
	}
	d, err := time.ParseDuration(strings.TrimSpace(rest))
	switch {
	case err != nil:
		return nil, fmt.Errorf("schedule %q: the interval can't be read; write it as: every 1h30m", text)
	case d < time.Second || d%time.Millisecond != 0:
		return nil, fmt.Errorf("schedule %q: an interval must be a whole number of milliseconds, at least 1 s", text)
	}
	return core.Every(d), nil
}

// Zone returns the time zone of that name. "Local" and the empty name are refused:
// they mean another zone on another machine.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("zone is %q; it must be a name such as Europe/Athens or UTC, the same on every machine", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q is not known here; it must be a name of the tz database, such as Europe/Athens or UTC: %w", name, err)
	}
	return loc, nil
}

func setTiming(t *core.Timing, key string, node *yaml.Node) error {
	var err error
	switch key {
	case "jitter":
		t.Jitter, err = duration(node, true)
	case "catch-up":
		t.CatchUp, err = duration(node, true)
	case "max-late":
		t.MaxLate, err = duration(node, false)
	case "lease":
		t.Lease, err = duration(node, false)
	case "heartbeat":
		t.Heartbeat, err = duration(node, false)
	case "stop-timeout":
		t.StopTimeout, err = duration(node, false)
	case "overlap":
		err = t.Overlap.UnmarshalText([]byte(node.Value))
	case "max-attempts":
		t.MaxAttempts, err = count(node)
	case "history-size":
		t.HistorySize, err = count(node)
	}
	if err != nil {
		return fmt.Errorf("line %d: %s: %w", node.Line, key, err)
	}
	return nil
}

// duration reads a duration. A zero would mean the default to core and off to many
// readers, so it is refused.
func duration(node *yaml.Node, mayBeOff bool) (time.Duration, error) {
	rule := "a duration such as 30s or 1m30s"
	if mayBeOff {
		rule += ", or disabled"
		if node.Value == "disabled" {
			return core.Disabled, nil
		}
	}
	d, err := time.ParseDuration(node.Value)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q must be %s", node.Value, rule)
	}
	return d, nil
}

func count(node *yaml.Node) (int, error) {
	n, err := strconv.Atoi(node.Value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q must be a whole number from 1", node.Value)
	}
	return n, nil
}
