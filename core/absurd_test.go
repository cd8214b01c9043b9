package core

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// absurd is an instance whose store answers anything: each number is at an edge of
// its type or of the protocol.
type absurd struct {
	instant
	m       *machine
	rand    *rand.Rand
	pending []func()
	calls   int
}

func oneNumber(r *rand.Rand) int64 {
	return oneOf(r, math.MinInt64, math.MinInt64+1, -1, 0, 0, 1, 2, 1000, math.MaxInt32, 1<<30, store.MinSlot-1, store.MinSlot, store.MaxSlot, store.MaxSlot+1,
		int64(30*time.Second), int64(store.MaxLease), math.MaxInt64/2, math.MaxInt64-1, math.MaxInt64)
}

func (a *absurd) number() int64 { return oneNumber(a.rand) }

// slot is mostly one that the instance has to do with.
func (a *absurd) slot() int64 {
	if a.rand.IntN(4) == 0 {
		return a.number()
	}
	return floorDiv(a.ms(), 10_000)*10_000 + 10_000*int64(a.rand.IntN(5)-2)
}

func (a *absurd) err() error {
	if a.rand.IntN(4) > 0 {
		return nil
	}
	return oneOf(a.rand, store.ErrInvalid, store.ErrNotApplied, store.ErrUnknown, errors.New("of no class"))
}

// do answers what the machine asks, in the next millisecond.
func (a *absurd) do(act action) {
	r := act.run
	answer := func(f func()) {
		a.calls++
		a.pending = append(a.pending, f)
	}
	switch act.kind {
	case doClaim:
		answer(func() {
			a.m.claimAnswered(a.instant, r, store.ClaimAnswer{
				Verdict: store.Verdict(1 + a.rand.IntN(9)), Attempt: int(a.number()), Token: store.Token(a.number()), Left: time.Duration(a.number()),
				Holder: oneOf(a.rand, "", "A", "B"), Slot: a.slot(), By: time.Duration(a.number()), Now: a.number(),
			}, a.err())
		})
	case doBeat:
		answer(func() {
			a.m.beatAnswered(a.instant, r, store.HeartbeatAnswer{Renewed: a.rand.IntN(4) > 0, Now: a.number()}, a.err())
		})
	case doFinish:
		answer(func() {
			a.m.finishAnswered(a.instant, r, store.FinishAnswer{Recorded: a.rand.IntN(2) > 0, Now: a.number()}, a.err())
		})
	case doRecall:
		answer(func() {
			ans := store.UnfinishedAnswer{Now: a.number()}
			for range oneOf(a.rand, 0, 3, 30, 300, 4000) {
				ans.Runs = append(ans.Runs, store.UnfinishedRun{
					Job: oneOf(a.rand, "a", "b", "?"), Slot: a.slot() + int64(a.rand.IntN(3000)), Attempt: int(a.number()), Open: a.rand.IntN(2) > 0,
					Holder: oneOf(a.rand, "", "A", "B"), Token: store.Token(a.number()), Left: time.Duration(a.number()), Counted: int(a.number()), Newest: a.slot(),
				})
			}
			a.m.recallAnswered(a.instant, ans, a.err())
		})
	case doHistory:
		answer(func() {
			ans := store.HistoryAnswer{Now: a.number()}
			for range a.rand.IntN(50) {
				ans.Attempts = append(ans.Attempts, store.Attempt{Slot: a.slot(), Attempt: int(a.number()), HandedOver: a.rand.IntN(2) > 0, StartedAt: a.number(), EndedAt: a.number()})
			}
			a.m.historyAnswered(a.instant, act.job, ans, a.err())
		})
	case doStart:
		a.pending = append(a.pending, func() { a.m.handlerReturned(a.instant, r, nil) })
	case doEvent:
		_ = fmt.Sprint(act.event)
	}
}

// live lets the instance live for so long. Each millisecond in which it does not
// sleep is one turn.
func (a *absurd) live(d time.Duration) error {
	for end := a.mono + int64(d); a.mono < end; {
		pending := a.pending
		a.pending = nil
		for _, f := range pending {
			f()
		}
		a.m.tick(a.instant)
		for _, act := range a.m.take() {
			a.do(act)
		}
		for _, j := range a.m.jobs {
			if err := sane(j); err != nil {
				return err
			}
		}
		sleep := a.m.wake(a.instant)
		if sleep < 0 || sleep > longestTimer {
			return fmt.Errorf("the machine wants to sleep %v", sleep)
		}
		if len(a.pending) > 0 {
			sleep = 0
		}
		step := max(int64(sleep), int64(time.Millisecond))
		a.wall, a.mono = a.wall+step, a.mono+step
	}
	return nil
}

func sane(j *job) error {
	if len(j.runs) > mostRuns+100 {
		return fmt.Errorf("job %s has %d runs", j.spec.Name, len(j.runs))
	}
	if j.granted != noSlot && !isSlot(j.granted) {
		return fmt.Errorf("job %s takes %d for a slot that was granted", j.spec.Name, j.granted)
	}
	for _, r := range j.runs {
		if !isSlot(r.slot) {
			return fmt.Errorf("job %s has a run of %d", j.spec.Name, r.slot)
		}
	}
	return nil
}

// TestAbsurdAnswers: whatever a store says, a turn ends, the machine goes on, and it
// asks no faster than it should.
func TestAbsurdAnswers(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() || RaceDetector {
		seeds = 4
	}
	for seed := range seeds {
		a := &absurd{instant: instant{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), mono: int64(time.Hour)}, rand: rand.New(rand.NewPCG(seed, 1))}
		kind := store.KindLease
		if seed%4 == 3 {
			kind = store.KindClaimOnly
		}
		a.m = newMachine(machineConfig{instance: "A", kind: kind, rand: rand.New(rand.NewPCG(seed, 2)), newID: store.NewClaimID})
		for name, overlap := range map[string]store.Overlap{"a": Skip, "b": Allow} {
			j, _, err := Job{Name: name, Schedule: Every(10 * time.Second), Timing: Timing{Overlap: overlap, Jitter: Disabled}, Handler: func(context.Context, Run) error { return nil }}.
				check(Timing{}, store.Description{Kind: kind, Memory: store.Memory{Forever: true}})
			if err != nil {
				t.Fatal(err)
			}
			a.m.add(a.instant, j)
		}
		ended := make(chan error, 1)
		const lives = 5 * time.Minute
		go func() { ended <- a.live(lives) }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("seed %d: a turn does not end", seed)
		}
		// It may watch 1000 runs of each job, and ask for each again every 250 ms.
		if most := 2 * mostRuns * int(lives/(250*time.Millisecond)); a.calls > most {
			t.Errorf("seed %d: %d calls to the store in %v", seed, a.calls, lives)
		}
		for _, j := range a.m.jobs {
			if j.slot == noSlot || late(j.slot, a.ms()) > 10*time.Second {
				t.Errorf("seed %d: after %v job %s plans %s next", seed, lives, j.spec.Name, slotText(j.slot))
			}
		}
	}
}

// TestEarlyIsNoTightLoop: a store that says early by nothing, again and again.
func TestEarlyIsNoTightLoop(t *testing.T) {
	for _, by := range []time.Duration{math.MinInt64, -1, 0, 1} {
		m, r := claiming(t)
		now := r.sent
		m.claimAnswered(now, r, store.ClaimAnswer{Verdict: store.VerdictEarly, By: by}, nil)
		if m.tick(now); m.wake(now) < 100*time.Millisecond {
			t.Errorf("early by %v: it wakes after %v", by, m.wake(now))
		}
	}
}

// claiming returns a machine with a claim in flight.
func claiming(t *testing.T) (*machine, *run) {
	t.Helper()
	m := newMachine(machineConfig{instance: "A", kind: store.KindClaimOnly, rand: rand.New(rand.NewPCG(1, 2)), newID: store.NewClaimID})
	j, _, err := Job{Name: "a", Schedule: Every(time.Hour), Timing: Timing{Jitter: Disabled}, Handler: func(context.Context, Run) error { return nil }}.
		check(Timing{}, store.Description{Kind: store.KindClaimOnly, Memory: store.Memory{Forever: true}})
	if err != nil {
		t.Fatal(err)
	}
	now := instant{wall: int64(time.Hour) - 1, mono: 1}
	m.add(now, j)
	now.wall, now.mono = now.wall+1, now.mono+1
	m.tick(now)
	for _, a := range m.take() {
		if a.kind == doClaim {
			return m, a.run
		}
	}
	t.Fatal("no claim")
	return nil, nil
}

// TestStoresClockAtTheEdge: a clock that is millennia off is told as far off, in its
// direction.
func TestStoresClockAtTheEdge(t *testing.T) {
	for _, storeNow := range []int64{store.MaxSlot, math.MaxInt64 - 1, math.MaxInt64} {
		m := newMachine(machineConfig{})
		now := instant{wall: int64(time.Hour), mono: 1}
		m.noteSkew(now, now, storeNow)
		if len(m.out) != 1 || m.out[0].event.(ClockSkew).By < 100*365*24*time.Hour {
			t.Errorf("the store's clock shows %d: %+v", storeNow, m.out)
		}
	}
}
