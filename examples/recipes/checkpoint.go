package recipes

import (
	"context"

	"github.com/anarchon-go/anarchon/core"
)

// checkpoints keeps how far the work of a slot has come: a table with the primary key
// (job, slot), for instance.
type checkpoints interface {
	Load(ctx context.Context, job string, slot int64) (done int, err error)
	Save(ctx context.Context, job string, slot int64, token int64, done int) error
}

// reindex works through pages, and goes on where an attempt before it stopped: one that
// crashed, or one that was handed over when its instance was deployed anew. It returns
// between two pages when it is told to stop.
func reindex(pages int, page func(context.Context, int) error, kept checkpoints) core.Handler {
	return func(ctx context.Context, run core.Run) error {
		done, err := kept.Load(ctx, run.Job, run.Slot)
		if err != nil {
			return err
		}
		for ; done < pages; done++ {
			if ctx.Err() != nil {
				return context.Cause(ctx) // core.ErrStopped: the next attempt goes on from here
			}
			if err := page(ctx, done); err != nil {
				return err
			}
			// The token lets the store of the checkpoints refuse a runner that was replaced.
			if err := kept.Save(ctx, run.Job, run.Slot, int64(run.Token), done+1); err != nil {
				return err
			}
		}
		return nil
	}
}
