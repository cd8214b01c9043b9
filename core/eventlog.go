package core

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// logEvent writes an event as a line: what is lost or odd as a warning, what
// failed as an error.
func logEvent(log *slog.Logger, e Event) {
	level, msg, attrs := line(e)
	log.LogAttrs(context.Background(), level, msg, attrs...)
}

func line(e Event) (slog.Level, string, []slog.Attr) {
	switch e := e.(type) {
	case Started:
		return slog.LevelInfo, "run started", runAttrs(e.Run)
	case Succeeded:
		return slog.LevelInfo, "run succeeded", runAttrs(e.Run, took(e.Took), unproven(e.Unproven))
	case Failed:
		return slog.LevelError, "run failed", runAttrs(e.Run, took(e.Took), errAttr(e.Err), unproven(e.Unproven))
	case Interrupted:
		return slog.LevelWarn, "run interrupted", runAttrs(e.Run, slog.Bool("handed_over", e.HandedOver), took(e.Took), errAttr(e.Err), unproven(e.Unproven))
	case Lost:
		return slog.LevelWarn, "run lost", runAttrs(e.Run, slog.String("during", e.During))
	case Unconfirmed:
		return slog.LevelWarn, "run unconfirmed: its lease is over and was not renewed", runAttrs(e.Run, slog.Bool("cancelled", e.Cancelled), errAttr(e.Err))
	case Confirmed:
		return slog.LevelInfo, "run confirmed again", runAttrs(e.Run)
	case Unrecorded:
		return slog.LevelError, "outcome not recorded: the store did not take it in time", runAttrs(e.Run, slog.String("outcome", e.Outcome.String()), errAttr(e.Err))
	case Stuck:
		return slog.LevelError, "handler ignores its cancelled context: its lease is left to end", runAttrs(e.Run, errAttr(e.Cause))
	case Backup:
		return slog.LevelDebug, "backup: another instance has the run", slotAttrs(e.Job, e.Slot, slog.String("holder", e.Holder), slog.Duration("left", e.Left))
	case Skipped:
		return skippedLevel(e.Reason), "slot skipped", slotAttrs(e.Job, e.Slot, skippedAttrs(e)...)
	case ClockJump:
		return slog.LevelWarn, "the wall clock jumped, or the machine was suspended", []slog.Attr{slog.Duration("by", e.By)}
	case ClockSkew:
		return skewLogLevel(e), "the store's clock differs from this instance's", []slog.Attr{slog.Duration("by", e.By)}
	case Paused:
		return slog.LevelWarn, "this process did not run: the lease is under three times the pause", []slog.Attr{slog.Duration("for", e.For), slog.Duration("lease", e.Lease)}
	case StoreError:
		return slog.LevelError, "the store fails", []slog.Attr{slog.String("during", e.During), errAttr(e.Err)}
	case StoreBack:
		return slog.LevelInfo, "the store answers again", []slog.Attr{slog.Duration("down", e.Down)}
	case ScheduleMismatch:
		return slog.LevelWarn, "another instance plans this job by another schedule", []slog.Attr{slog.String("job", e.Job), slog.String("ours", e.Ours), slog.String("theirs", e.Theirs)}
	case Warning:
		return slog.LevelWarn, e.Text, jobAttr(e.Job)
	case EventsDropped:
		return slog.LevelError, "events were dropped: the callback is too slow", []slog.Attr{slog.Int("count", e.Count)}
	}
	return slog.LevelInfo, fmt.Sprintf("%T", e), nil
}

func runAttrs(r Run, more ...slog.Attr) []slog.Attr {
	return present(append([]slog.Attr{
		slog.String("job", r.Job), slog.String("slot", slotText(r.Slot)), slog.Int("attempt", r.Attempt),
		slog.Int64("token", int64(r.Token)), slog.String("reason", r.Reason.String()),
	}, more...))
}

func slotAttrs(job string, slot int64, more ...slog.Attr) []slog.Attr {
	return present(append([]slog.Attr{slog.String("job", job), slog.String("slot", slotText(slot))}, more...))
}

func skippedAttrs(e Skipped) []slog.Attr {
	attrs := []slog.Attr{slog.String("why", string(e.Reason))}
	if e.Last != e.Slot {
		attrs = append(attrs, slog.String("to", slotText(e.Last)))
	}
	if e.By != 0 {
		attrs = append(attrs, slog.Duration("by", e.By))
	}
	if e.Holder != "" {
		attrs = append(attrs, slog.String("holder", e.Holder))
	}
	return append(attrs, errAttr(e.Err))
}

// skippedLevel: what the rules ask for is no reason to wake anybody.
func skippedLevel(r SkipReason) slog.Level {
	switch r {
	case SkipOverlap, SkipSuperseded, SkipStopped:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func skewLogLevel(e ClockSkew) slog.Level {
	if e.Severe {
		return slog.LevelError
	}
	return slog.LevelWarn
}

func jobAttr(job string) []slog.Attr {
	if job == "" {
		return nil
	}
	return []slog.Attr{slog.String("job", job)}
}

func took(d time.Duration) slog.Attr { return slog.Duration("took", d) }

func unproven(is bool) slog.Attr {
	if !is {
		return slog.Attr{}
	}
	return slog.Bool("unproven", true)
}

func errAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.String("err", err.Error())
}

// present leaves out the attributes that have nothing to say.
func present(attrs []slog.Attr) []slog.Attr {
	kept := attrs[:0]
	for _, a := range attrs {
		if a.Key != "" {
			kept = append(kept, a)
		}
	}
	return kept
}

func slotText(slot int64) string {
	return store.Time(slot).Format("2006-01-02T15:04:05.999Z07:00")
}
