package load

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestVerdictCost: what a claim costs the server by its verdict, in full batches of
// one caller that nobody disturbs; and what the least read costs that could tell a
// loser that it lost. Of n instances' claims all but one in n lose.
func TestVerdictCost(t *testing.T) {
	if !*boundary {
		t.Skip("a measurement, which wants the machine for itself: ask for it by -boundary -backend=redis")
	}
	s := newServer(t, *backend)
	if s.read == nil {
		t.Skipf("nothing to compare with on %s", *backend)
	}
	c, err := storekit.Open(t.Context(), storekit.Plugin{Name: s.plugin.Name, Config: s.plugin.Config, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tokens := make([]store.Token, *jobs)
	first := time.Now().UnixMilli()
	claim := func(slot int64, want store.Verdict) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			a, err := c.Claim(ctx, store.ClaimRequest{
				Job: burstJob(i), Slot: slot, ID: store.NewClaimID(), Instance: "an instance", Reason: store.ReasonScheduled,
				Lease: time.Hour, MaxEarly: time.Minute, MaxLate: time.Hour, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
			})
			if err == nil && a.Verdict != want {
				err = fmt.Errorf("job %d: %v, want %v", i, a.Verdict, want)
			}
			if want == store.VerdictWon {
				tokens[i] = a.Token
			}
			return err
		}
	}
	finish := func(slot int64) func(context.Context, int) error {
		return func(ctx context.Context, i int) error {
			a, err := c.Finish(ctx, store.FinishRequest{Job: burstJob(i), Slot: slot, Token: tokens[i], ID: store.NewClaimID(), Outcome: store.OutcomeSuccess})
			if err == nil && !a.Recorded {
				err = fmt.Errorf("job %d: the finish was refused", i)
			}
			return err
		}
	}
	for n := range 3 {
		slot := first + int64(n)*1000
		if n == 2 && s.tidy != nil {
			s.tidy()
		}
		for _, phase := range []struct {
			name string
			call func(context.Context, int) error
		}{
			{"claim, won", claim(slot, store.VerdictWon)},
			{"claim, running", claim(slot, store.VerdictRunning)},
			{"recall", nil},
			{"finish", finish(slot)},
			{"claim, finished", claim(slot, store.VerdictFinished)},
		} {
			if phase.call == nil { // one call for all jobs, by their names, as an instance that watches them asks
				measure(t, s, n, phase.name, func() { recall(t, c) })
				continue
			}
			measure(t, s, n, phase.name, func() { everyJob(t, phase.call) })
		}
		measure(t, s, n, "least read", func() {
			for i := 0; i < *jobs; i += 256 {
				s.read(i, min(i+256, *jobs))
			}
		})
	}
}

// recall asks for the unfinished runs of all jobs.
func recall(t *testing.T, c *storekit.Client) {
	t.Helper()
	var names []string
	for i := range *jobs {
		names = append(names, burstJob(i))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := c.Unfinished(ctx, store.UnfinishedRequest{Jobs: names})
	if err != nil || len(a.Runs) != *jobs {
		t.Fatalf("%d unfinished runs of %d: %v", len(a.Runs), *jobs, err)
	}
}

// measure reports what f took of the server.
func measure(t *testing.T, s server, round int, what string, f func()) {
	t.Helper()
	cpu, begin := s.cpu(), time.Now()
	f()
	took := time.Since(begin)
	server := s.cpu() - cpu
	per := func(d time.Duration) time.Duration { return (d / time.Duration(*jobs)).Round(100 * time.Nanosecond) }
	t.Logf("round %d: %-16s %v of the server's processor each; %v altogether", round+1, what, per(server), per(took))
}

// everyJob makes a call about each job, so many at a time that batches are full.
func everyJob(t *testing.T, call func(context.Context, int) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	next := make(chan int)
	errs := make(chan error, 512)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			for i := range next {
				if err := call(ctx, i); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
feed:
	for i := range *jobs {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
}
