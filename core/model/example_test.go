package model_test

import (
	"context"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// A store with a clock of the test's own: A runs the job and dies; B is refused
// while A's lease lasts, and takes over when it is over.
func Example() {
	now := time.Date(2026, 3, 1, 2, 30, 0, 0, time.UTC)
	s := model.New(model.Options{Now: func() time.Time { return now }})

	ctx := context.Background()
	claim := store.ClaimRequest{
		Job: "invoices", Slot: now.UnixMilli(), ID: store.NewClaimID(), Instance: "A",
		Reason: store.ReasonScheduled, Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
	a, err := s.Claim(ctx, claim)
	fmt.Println("A:", a.Verdict, "attempt", a.Attempt, err)

	claim.ID, claim.Instance, claim.After = store.NewClaimID(), "B", 1
	now = now.Add(10 * time.Second)
	a, err = s.Claim(ctx, claim)
	fmt.Println("B:", a.Verdict, "held by", a.Holder, "for", a.Left, err)

	now = now.Add(a.Left)
	a, err = s.Claim(ctx, claim)
	fmt.Println("B:", a.Verdict, "attempt", a.Attempt, err)

	// Output:
	// A: won attempt 1 <nil>
	// B: running held by A for 20s <nil>
	// B: won attempt 2 <nil>
}

// A fault, to see whether a test notices.
func ExampleNew_fault() {
	f, err := model.ParseFault("lease-half")
	fmt.Println(f.Doc(), err)
	fmt.Println("breaks", f.Breaks())
	_ = model.New(model.Options{Fault: f})

	// Output:
	// a lease ends after half its length <nil>
	// breaks R-LEASE-1
}
