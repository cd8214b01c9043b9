//go:build cgo

package sqlitestore

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstPause = 500 * time.Microsecond
	longPause  = 5 * time.Millisecond
)

// whileBusy calls try until it does something else than find the file locked,
// the time is over, or the caller gives up. SQLite's own busy handler waits in
// steps up to 100 ms, all processes in the same rhythm, and hears of no
// cancellation; a claim takes a fraction of a millisecond, so short random
// pauses are fairer and faster.
func whileBusy(ctx context.Context, wait time.Duration, try func() error) error {
	deadline := time.Now().Add(wait)
	if d, ok := ctx.Deadline(); ok {
		// The host stops waiting at its deadline; what the file said must be there
		// before, or nobody hears that it was locked and that nothing was written.
		left := time.Until(d)
		margin := min(max(left/20, 50*time.Millisecond), left/4)
		if d = d.Add(-margin); d.Before(deadline) {
			deadline = d
		}
	}
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		err := try()
		left := time.Until(deadline)
		if !isBusy(err) || left <= 0 {
			return err
		}
		timer := time.NewTimer(min(left, pause/2+rand.N(pause)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}
