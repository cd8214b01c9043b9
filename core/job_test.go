package core

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func nop(context.Context, Run) error { return nil }

// odd is a schedule that answers what it is told to.
type odd struct {
	gap         time.Duration
	text        string
	next        func(time.Time) time.Time
	fingerprint string
}

func (o odd) Next(t time.Time) time.Time {
	if o.next == nil {
		return time.Time{}
	}
	return o.next(t)
}
func (o odd) Prev(time.Time) time.Time { return time.Time{} }
func (o odd) MinGap() time.Duration    { return o.gap }
func (o odd) String() string           { return o.text }

type fingerprinted struct{ odd }

func (f fingerprinted) Fingerprint() string { return f.fingerprint }

func TestJobFaults(t *testing.T) {
	good := Job{Name: "a", Schedule: Every(time.Minute), Handler: nop}
	with := func(change func(*Job)) Job { j := good; change(&j); return j }
	for _, tt := range []struct {
		name string
		job  Job
		want []string // all in the error; none: it is fine
	}{
		{"good", good, nil},
		{"name of 200 bytes", with(func(j *Job) { j.Name = strings.Repeat("x", 200) }), nil},
		{"name with NUL and emoji", with(func(j *Job) { j.Name = "night\x00ly 🌙" }), nil},
		{"name of a space", with(func(j *Job) { j.Name = " " }), nil},
		{"no name", with(func(j *Job) { j.Name = "" }), []string{"job name", "empty", "1 to 200 bytes"}},
		{"name of 201 bytes", with(func(j *Job) { j.Name = strings.Repeat("x", 201) }), []string{"job name", "201 bytes"}},
		{"name not UTF-8", with(func(j *Job) { j.Name = "a\xff" }), []string{"job name", "not UTF-8"}},
		{"no handler", with(func(j *Job) { j.Handler = nil }), []string{"handler is nil"}},
		{"no schedule", with(func(j *Job) { j.Schedule = nil }), []string{"schedule is nil", "core.Every"}},
		{"every 0", with(func(j *Job) { j.Schedule = Every(0) }), []string{"every 0s", "at least 1 s"}},
		{"every -1 s", with(func(j *Job) { j.Schedule = Every(-time.Second) }), []string{"every -1s"}},
		{"every 1.0005 s", with(func(j *Job) { j.Schedule = Every(1000500 * time.Microsecond) }), []string{"whole number of milliseconds"}},
		{"every 999 ms", with(func(j *Job) { j.Schedule = Every(999 * time.Millisecond) }), []string{"smallest gap between slots >= 1 s", "999ms"}},
		{"gap 0", with(func(j *Job) { j.Schedule = odd{text: "never"} }), []string{"never", "smallest gap is 0s"}},
		{"fingerprint too long", with(func(j *Job) { j.Schedule = fingerprinted{odd{gap: time.Minute, fingerprint: strings.Repeat("x", 65)}} }), []string{"fingerprint", "64 bytes"}},
		{"fingerprint not UTF-8", with(func(j *Job) { j.Schedule = odd{gap: time.Minute, text: "\xff"} }), []string{"fingerprint", "UTF-8"}},
		{"long text is hashed", with(func(j *Job) { j.Schedule = odd{gap: time.Minute, text: strings.Repeat("é", 50)} }), nil},
		{"timeout negative", with(func(j *Job) { j.Timeout = -time.Second }), []string{"timeout is -1s"}},
		{"on unconfirmed", with(func(j *Job) { j.OnUnconfirmed = 2 }), []string{"on unconfirmed is 2"}},
		{"all at once", Job{Timeout: -1, OnUnconfirmed: 7}, []string{"job name", "handler is nil", "timeout", "on unconfirmed", "schedule is nil"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := tt.job.check(Timing{}, leaseStore)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("error is %v", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error lacks %q: %v", w, err)
				}
			}
		})
	}
}

// TestJobFaultsAreTyped: a program can ask which rule was broken.
func TestJobFaultsAreTyped(t *testing.T) {
	_, _, err := Job{Schedule: Every(time.Minute), Handler: nop, Timing: Timing{Jitter: time.Hour}}.check(Timing{}, leaseStore)
	var rule *RuleError
	if !errors.As(err, &rule) || !strings.Contains(rule.Rule, "jitter") {
		t.Errorf("no RuleError about jitter in %v", err)
	}
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("the empty name is not an ErrInvalid in %v", err)
	}
}

func TestFingerprint(t *testing.T) {
	long := strings.Repeat("0,1,2,3,", 20)
	hash := fnv.New64a()
	hash.Write([]byte(long))
	for _, tt := range []struct {
		name string
		s    Schedule
		want string
	}{
		{"its own", fingerprinted{odd{text: "text", fingerprint: "own"}}, "own"},
		{"its text", odd{text: "every 10s"}, "every 10s"},
		{"64 bytes", odd{text: long[:64]}, long[:64]},
		{"longer", odd{text: long}, fmt.Sprintf("%s#%016x", long[:40], hash.Sum64())},
	} {
		if got := fingerprint(tt.s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if a, b := fingerprint(odd{text: long + "a"}), fingerprint(odd{text: long + "b"}); a == b || len(a) > store.MaxFingerprint {
		t.Errorf("fingerprints of two long texts: %q and %q", a, b)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"🌙", 3, ""}, {"🌙x", 4, "🌙"}, {"abc", 0, ""},
	} {
		if got := cut(tt.text, tt.n); got != tt.want {
			t.Errorf("cut(%q, %d) is %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
