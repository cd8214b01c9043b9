package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// of names the job of expectations, for a scenario that has several.
func of(job string, all ...Expectation) []Expectation {
	for i := range all {
		all[i].Says = job + ": " + all[i].Says
	}
	return all
}

// history: the store remembers these attempts of a job, and no others.
func history(job string, rows ...string) Expectation {
	says := "history: " + strings.Join(rows, "; ")
	if len(rows) == 0 {
		says = "history: nothing"
	}
	return Expectation{says, func(r *Record) (string, error) {
		if got := r.rows(job); !slices.Equal(got, rows) {
			return "", fmt.Errorf("the history of %q is\n\t%s\nwant\n\t%s", job, strings.Join(got, "\n\t"), strings.Join(rows, "\n\t"))
		}
		return "", nil
	}}
}

// logMatches: what instances and store say of who ran what is the same.
func logMatches(job string) Expectation {
	return Expectation{"each attempt in the history was run by the instance that it names, and by no other", func(r *Record) (string, error) {
		type key struct {
			slot    int64
			attempt int
		}
		ran := map[key]string{}
		for _, s := range r.runs(job) {
			k := key{s.Slot, s.Attempt}
			if other, twice := ran[k]; twice {
				return "", fmt.Errorf("attempt %d of %s was run by %s and by %s", s.Attempt, r.slot(s.Slot), other, s.Instance)
			}
			ran[k] = s.Instance
		}
		for _, a := range r.History[job] {
			k := key{a.Slot, a.Attempt}
			name, _, _ := strings.Cut(a.Instance, "-")
			if ran[k] != name {
				return "", fmt.Errorf("history says that %s had attempt %d of %s, the instances say %q", name, a.Attempt, r.slot(a.Slot), ran[k])
			}
			delete(ran, k)
		}
		for k, name := range ran {
			return "", fmt.Errorf("%s ran attempt %d of %s, which history does not know", name, k.attempt, r.slot(k.slot))
		}
		return "", nil
	}}
}

// startedWithin: an attempt begins no later than so long after an act.
func startedWithin(job string, attempt int, act string, bound func(Timing) time.Duration, rule string) Expectation {
	return Expectation{fmt.Sprintf("attempt %d begins within %s of the %s", attempt, rule, act), func(r *Record) (string, error) {
		a := r.act(act, 1)
		for _, s := range r.of("started", job) {
			if s.Attempt == attempt && !a.At.IsZero() {
				took := s.At.Sub(a.At)
				return within(took, bound(r.Timing), r.Timing.Margin)
			}
		}
		return "", fmt.Errorf("no attempt %d was started after a %s", attempt, act)
	}}
}

// within judges an upper bound, which has a margin.
func within(took, bound, margin time.Duration) (string, error) {
	figure := fmt.Sprintf("%.2f s, bound %v", took.Seconds(), bound)
	if took > bound+margin {
		return figure, fmt.Errorf("it took %.2f s; the bound is %v, and the margin %v", took.Seconds(), bound, margin)
	}
	return figure, nil
}

// neverEarly: a run is taken over only when the lease of the attempt before it is
// over, counted from the last accepted renewal, or was given back.
func neverEarly(job string) Expectation {
	return Expectation{"no attempt was granted while the lease of the one before it lasted", func(r *Record) (string, error) {
		return "", r.checkNeverEarly(r.holds())
	}}
}

// clockGrain is what rounding to whole milliseconds on both sides may hide.
const clockGrain = 2 * time.Millisecond

// checkNeverEarly holds the attempts of each run against the one before.
func (r *Record) checkNeverEarly(holds []hold) error {
	type key struct {
		job  string
		slot int64
	}
	last := map[key]hold{}
	for _, h := range byToken(holds) {
		k := key{h.Job, h.Slot}
		if before, ok := last[k]; ok && before.Token < h.Token && !before.released && h.from.Before(before.to.Add(-clockGrain)) {
			return fmt.Errorf("%s: attempt %d of %s was granted to %s %v before the lease of attempt %d was over", h.Job, h.Attempt, r.slot(h.Slot), h.Instance, before.to.Sub(h.from), before.Attempt)
		}
		last[k] = h
	}
	return nil
}

// oneAtATime: no two live handlers of the job, unless one was told that it is lost.
func oneAtATime(job string) Expectation {
	return Expectation{"one run at a time", func(r *Record) (string, error) {
		if n, a, b := r.overlapping(job); n > 1 {
			return "", fmt.Errorf("%s (%s) and %s (%s) ran at once", r.slot(a.Slot), a.Instance, r.slot(b.Slot), b.Instance)
		}
		return "", nil
	}}
}

// atOnce: so many handlers of the job ran side by side.
func atOnce(job string, least int) Expectation {
	return Expectation{fmt.Sprintf("at least %d copies run at once", least), func(r *Record) (string, error) {
		n, _, _ := r.overlapping(job)
		figure := fmt.Sprintf("%d at once", n)
		if n < least {
			return figure, fmt.Errorf("at most %d ran at once", n)
		}
		return figure, nil
	}}
}

// overlapping is the largest number of handlers that ran at once, and two of them.
func (r *Record) overlapping(job string) (most int, a, b run) {
	runs := r.runs(job)
	for i, s := range runs {
		n := 1
		for j, o := range runs {
			if i != j && !o.At.After(s.At) && (o.end.IsZero() || o.end.After(s.At)) {
				if n++; n > most {
					a, b = o, s
				}
			}
		}
		most = max(most, n)
	}
	return most, a, b
}

// skips: a slot, in seconds from time zero, is skipped by name by an instance.
func skips(job, slot, reason string) Expectation {
	return Expectation{fmt.Sprintf("%s is skipped: %s", slot, reason), func(r *Record) (string, error) {
		n := 0
		for _, l := range r.of("skipped", job) {
			if r.slot(l.Slot) == slot && l.Reason == reason {
				n++
			}
		}
		if n == 0 {
			return "", fmt.Errorf("no instance said that it skips %s: %s", slot, reason)
		}
		return fmt.Sprintf("by %d instances", n), nil
	}}
}

// tells: an instance of the role says so about the job.
func tells(role, what, job, says string, match func(hostprog.Line) bool) Expectation {
	return Expectation{says, func(r *Record) (string, error) {
		for _, l := range r.of(what, job) {
			if (role == "" || l.Instance == r.Roles[role]) && (match == nil || match(l)) {
				return "at " + r.since(l.At), nil
			}
		}
		return "", fmt.Errorf("%s %s never said %q about %q", role, r.Roles[role], what, job)
	}}
}

// silent: nobody says so about the job.
func silent(what, job, says string) Expectation {
	return Expectation{says, func(r *Record) (string, error) {
		if said := r.of(what, job); len(said) > 0 {
			return "", fmt.Errorf("%s said %q at %s", said[0].Instance, what, r.since(said[0].At))
		}
		return "", nil
	}}
}

// probed: what the script asked the store itself was answered so.
func probed(name, want, says string) Expectation {
	return Expectation{says, func(r *Record) (string, error) {
		if got := r.Probes[name]; got != want {
			return "", fmt.Errorf("the store said %q; want %q", got, want)
		}
		return "", nil
	}}
}

// nothingOpen: the store knows no unfinished run.
func nothingOpen() Expectation {
	return Expectation{"at the end nothing is running", func(r *Record) (string, error) {
		if len(r.Open) > 0 {
			return "", fmt.Errorf("the store says that these are unfinished: %+v", r.Open)
		}
		return "", nil
	}}
}

// starts: so many executions began, on so many instances.
func starts(job string, n int) Expectation {
	return Expectation{fmt.Sprintf("it is started %d times", n), func(r *Record) (string, error) {
		if got := len(r.of("started", job)); got != n {
			return "", fmt.Errorf("%q was started %d times", job, got)
		}
		return "", nil
	}}
}

// watchedAfterRestart: an instance that was started after all were killed became a
// backup, before the run was taken over.
func watchedAfterRestart(r *Record) (string, error) {
	killed := r.act("kill -9", 1).At
	for _, l := range r.of("backup", job) {
		if l.At.After(killed) && strings.Contains(l.Instance, ".") {
			return "at " + r.since(l.At), nil
		}
	}
	return "", fmt.Errorf("no instance became a backup after %s", r.since(killed))
}
