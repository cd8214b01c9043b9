package jobsfile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
)

const good = `
jobs:
  - name: invoices/nightly
    schedule: 30 2 * * *
    zone: Europe/Athens
    jitter: disabled
    catch-up: 1h
  - name: tick
    schedule: every 10s
    max-late: 20s
    heartbeat: 2s
    overlap: allow
    max-attempts: 1
    history-size: 7
    stop-timeout: 3s
defaults:
  lease: 12s
  heartbeat: 3s
`

func TestRead(t *testing.T) {
	jobs, err := Read(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 {
		t.Fatalf("%d jobs", len(jobs))
	}
	night, tick := jobs[0], jobs[1]
	if night.Name != "invoices/nightly" || night.Line != 3 || night.Schedule.MinGap() != 24*time.Hour ||
		night.Timing != (core.Timing{Jitter: core.Disabled, CatchUp: time.Hour, Lease: 12 * time.Second, Heartbeat: 3 * time.Second}) {
		t.Errorf("read %+v", night)
	}
	if tick.Schedule != core.Every(10*time.Second) || tick.Timing != (core.Timing{
		MaxLate: 20 * time.Second, Lease: 12 * time.Second, Heartbeat: 2 * time.Second,
		Overlap: core.Allow, MaxAttempts: 1, HistorySize: 7, StopTimeout: 3 * time.Second,
	}) {
		t.Errorf("read %+v", tick)
	}
}

func TestReadFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty"},
		{"jobs: []", "there is no job"},
		{"# mine\n- {name: a, schedule: every 5s}\n", `line 2: the file begins with a list; begin with "jobs:"`},
		{"jobs: 7", "there is no job"},
		{"jbos: []", `line 1: unknown key "jbos"; did you mean "jobs"?`},
		{"jobs:\n- schedule: every 5s", "invalid request: name is empty"},
		{"jobs:\n- name: a", `job "a": line 2: it has no schedule`},
		{"jobs:\n- name: a\n  schedule: every 5", "the interval can't be read"},
		{"jobs:\n- name: a\n  schedule: every 10ms", "at least 1 s"},
		{"jobs:\n- name: a\n  schedule: 61 * * * *", `job "a": line 3: `},
		{"jobs:\n- name: a\n  schedule: 0 2 30 2 *", "never"},
		{"jobs:\n- name: a\n  schedule: 0 2 * * *\n  zone: Mars/Olympus", `line 4: zone "Mars/Olympus" is not known here`},
		{"jobs:\n- name: a\n  schedule: 0 2 * * *\n  zone: Local", "the same on every machine"},
		{"jobs:\n- name: a\n  schedule: every 5s\n  zone: UTC", "aligned to the Unix epoch"},
		{"jobs:\n- name: a\n  schedule: every 5s\n  lease: 0s", `line 4: lease: "0s" must be a duration`},
		{"jobs:\n- name: a\n  schedule: every 5s\n  lease: disabled", `line 4: lease: "disabled" must be a duration`},
		{"jobs:\n- name: a\n  schedule: every 5s\n  jitter: 0", "or disabled"},
		{"jobs:\n- name: a\n  schedule: every 5s\n  overlap: maybe", `line 4: overlap: `},
		{"jobs:\n- name: a\n  schedule: every 5s\n  max-attempts: -1", "a whole number from 1"},
		{"jobs:\n- name: a\n  schedule: every 5s\n  maxlate: 1m", `did you mean "max-late"?`},
		{"jobs:\n- name: a\n  schedule: every 5s\n- name: a\n  schedule: every 6s", `line 4: job "a" is there already, in line 2`},
		{"defaults:\n  name: x\njobs:\n- name: a\n  schedule: every 5s", `line 2: unknown key "name"`},
		{"jobs: [", "yaml"},
		{strings.Repeat("#", maxSize+1), "larger than 4 MB"},
	} {
		_, err := Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80q: got %v; want %q", c.text, err, c.want)
		}
	}
	// Every job's fault is told, not only the first's.
	_, err := Read(strings.NewReader("jobs:\n- name: a\n- name: b\n"))
	if err == nil || !strings.Contains(err.Error(), `job "a"`) || !strings.Contains(err.Error(), `job "b"`) {
		t.Errorf("got %v; want the faults of both jobs", err)
	}
}

// What is refused here is what Add refuses, in the same words.
func TestJudgeAgreesWithAdd(t *testing.T) {
	jobs, err := Read(strings.NewReader(`
jobs:
  - {name: safe, schedule: every 5m, max-late: 30s}
  - {name: often, schedule: every 1s, max-late: 31s}
  - {name: late, schedule: every 5m, max-late: 5m, heartbeat: 20s}
`))
	if err != nil {
		t.Fatal(err)
	}
	d := store.Description{Kind: store.KindClaimOnly, Memory: store.Memory{Window: 5 * time.Minute, Runs: 50}}
	got := Judge(jobs, d)
	if !got[0].OK() || got[0].Need != 52*time.Second {
		t.Errorf("safe: %+v", got[0])
	}
	for i, want := range map[int]string{
		1: "runs remembered × smallest gap > jitter + max late + 20 s: 50 runs × 1s = 50s, needed are more than 51.25s",
		2: "jitter + max late + 20 s < the store's memory: 2s + 5m0s + 20s = 5m22s, the store remembers 5m0s",
	} {
		if len(got[i].Faults) != 1 || !strings.HasPrefix(got[i].Faults[0].Error(), want) {
			t.Errorf("%s: %v; want %q", got[i].Job.Name, got[i].Faults, want)
		}
	}
	for _, j := range got {
		_, _, err := core.CheckTiming(j.Job.Timing, j.Gap, d)
		for _, f := range j.Faults {
			if !errors.Is(err, f) && !strings.Contains(err.Error(), f.Error()) {
				t.Errorf("%s: core says %v, not %v", j.Job.Name, err, f)
			}
		}
		if (err == nil) != j.OK() {
			t.Errorf("%s: core says %v, Judge says OK %v", j.Job.Name, err, j.OK())
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add("jobs:\n- name: a\n  schedule: every 5s\n  <<: *x")
	f.Add("a: &a [*a]\njobs: *a")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := Read(strings.NewReader(text))
		if err == nil && len(jobs) == 0 {
			t.Error("no job and no error")
		}
		for _, j := range jobs {
			if j.Schedule == nil && err == nil {
				t.Error("a job without schedule")
			}
		}
	})
}
