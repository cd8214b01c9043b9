package recipes

import (
	"context"
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/core"
)

// patient is a job that may take a quarter of an hour, and stops if it can't be sure
// any more that it is the only one.
func patient(work func(ctx context.Context) error, undo func()) core.Job {
	return core.Job{
		Name:          "settle",
		Schedule:      core.Every(time.Hour),
		Timeout:       15 * time.Minute,
		OnUnconfirmed: core.Cancel,
		Handler: func(ctx context.Context, _ core.Run) error {
			err := work(ctx)
			switch cause := context.Cause(ctx); {
			case err == nil:
				return nil
			case errors.Is(cause, core.ErrLost):
				// Another instance has the run. What we write now may be over what it wrote.
				return err
			case errors.Is(cause, core.ErrUnconfirmed), errors.Is(cause, core.ErrTimeout):
				undo() // still ours as far as anybody knows, but it goes no further
				return cause
			case errors.Is(cause, core.ErrStopped):
				return cause // an error hands the run over; nil would call it done
			}
			return err // the work's own error: the run is failed, and not tried again
		},
	}
}
