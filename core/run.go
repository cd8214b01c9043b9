package core

import (
	"context"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Handler executes a run. It must watch its context, which is cancelled with a
// cause ([ErrLost], [ErrUnconfirmed], [ErrTimeout] or [ErrStopped]; see
// context.Cause), and it must be idempotent: a run can be executed more than
// once. Job and Slot are the key of the work, Token is the fencing token for
// stores that can check one.
//
// Returning nil ends the run as success, an error as failed: a failed run is
// not tried again. After [ErrStopped] an error hands the run over instead. A
// panic is recovered and ends the run as failed.
type Handler func(ctx context.Context, run Run) error

// Run is one attempt to execute a slot of a job. It is plain data.
type Run struct {
	Job         string
	Slot        int64     // planned time, Unix milliseconds: the same on every attempt and instance
	ScheduledAt time.Time // the slot as a time, in UTC
	Attempt     int       // from 1
	// Token is greater for each later grant of the job; 0 where the backend
	// can't fence.
	Token    store.Token
	Reason   store.Reason // scheduled, catch-up or takeover
	Instance string
}

// LogValue groups the run's fields for slog.
func (r Run) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("job", r.Job),
		slog.Time("slot", r.ScheduledAt),
		slog.Int("attempt", r.Attempt),
		slog.Int64("token", int64(r.Token)),
		slog.String("reason", r.Reason.String()),
	)
}
