package core

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/anarchon-go/anarchon/core/store"
)

// OnUnconfirmed says what happens to a running handler when its lease could not
// be renewed in time because the store did not answer.
type OnUnconfirmed uint8

const (
	// Continue lets the handler go on; an [Unconfirmed] event says so. Somebody
	// else may take the run over meanwhile. This is the default.
	Continue OnUnconfirmed = iota
	// Cancel cancels the handler's context with [ErrUnconfirmed].
	Cancel
)

// Job is what an instance runs, when and how. All instances must add the same
// jobs; only the handlers run in one place at a time.
type Job struct {
	Name     string   // 1 to 200 bytes of UTF-8; the key in the store: a renamed job is another job
	Schedule Schedule // when it is due; see [Every] and package core/cron
	Handler  Handler
	// Timeout bounds a handler's run; its context is then cancelled with
	// [ErrTimeout] and the run is recorded failed. 0 means none.
	Timeout       time.Duration
	OnUnconfirmed OnUnconfirmed
	Timing        Timing // zero fields take the scheduler's, see [Options]
}

// check returns the job with all defaults filled in, or every fault at once.
func (j Job) check(defaults Timing, d store.Description) (Job, []string, error) {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := store.CheckName("job name", j.Name); err != nil {
		errs = append(errs, err)
	}
	if j.Handler == nil {
		fault("handler is nil; give the job a function to run")
	}
	if j.Timeout < 0 {
		fault("timeout is %v; it must be positive, or 0 for none", j.Timeout)
	}
	if j.OnUnconfirmed > Cancel {
		fault("on unconfirmed is %d; it must be core.Continue or core.Cancel", j.OnUnconfirmed)
	}
	var warnings []string
	var gap time.Duration
	var err error
	if panicked := guarded(func() { gap, err = checkSchedule(j.Schedule) }); panicked != "" {
		err = fmt.Errorf("schedule %T panicked: %s; is it nil, and was the error of cron.Parse looked at?", j.Schedule, panicked)
	}
	if err != nil {
		errs = append(errs, err)
	} else {
		full, warns, err := CheckTiming(j.Timing.or(defaults), gap, d)
		if err != nil {
			errs = append(errs, err)
		}
		j.Timing, warnings = full, warns
	}
	if len(errs) > 0 {
		return j, nil, fmt.Errorf("core: job %q cannot be added:\n%w", clipName(j.Name), errors.Join(errs...))
	}
	return j, warnings, nil
}

// checkSchedule returns the smallest gap of a schedule that can be used. A
// schedule is foreign code: it may answer anything.
func checkSchedule(s Schedule) (time.Duration, error) {
	if s == nil {
		return 0, errors.New("schedule is nil; use core.Every or cron.Parse")
	}
	if e, ok := s.(every); ok && (time.Duration(e) < time.Millisecond || time.Duration(e)%time.Millisecond != 0) {
		return 0, fmt.Errorf("schedule is every %v; it must be a whole number of milliseconds, at least 1 s", time.Duration(e))
	}
	gap := s.MinGap()
	if gap <= 0 {
		return 0, fmt.Errorf("schedule %v says that its smallest gap is %v; it must be positive", s, gap)
	}
	if fp := fingerprint(s); len(fp) > store.MaxFingerprint || !utf8.ValidString(fp) {
		return 0, fmt.Errorf("schedule %v has the fingerprint %.100q; it must be at most %d bytes of UTF-8", s, fp, store.MaxFingerprint)
	}
	return gap, nil
}

// fingerprint identifies what decides the slots. A schedule without one of its
// own is identified by its text, hashed if it is long.
func fingerprint(s Schedule) string {
	if f, ok := s.(Fingerprinter); ok {
		return f.Fingerprint()
	}
	text := s.String()
	if len(text) <= store.MaxFingerprint {
		return text
	}
	return fmt.Sprintf("%s#%016x", cut(text, 40), fnv64(text))
}

func clipName(s string) string {
	if c := cut(s, 60); c != s {
		return c + "…"
	}
	return s
}

// cut returns at most n bytes of s, not splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// fnv64 is FNV-1a.
func fnv64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
