// Package window measures how long a store remembers that a slot was granted, by age
// and by count: a slot is claimed and finished, the store is filled, and the slot is
// claimed again. An answer other than won means that the store remembered.
//
// What it finds is held against what the plugin declares, and, by package jobsfile,
// against the timing rules of the jobs that are to run there.
package window

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Sample is one slot that was claimed twice.
type Sample struct {
	Age        time.Duration `json:"age"`  // aimed at, between the claims; 0: at once
	Runs       int           `json:"runs"` // newer runs of the job between the claims
	Remembered bool          `json:"remembered"`
	Verdict    store.Verdict `json:"verdict"` // of the second claim
	// AtLeast and AtMost bound the time between the two steps in the store, by this
	// machine's clock: a store that remembered did so for AtLeast, one that forgot did
	// not for AtMost.
	AtLeast time.Duration `json:"atLeast"`
	AtMost  time.Duration `json:"atMost"`
}

// Probe measures one store.
type Probe struct {
	Store  store.Store
	Prefix string // of the names of all jobs that are made, so that they are nobody's
	// Claimant names the instance that claims.
	Claimant string
	// Progress, if not nil, is told what is being done, and how long it takes.
	Progress func(text string)
	// Sleep waits until t, or until ctx is done. Default: real time.
	Sleep func(ctx context.Context, t time.Time) error
}

// fillers is how many runs of other jobs are claimed between two claims of a slot: a
// store that keeps a bounded number of all of them would forget.
const fillers = 50

// ByAge claims one slot for each age, of a job of its own, fills the store, and claims
// each slot again when it is that old. It takes as long as the greatest age.
func (p Probe) ByAge(ctx context.Context, ages []time.Duration) ([]Sample, error) {
	samples := make([]Sample, len(ages))
	base := time.Now().UnixMilli()
	first := make([]span, len(ages))
	for i := range ages {
		var err error
		if first[i], err = p.run(ctx, p.job("age", i), base); err != nil {
			return nil, err
		}
	}
	p.say("claimed %d slots; %d runs of other jobs fill the store", len(ages), fillers)
	for i := range fillers {
		if _, err := p.run(ctx, p.job("filler", i), base); err != nil {
			return nil, err
		}
	}
	for i, age := range ages {
		p.say("waiting to claim a slot of age %v again", age)
		if err := p.sleep(ctx, first[i].returned.Add(age)); err != nil {
			return nil, err
		}
		s, err := p.again(ctx, p.job("age", i), base, first[i])
		if err != nil {
			return nil, err
		}
		s.Age = age
		samples[i] = s
	}
	return samples, nil
}

// ByCount runs, for each count, a slot and so many newer ones of the same job, and
// claims the first again.
func (p Probe) ByCount(ctx context.Context, counts []int) ([]Sample, error) {
	samples := make([]Sample, 0, len(counts))
	for i, n := range counts {
		p.say("claiming a slot again after %d newer runs", n)
		job := p.job("count", i)
		// The newest slot is now: none is in the future, and a store that refuses what is
		// too early refuses none.
		base := time.Now().UnixMilli() - int64(n)
		first, err := p.run(ctx, job, base)
		if err != nil {
			return nil, err
		}
		if err := p.many(ctx, job, base, n); err != nil {
			return nil, err
		}
		s, err := p.again(ctx, job, base, first)
		if err != nil {
			return nil, err
		}
		s.Runs = n
		samples = append(samples, s)
	}
	return samples, nil
}

// many runs n newer slots of a job, some at a time: in the order of their slots, as far
// as a lease backend must have it, and fast enough for thousands.
func (p Probe) many(ctx context.Context, job string, base int64, n int) error {
	const atOnce = 16
	for from := 1; from <= n; from += atOnce {
		to := min(from+atOnce-1, n)
		errs := make([]error, to-from+1)
		var wg sync.WaitGroup
		for slot := from; slot <= to; slot++ {
			wg.Go(func() { _, errs[slot-from] = p.tryRun(ctx, job, base+int64(slot)) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (p Probe) job(kind string, i int) string { return fmt.Sprintf("%s/%s-%d", p.Prefix, kind, i) }

func (p Probe) say(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

func (p Probe) sleep(ctx context.Context, until time.Time) error {
	if p.Sleep != nil {
		return p.Sleep(ctx, until)
	}
	select {
	case <-time.After(time.Until(until)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// span is when a call was sent and answered.
type span struct{ sent, returned time.Time }

// run claims a slot, which must be granted, and finishes it.
func (p Probe) run(ctx context.Context, job string, slot int64) (span, error) {
	won, err := p.tryRun(ctx, job, slot)
	if err == nil && won.verdict != store.VerdictWon {
		err = fmt.Errorf("the first claim of job %q, slot %d, is answered %v; want won: is the namespace in use?", job, slot, won.verdict)
	}
	return won.span, err
}

type outcome struct {
	span
	verdict store.Verdict
}

// tryRun claims a slot, and finishes it if it is granted.
func (p Probe) tryRun(ctx context.Context, job string, slot int64) (outcome, error) {
	ans, at, err := p.claim(ctx, job, slot)
	if err != nil || ans.Verdict != store.VerdictWon {
		return outcome{at, ans.Verdict}, err
	}
	_, err = p.Store.Finish(ctx, store.FinishRequest{Job: job, Slot: slot, Token: ans.Token, Outcome: store.OutcomeSuccess})
	if err != nil {
		err = fmt.Errorf("finish of job %q, slot %d: %w", job, slot, err)
	}
	return outcome{at, ans.Verdict}, err
}

// again claims a slot for the second time.
func (p Probe) again(ctx context.Context, job string, slot int64, first span) (Sample, error) {
	ans, at, err := p.claim(ctx, job, slot)
	return Sample{
		Remembered: ans.Verdict != store.VerdictWon,
		Verdict:    ans.Verdict,
		AtLeast:    at.sent.Sub(first.returned),
		AtMost:     at.returned.Sub(first.sent),
	}, err
}

// tries is how often a claim without an answer is sent, with the same claim id.
const tries = 5

func (p Probe) claim(ctx context.Context, job string, slot int64) (ans store.ClaimAnswer, at span, err error) {
	req := store.ClaimRequest{
		Job: job, Slot: slot, ID: store.NewClaimID(), Instance: p.Claimant, Reason: store.ReasonScheduled,
		Lease: time.Minute, MaxEarly: time.Hour, MaxLate: 24 * time.Hour, Overlap: store.OverlapAllow, MaxAttempts: 1, HistorySize: 1,
	}
	at.sent = time.Now()
	for range tries {
		ans, err = p.Store.Claim(ctx, req)
		at.returned = time.Now()
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("claim of job %q, slot %d: %w", job, slot, err)
	}
	return ans, at, err
}

// Bounds are what samples say of a memory.
type Bounds struct {
	// Remembered is the greatest age, or count, at which every sample so far was
	// remembered.
	Remembered float64
	// Forgot is the smallest at which one was forgotten; +Inf if none was.
	Forgot float64
}

// AgeBounds returns the bounds in seconds.
func AgeBounds(samples []Sample) Bounds {
	return bounds(samples, func(s Sample) (float64, float64) { return s.AtLeast.Seconds(), s.AtMost.Seconds() })
}

// CountBounds returns the bounds in runs of a job: the one that is asked for, and the
// newer ones.
func CountBounds(samples []Sample) Bounds {
	return bounds(samples, func(s Sample) (float64, float64) { return float64(s.Runs + 1), float64(s.Runs + 1) })
}

func bounds(samples []Sample, of func(Sample) (low, high float64)) Bounds {
	b := Bounds{Forgot: math.Inf(1)}
	for _, s := range samples {
		if _, high := of(s); !s.Remembered {
			b.Forgot = min(b.Forgot, high)
		}
	}
	for _, s := range samples {
		if low, _ := of(s); s.Remembered && low < b.Forgot {
			b.Remembered = max(b.Remembered, low)
		}
	}
	return b
}
