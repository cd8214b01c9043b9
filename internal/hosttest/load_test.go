package hosttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// worker claims runs, holds and ends them, as a service would, with much shorter
// times; it does everything that a store must be able to judge: it dies with a
// run, hands one over, takes one over, and asks again whatever was not answered.
type worker struct {
	name  string
	rng   *rand.Rand
	store func() store.Store // the one that is there now
	job   func() string
	lease time.Duration
	wish  int
}

const (
	workLease = 400 * time.Millisecond
	workSlots = 250 * time.Millisecond // between slots
	settleFor = 2 * time.Minute        // a call that is not answered is asked again so long
)

// run works until ctx is done; what has begun then is settled. It returns an error
// if a call could not be settled.
func (w *worker) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.turn(); err != nil {
			return fmt.Errorf("worker %s: %w", w.name, err)
		}
	}
	return nil
}

// turn is one wish for a run and what comes of it.
func (w *worker) turn() error {
	now := time.Now()
	req := store.ClaimRequest{
		Job: w.job(), Slot: now.Truncate(workSlots).UnixMilli(), Reason: store.ReasonScheduled,
		Lease: w.lease, MaxEarly: time.Minute, MaxLate: time.Hour, Overlap: store.OverlapSkip,
		MaxAttempts: 4, HistorySize: store.MaxHistory,
	}
	if w.rng.IntN(2) == 0 {
		req.Overlap = store.OverlapAllow
	}
	if w.rng.IntN(8) == 0 {
		req.Slot -= workSlots.Milliseconds() * int64(1+w.rng.IntN(4)) // an older one
	}
	for {
		w.wish++
		req.ID, req.Instance = store.NewClaimID(), fmt.Sprintf("%s.%d", w.name, w.wish)
		a, err := w.claim(req)
		if err != nil {
			return err
		}
		if a.Verdict == store.VerdictWon {
			return w.hold(req, a)
		}
		if a.Verdict != store.VerdictRunning || w.rng.IntN(3) == 0 {
			w.sleep(20 * time.Millisecond)
			return nil
		}
		time.Sleep(min(a.Left, w.lease)) // a backup
		req.After, req.Reason = a.Attempt, store.ReasonTakeover
	}
}

// claim asks until there is an answer, always with the same id.
func (w *worker) claim(req store.ClaimRequest) (store.ClaimAnswer, error) {
	return settle(w, func(ctx context.Context, s store.Store) (store.ClaimAnswer, error) { return s.Claim(ctx, req) })
}

// hold runs a granted attempt.
func (w *worker) hold(req store.ClaimRequest, a store.ClaimAnswer) error {
	beat := store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Lease: req.Lease}
	for range w.rng.IntN(8) {
		w.sleep(w.lease / 8)
		r, err := settle(w, func(ctx context.Context, s store.Store) (store.HeartbeatAnswer, error) { return s.Heartbeat(ctx, beat) })
		if err != nil {
			return err
		}
		if !r.Renewed {
			break // and it finishes all the same, as a frozen runner would
		}
	}
	w.sleep(w.lease / 8)
	finish := store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, ID: req.ID, Outcome: store.OutcomeSuccess}
	switch w.rng.IntN(6) {
	case 0:
		finish.Outcome, finish.Error = store.OutcomeFailed, "it went wrong"
	case 1:
		finish.Outcome = store.OutcomeReleased
	case 2:
		return nil // it dies
	}
	_, err := settle(w, func(ctx context.Context, s store.Store) (store.FinishAnswer, error) { return s.Finish(ctx, finish) })
	return err
}

func (w *worker) sleep(most time.Duration) { time.Sleep(time.Duration(w.rng.Int64N(int64(most) + 1))) }

// settle makes a call until it is answered.
func settle[A any](w *worker, call func(context.Context, store.Store) (A, error)) (A, error) {
	for deadline := time.Now().Add(settleFor); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		a, err := call(ctx, w.store())
		cancel()
		if err == nil || errors.Is(err, store.ErrInvalid) {
			return a, err
		}
		if time.Now().After(deadline) {
			return a, fmt.Errorf("not settled within %v: %w", settleFor, err)
		}
		w.sleep(10 * time.Millisecond)
	}
}
