package core

import (
	"time"
)

// Schedule plans the slots of a job. It must be pure and immutable: every
// instance computes the slots alone, and a slot's instant is the key that they
// share in the store. Methods are called from several goroutines.
//
// Slots are whole milliseconds; a Schedule that answers finer instants has them
// cut. Package core/cron and [Every] are the schedules that come with anarchon.
type Schedule interface {
	// Next returns the first slot strictly after t, or the zero time if there
	// is none.
	Next(after time.Time) time.Time
	// Prev returns the newest slot at or before t, or the zero time if there is
	// none.
	Prev(at time.Time) time.Time
	// MinGap returns the nominal smallest time between two slots, at least one
	// second; clock changes of a zone may make a real gap smaller.
	MinGap() time.Duration
	// String identifies the schedule: the same on every instance, another for
	// another schedule.
	String() string
}

// Fingerprinter is implemented by schedules whose slots depend on more than
// their text, such as the rules of a time zone. Instances that disagree get a
// [ScheduleMismatch]. The fingerprint is at most 64 bytes.
type Fingerprinter interface{ Fingerprint() string }

// Every returns a schedule with a slot each d, aligned to the Unix epoch, so
// that all instances agree whenever they start. Each d must be at least one
// second and a whole number of milliseconds; [Scheduler.Add] refuses others.
func Every(d time.Duration) Schedule { return every(d) }

type every time.Duration

func (e every) Next(after time.Time) time.Time {
	d := time.Duration(e).Milliseconds()
	if d <= 0 {
		return time.Time{}
	}
	return time.UnixMilli((floorDiv(after.UnixMilli(), d) + 1) * d).UTC()
}

func (e every) Prev(at time.Time) time.Time {
	d := time.Duration(e).Milliseconds()
	if d <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(floorDiv(at.UnixMilli(), d) * d).UTC()
}

func (e every) MinGap() time.Duration { return time.Duration(e) }
func (e every) String() string        { return "every " + time.Duration(e).String() }

// floorDiv divides rounding down, also before 1970. time.Truncate would align
// to the year 1 instead of the epoch.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
