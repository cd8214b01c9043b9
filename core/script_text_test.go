package core

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// say adds an action to what the machine gave, with the time on the wall.
func (s *script) say(format string, args ...any) {
	s.out = append(s.out, "> "+s.clock()+" "+fmt.Sprintf(format, args...))
}

func (s *script) clock() string { return s.withDate(s.time().UTC(), "15:04:05.000") }

// slot spells a slot by its time, with the date if it is not the script's.
func (s *script) slot(ms int64) string { return s.withDate(store.Time(ms), "15:04:05.999") }

func (s *script) withDate(t time.Time, layout string) string {
	if t.Format(time.DateOnly) != s.day {
		layout = time.DateOnly + "T" + layout
	}
	return t.Format(layout)
}

func quoted(key, text string) string {
	if text == "" {
		return ""
	}
	text, _, more := strings.Cut(text, "\n") // of a panic, without the stack
	if more {
		text += " …"
	}
	return fmt.Sprintf("%s%q", key, text)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return quoted(" error=", err.Error())
}

func causeText(err error) string {
	for name, cause := range map[string]error{"lost": ErrLost, "unconfirmed": ErrUnconfirmed, "timeout": ErrTimeout, "stopped": ErrStopped} {
		if errors.Is(err, cause) {
			return name
		}
	}
	return fmt.Sprint(err)
}

func flagText(set bool, name string) string {
	if set {
		return " " + name
	}
	return ""
}

func (s *script) eventText(e Event) string {
	of := func(what string, r Run) string {
		return fmt.Sprintf("%s %s %s attempt=%d", what, r.Job, s.slot(r.Slot), r.Attempt)
	}
	switch e := e.(type) {
	case Started:
		return of("started", e.Run)
	case Succeeded:
		return of("succeeded", e.Run) + fmt.Sprintf(" took=%v", e.Took) + flagText(e.Unproven, "unproven")
	case Failed:
		return of("failed", e.Run) + fmt.Sprintf(" took=%v", e.Took) + errText(e.Err) + flagText(e.Unproven, "unproven")
	case Interrupted:
		return of("interrupted", e.Run) + fmt.Sprintf(" took=%v", e.Took) + flagText(e.HandedOver, "handed-over") + errText(e.Err) + flagText(e.Unproven, "unproven")
	case Lost:
		return of("lost", e.Run) + " during=" + e.During
	case Unconfirmed:
		return of("unconfirmed", e.Run) + flagText(e.Cancelled, "cancelled") + errText(e.Err)
	case Confirmed:
		return of("confirmed", e.Run)
	case Unrecorded:
		return of("unrecorded", e.Run) + fmt.Sprintf(" outcome=%v", e.Outcome) + errText(e.Err)
	case Stuck:
		return of("stuck", e.Run) + " cause=" + causeText(e.Cause)
	case Backup:
		return fmt.Sprintf("backup %s %s holder=%s left=%v", e.Job, s.slot(e.Slot), e.Holder, e.Left)
	case Skipped:
		return s.skippedText(e)
	case ClockJump:
		return fmt.Sprintf("clock-jump by=%v", e.By)
	case ClockSkew:
		return fmt.Sprintf("clock-skew by=%v", e.By) + flagText(e.Severe, "severe")
	case Paused:
		return fmt.Sprintf("paused for=%v lease=%v", e.For, e.Lease)
	case StoreError:
		return "store-error during=" + e.During + errText(e.Err)
	case StoreBack:
		return fmt.Sprintf("store-back down=%v", e.Down)
	case ScheduleMismatch:
		return fmt.Sprintf("schedule-mismatch %s ours=%q theirs=%q", e.Job, e.Ours, e.Theirs)
	case ScheduleBroken:
		return fmt.Sprintf("schedule-broken %s panic=%q", e.Job, e.Panic)
	}
	return fmt.Sprintf("%T", e)
}

func (s *script) skippedText(e Skipped) string {
	text := fmt.Sprintf("skipped %s %s", e.Job, s.slot(e.Slot))
	if e.Last != e.Slot {
		text += " to " + s.slot(e.Last)
	}
	text += fmt.Sprintf(": %s", e.Reason)
	if e.By != 0 {
		text += fmt.Sprintf(" by=%v", e.By)
	}
	if e.Holder != "" {
		text += " holder=" + e.Holder
	}
	return text + errText(e.Err)
}
