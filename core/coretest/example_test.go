package coretest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
)

// The test of what a job does: its handler runs for one slot, and for the second
// attempt of one.
func ExampleRunSlot() {
	job := core.Job{
		Name:     "report",
		Schedule: core.Every(time.Hour),
		Timeout:  time.Minute,
		Handler: func(ctx context.Context, run core.Run) error {
			fmt.Println("report of", run.ScheduledAt.Format(time.DateTime), "attempt", run.Attempt)
			if run.Attempt > 1 {
				return errors.New("half of it was sent already")
			}
			return nil
		},
	}
	slot := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	res, err := coretest.RunSlot(context.Background(), job, slot)
	fmt.Println(res.Outcome, res.Err, err)
	res, err = coretest.RunAttempt(context.Background(), job, slot, 2)
	fmt.Println(res.Outcome, res.Err, err)
	// Output:
	// report of 2026-03-01 10:00:00 attempt 1
	// success <nil> <nil>
	// report of 2026-03-01 10:00:00 attempt 2
	// failed half of it was sent already <nil>
}

// The store's clock is the test's: a lease ends when the test says so, and another
// instance takes the run over.
func ExampleWithClock() {
	slot := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	clock := coretest.NewClock(slot)
	st := coretest.NewStore(store.KindLease, coretest.WithClock(clock))
	claim := func(instance string, after int) {
		ans, err := st.Claim(context.Background(), store.ClaimRequest{
			Job: "report", Slot: slot.UnixMilli(), ID: store.NewClaimID(), After: after, Instance: instance, Reason: store.ReasonScheduled,
			Lease: 30 * time.Second, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 10,
		})
		fmt.Println(instance, ans.Verdict, ans.Attempt, ans.Left, err)
	}
	claim("a", 0)
	clock.Advance(20 * time.Second)
	claim("b", 1)
	clock.Advance(10 * time.Second)
	claim("b", 1)
	// Output:
	// a won 1 30s <nil>
	// b running 1 10s <nil>
	// b won 2 30s <nil>
}
