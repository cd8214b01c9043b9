package core

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// logEvent writes an event as a line, unless the logger does not want it.
func logEvent(log *slog.Logger, e Event) {
	ctx := context.Background()
	if level := level(e); log.Enabled(ctx, level) {
		msg, attrs := line(e)
		log.LogAttrs(ctx, level, msg, attrs...)
	}
}

// level: what is lost or odd is a warning, what failed an error. What the rules
// ask for is no reason to wake anybody.
func level(e Event) slog.Level {
	switch e := e.(type) {
	case Backup:
		return slog.LevelDebug
	case Interrupted, Lost, Unconfirmed, ClockJump, Paused, ScheduleMismatch, Warning:
		return slog.LevelWarn
	case Failed, Unrecorded, Stuck, StoreError, ScheduleBroken, EventsDropped:
		return slog.LevelError
	case ClockSkew:
		if e.Severe {
			return slog.LevelError
		}
		return slog.LevelWarn
	case Skipped:
		switch e.Reason {
		case SkipOverlap, SkipSuperseded, SkipStopped, SkipRemoved:
			return slog.LevelInfo
		}
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// line says what happened, with what is known of it.
func line(e Event) (msg string, attrs []slog.Attr) {
	switch e := e.(type) {
	case Started:
		return "run started", runAttrs(e.Run)
	case Succeeded:
		return "run succeeded", runAttrs(e.Run, took(e.Took), unproven(e.Unproven))
	case Failed:
		return "run failed", runAttrs(e.Run, took(e.Took), errAttr(e.Err), unproven(e.Unproven))
	case Interrupted:
		return "run interrupted", runAttrs(e.Run, slog.Bool("handed_over", e.HandedOver), took(e.Took), errAttr(e.Err), unproven(e.Unproven))
	case Lost:
		return "run lost", runAttrs(e.Run, slog.String("during", e.During))
	case Unconfirmed:
		return "run unconfirmed: its lease is over and was not renewed", runAttrs(e.Run, slog.Bool("cancelled", e.Cancelled), errAttr(e.Err))
	case Confirmed:
		return "run confirmed again", runAttrs(e.Run)
	case Unrecorded:
		return "outcome not recorded: the store did not take it in time", runAttrs(e.Run, slog.String("outcome", e.Outcome.String()), errAttr(e.Err))
	case Stuck:
		return "handler ignores its cancelled context: its lease is left to end", runAttrs(e.Run, errAttr(e.Cause))
	case Backup:
		return "backup: another instance has the run", slotAttrs(e.Job, e.Slot, slog.String("holder", e.Holder), slog.Duration("left", e.Left))
	case Skipped:
		return "slot skipped", slotAttrs(e.Job, e.Slot, skippedAttrs(e)...)
	case ClockJump:
		return "the wall clock jumped, or the machine was suspended", []slog.Attr{slog.Duration("by", e.By)}
	case ClockSkew:
		return "the store's clock differs from this instance's", []slog.Attr{slog.Duration("by", e.By)}
	case Paused:
		return "this process did not run: the lease is under three times the pause", []slog.Attr{slog.Duration("for", e.For), slog.Duration("lease", e.Lease)}
	case StoreError:
		return "the store fails", []slog.Attr{slog.String("during", e.During), errAttr(e.Err)}
	case StoreBack:
		return "the store answers again", []slog.Attr{slog.Duration("down", e.Down)}
	case ScheduleMismatch:
		return "another instance plans this job by another schedule", []slog.Attr{slog.String("job", e.Job), slog.String("ours", e.Ours), slog.String("theirs", e.Theirs)}
	case ScheduleBroken:
		return "the schedule panicked: this instance plans the job no more", []slog.Attr{slog.String("job", e.Job), slog.String("panic", e.Panic)}
	case schedulerRuns:
		return "scheduler running", []slog.Attr{slog.Int("jobs", e.jobs), slog.String("store", e.on.Product), slog.Any("kind", e.on.Kind)}
	case Warning:
		return e.Text, jobAttr(e.Job)
	case EventsDropped:
		return "events were dropped: the callback is too slow", []slog.Attr{slog.Int("count", e.Count)}
	}
	return fmt.Sprintf("%T", e), nil
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
