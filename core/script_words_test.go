package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// do understands one line of a script, with its indented lines.
func (s *script) do(line string, more []string) error {
	w, err := splitWords(line)
	if err != nil {
		return err
	}
	setup := map[string]func(*words) error{
		"machine": s.doMachine, "job": s.doJob, "start": s.doStart,
		"store-clock": s.doStoreClock, "nothing-unfinished": s.flag(&s.noRecalls, true), "renew-all": s.flag(&s.renewAll, true),
		"store-down": s.flag(&s.down, true), "store-locked": s.flag(&s.locked, true), "store-up": s.flag(&s.down, false), "store-unlocked": s.flag(&s.locked, false),
	}
	running := map[string]func(*words) error{
		"wait": s.doWait, "until": s.doUntil, "wall": s.doWall, "suspend": s.doSuspend, "freeze": s.doFreeze,
		"claim": s.doClaimAnswer, "beat": s.doBeatAnswer, "finish": s.doFinishAnswer, "handler": s.doHandler,
		"recall": func(w *words) error { return s.doRecallAnswer(w, more) }, "history": func(w *words) error { return s.doHistoryAnswer(w, more) },
		"add": s.doJob, "remove": s.doRemove, "stop": s.doStop, "leave": s.doLeave, "health": s.doHealth,
	}
	verb := w.next()
	do, known := setup[verb]
	if !known {
		if do, known = running[verb]; !known {
			return fmt.Errorf("unknown word %q", verb)
		}
		if s.m == nil {
			return fmt.Errorf("%q before start", verb)
		}
	}
	if len(more) > 0 && verb != "recall" && verb != "history" {
		return fmt.Errorf("%q has no indented lines", verb)
	}
	if err := do(w); err != nil {
		return err
	}
	return w.rest()
}

func (s *script) doMachine(w *words) error {
	switch kind := w.option("kind", "lease"); kind {
	case "lease":
		s.kind = store.KindLease
	case "claim-only":
		s.kind = store.KindClaimOnly
	default:
		return fmt.Errorf("unknown kind %q", kind)
	}
	s.maxRuns, s.grace, s.seed = w.int("maxruns"), w.duration("grace"), uint64(w.int("seed"))
	return nil
}

func (s *script) doJob(w *words) error {
	j := Job{Name: w.next(), Handler: func(context.Context, Run) error { return nil }, Timeout: w.duration("timeout")}
	if every := w.duration("every"); every != 0 {
		j.Schedule = Every(every)
	} else {
		list := listed{gap: w.duration("gap")}
		if from := w.option("breaks", ""); from != "" {
			ms, err := s.parseTime(from)
			if err != nil {
				return err
			}
			list.breaks = ms
		}
		for _, at := range strings.Split(w.option("at", ""), ",") {
			ms, err := s.parseTime(at)
			if err != nil {
				return err
			}
			list.slots = append(list.slots, ms)
		}
		j.Schedule = list
	}
	switch c := w.option("unconfirmed", "continue"); c {
	case "continue":
	case "cancel":
		j.OnUnconfirmed = Cancel
	default:
		return fmt.Errorf("unconfirmed is %q", c)
	}
	t := &j.Timing
	t.Jitter, t.CatchUp = w.disabled("jitter"), w.disabled("catchup")
	t.MaxLate, t.Lease, t.Heartbeat, t.StopTimeout = w.duration("maxlate"), w.duration("lease"), w.duration("heartbeat"), w.duration("stoptimeout")
	t.MaxAttempts = w.int("attempts")
	if err := t.Overlap.UnmarshalText([]byte(w.option("overlap", "skip"))); err != nil {
		return err
	}
	full, _, err := j.check(Timing{}, store.Description{Kind: s.kind, Memory: store.Memory{Forever: true}})
	if err != nil {
		return err
	}
	if s.m == nil {
		s.jobs = append(s.jobs, full)
		return nil
	}
	s.m.add(s.instant, full)
	s.turn()
	return nil
}

// listed is a schedule with the slots of a list.
type listed struct {
	slots  []int64
	gap    time.Duration
	breaks int64 // from then on Next panics; 0: never
}

func (l listed) Next(after time.Time) time.Time {
	if l.breaks != 0 && after.UnixMilli() >= l.breaks {
		panic("no such slot")
	}
	for _, ms := range l.slots {
		if ms > after.UnixMilli() {
			return store.Time(ms)
		}
	}
	return time.Time{}
}

func (l listed) Prev(at time.Time) time.Time {
	for _, ms := range slices.Backward(l.slots) {
		if ms <= at.UnixMilli() {
			return store.Time(ms)
		}
	}
	return time.Time{}
}

func (l listed) MinGap() time.Duration { return l.gap }
func (l listed) String() string        { return fmt.Sprint("at ", l.slots) }

func (s *script) doStart(w *words) error {
	at, err := time.Parse("2006-01-02T15:04:05.999Z07:00", w.next()+"Z")
	if err != nil {
		return err
	}
	if s.m != nil {
		return errors.New("started already")
	}
	s.begin(at)
	return nil
}

func (s *script) flag(f *bool, to bool) func(*words) error {
	return func(*words) error {
		*f = to
		return nil
	}
}

// doStoreClock sets the store's clock, against this instance's.
func (s *script) doStoreClock(w *words) error {
	word := w.next()
	if s.clockless = word == "none"; s.clockless {
		return nil
	}
	d, err := time.ParseDuration(word)
	s.skew = d
	return err
}

func (s *script) doWait(w *words) error { return s.wait(w.nextDuration()) }

func (s *script) doUntil(w *words) error {
	ms, err := s.parseTime(w.next())
	if err != nil {
		return err
	}
	d := time.Duration(wallMs(ms) - s.wall)
	if d < 0 {
		return errors.New("this is past")
	}
	return s.wait(d)
}

// doWall steps the wall clock. Nobody notices before the timer fires.
func (s *script) doWall(w *words) error {
	s.wall += int64(w.nextDuration())
	return nil
}

// doSuspend suspends the machine: the monotonic clock stands still.
func (s *script) doSuspend(w *words) error {
	s.wall += int64(w.nextDuration())
	s.turn()
	return nil
}

// doFreeze stops the process: both clocks go on, no timer fires.
func (s *script) doFreeze(w *words) error {
	d := int64(w.nextDuration())
	s.wall, s.mono = s.wall+d, s.mono+d
	s.turn()
	return nil
}

func (s *script) doRemove(w *words) error {
	s.m.remove(s.instant, w.next())
	s.turn()
	return nil
}

func (s *script) doStop(*words) error {
	s.m.stop(s.instant)
	s.turn()
	return nil
}

// doHealth shows what Healthy says.
func (s *script) doHealth(*words) error {
	s.say("health: %v", s.m.health.err())
	return nil
}

func (s *script) doLeave(w *words) error {
	what := w.next()
	c, err := s.find(what, w)
	if err == nil {
		c.left = true
	}
	return err
}

// find returns the open call that a line names; take also closes it.
func (s *script) find(what string, w *words) (*openCall, error) {
	var job string
	var slot int64
	if what != "recall" {
		job = w.next()
	}
	if what != "recall" && what != "history" {
		var err error
		if slot, err = s.parseTime(w.next()); err != nil {
			return nil, err
		}
	}
	attempt := w.int("of")
	var found []*openCall
	for _, c := range s.open {
		switch {
		case c.what != what || c.left:
		case what == "recall", what == "history" && c.job.spec.Name == job,
			c.run != nil && c.run.job.spec.Name == job && c.run.slot == slot && (attempt == 0 || attempt == c.run.number):
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d open calls are meant; open are %v", len(found), s.open)
	}
	return found[0], nil
}

func (s *script) take(what string, w *words) (*openCall, error) {
	c, err := s.find(what, w)
	if err == nil {
		s.open = slices.DeleteFunc(s.open, func(o *openCall) bool { return o == c })
	}
	return c, err
}

// parseTime reads a time of the script's day, or one with a date.
func (s *script) parseTime(word string) (int64, error) {
	if !strings.Contains(word, "T") {
		word = s.day + "T" + word
	}
	t, err := time.Parse("2006-01-02T15:04:05.999", word)
	return t.UnixMilli(), err
}

// words are the rest of a line: plain ones in order, and key=value ones.
type words struct {
	plain   []string
	options map[string]string
	err     error
}

func splitWords(line string) (*words, error) {
	w := &words{options: map[string]string{}}
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			text, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			line = line[len(text):]
			text, _ = strconv.Unquote(text)
			w.plain = append(w.plain, text)
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		line = rest
		if key, value, ok := strings.Cut(word, "="); ok {
			w.options[key] = value
		} else {
			w.plain = append(w.plain, word)
		}
	}
	return w, nil
}

func (w *words) next() string {
	if len(w.plain) == 0 {
		w.fail(errors.New("a word is missing"))
		return ""
	}
	word := w.plain[0]
	w.plain = w.plain[1:]
	return word
}

func (w *words) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *words) nextDuration() time.Duration {
	d, err := time.ParseDuration(w.next())
	if err != nil {
		w.fail(err)
	}
	return d
}

func (w *words) option(key, def string) string {
	value, ok := w.options[key]
	if !ok {
		return def
	}
	delete(w.options, key)
	return value
}

func (w *words) duration(key string) time.Duration {
	d, err := time.ParseDuration(w.option(key, "0s"))
	if err != nil {
		w.fail(err)
	}
	return d
}

// disabled reads a duration where 0s or off turns something off.
func (w *words) disabled(key string) time.Duration {
	switch value := w.option(key, ""); value {
	case "":
		return 0
	case "off", "0s":
		return Disabled
	default:
		d, err := time.ParseDuration(value)
		if err != nil {
			w.fail(err)
		}
		return d
	}
}

func (w *words) int(key string) int {
	n, err := strconv.Atoi(w.option(key, "0"))
	if err != nil {
		w.fail(err)
	}
	return n
}

// rest complains about what was not understood.
func (w *words) rest() error {
	switch {
	case w.err != nil:
		return w.err
	case len(w.plain) > 0:
		return fmt.Errorf("left over: %q", w.plain)
	case len(w.options) > 0:
		return fmt.Errorf("unknown options: %q", w.options)
	}
	return nil
}
