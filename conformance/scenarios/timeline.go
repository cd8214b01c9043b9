package scenarios

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// moment is a line of a timeline.
type moment struct {
	at   time.Time
	lane string
	text string
}

// Timeline writes a record as text: time, who, and what was said or done. Renewals
// that were accepted are left out.
func (r *Record) Timeline(w io.Writer) {
	for _, m := range r.moments() {
		fmt.Fprintf(w, "%8s  %-5s  %s\n", r.since(m.at), m.lane, m.text)
	}
}

func (r *Record) moments() []moment {
	var all []moment
	for _, a := range r.Acts {
		all = append(all, moment{a.At, a.Lane, actText(a)})
	}
	jobs := len(r.History)
	for _, l := range r.Lines {
		if text := r.lineText(l); text != "" {
			if jobs > 1 && l.Job != "" {
				text = l.Job + ": " + text
			}
			all = append(all, moment{l.At, l.Instance, text})
		}
	}
	all = slices.DeleteFunc(all, func(m moment) bool { return m.at.After(r.Done) })
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	return all
}

func actText(a Act) string {
	switch a.What {
	case "start":
		return "is started"
	case "ended":
		return "its process has ended"
	case "kill -9":
		return "KILLED with kill -9"
	case "kill -9 plugin":
		return "its plugin is KILLED with kill -9"
	case "SIGSTOP":
		return "FROZEN with SIGSTOP"
	case "SIGCONT":
		return "THAWED with SIGCONT"
	case "SIGTERM":
		return "STOPPED with SIGTERM"
	case "cut":
		return "CUT OFF from the store"
	case "mended":
		return "its link is mended"
	case "down":
		return "KILLED with kill -9"
	case "up":
		return "serves again"
	}
	return a.What
}

// lineText says an instance's line in words, "" if it is not worth a line.
func (r *Record) lineText(l hostprog.Line) string {
	slot := r.slot(l.Slot)
	switch l.What {
	case "ready":
		return "is up"
	case "claim":
		if l.Error != "" {
			return fmt.Sprintf("claims %s: no answer", slot)
		}
		text := fmt.Sprintf("claims %s: %s", slot, l.Answer)
		if l.Answer == "won" {
			text += fmt.Sprintf(", attempt %d (%s)", l.Attempt, l.Reason)
		}
		return text
	case "heartbeat":
		if l.Answer == "lost" {
			return "heartbeat for " + slot + ": refused"
		}
		if l.Error != "" {
			return "heartbeat for " + slot + ": no answer"
		}
	case "finish":
		text := fmt.Sprintf("finishes %s as %s: %s", slot, l.Reason, l.Answer)
		if l.Error != "" {
			text = fmt.Sprintf("finishes %s as %s: no answer", slot, l.Reason)
		}
		return text
	case "started":
		return fmt.Sprintf("RUNS %s, attempt %d", slot, l.Attempt)
	case "cancelled":
		cause, _, _ := strings.Cut(l.Error, ":")
		return fmt.Sprintf("the handler of %s is cancelled: %s", slot, cause)
	case "lost":
		return "has LOST " + slot
	case "interrupted":
		if l.Handed {
			return "has handed " + slot + " over"
		}
		return slot + " is interrupted"
	case "unconfirmed", "confirmed", "unrecorded", "stuck":
		return slot + " is " + l.What
	case "skipped":
		return fmt.Sprintf("skips %s: %s", slot, l.Reason)
	case "backup":
		return fmt.Sprintf("is backup of %s for %s, lease left %.1f s", laneOf(l.Holder), slot, l.Left.Seconds())
	case "plugin":
		if l.PID == 0 {
			return "its plugin is down"
		}
	case "storeerror":
		return "the store does not answer"
	case "storeback":
		return "the store answers again"
	case "clockskew":
		return fmt.Sprintf("the store's clock differs by %+.1f s", l.Left.Seconds())
	}
	return ""
}
