package hosttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// flaky loses requests and answers.
type flaky struct {
	store.Store
	mu   sync.Mutex
	rng  *rand.Rand
	lies bool // it also says of requests that took effect that they surely did not
}

var errLost = fmt.Errorf("%w: the answer was lost", store.ErrUnknown)

func lose[R, A any](ctx context.Context, f *flaky, req R, call func(context.Context, R) (A, error)) (A, error) {
	f.mu.Lock()
	fate := f.rng.IntN(40)
	f.mu.Unlock()
	var none A
	switch {
	case fate == 0:
		return none, errLost
	case fate == 1:
		return none, fmt.Errorf("%w: it was not sent", store.ErrNotApplied)
	}
	a, err := call(ctx, req)
	switch {
	case fate < 4:
		return none, errLost
	case fate == 4 && f.lies:
		return none, fmt.Errorf("%w: a lie", store.ErrNotApplied)
	}
	return a, err
}

func (f *flaky) Claim(ctx context.Context, r store.ClaimRequest) (store.ClaimAnswer, error) {
	return lose(ctx, f, r, f.Store.Claim)
}
func (f *flaky) Heartbeat(ctx context.Context, r store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return lose(ctx, f, r, f.Store.Heartbeat)
}
func (f *flaky) Finish(ctx context.Context, r store.FinishRequest) (store.FinishAnswer, error) {
	return lose(ctx, f, r, f.Store.Finish)
}

// playAgainst lets workers use a store in memory and judges what they saw.
func playAgainst(t *testing.T, s store.Store, lies bool, length time.Duration) error {
	t.Helper()
	r := newRecord()
	rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
	lossy := recorded{&flaky{Store: s, rng: rng, lies: lies}, r}
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	errs := make(chan error, 12)
	for i := range cap(errs) {
		w := &worker{
			name: fmt.Sprint("w", i), rng: rand.New(rand.NewPCG(uint64(i), rand.Uint64())), lease: 60 * time.Millisecond,
			store: func() store.Store { return lossy },
			job:   func() string { return fmt.Sprint("job ", i%3, "-", time.Since(r.begin)/(500*time.Millisecond)) },
		}
		go func() { errs <- w.run(ctx) }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil && !errors.Is(err, store.ErrInvalid) {
			t.Fatal(err)
		}
	}
	return judge(t.Context(), r, s, 5*time.Second)
}

// The judge finds nothing wrong with a store that is right.
func TestJudgeAcquits(t *testing.T) {
	t.Parallel()
	if err := playAgainst(t, model.New(model.Options{}), false, time.Second); err != nil {
		t.Error(err)
	}
}

// It finds what is wrong with stores that are not, and calls that were applied and
// said not to be.
func TestJudgeConvicts(t *testing.T) {
	t.Parallel()
	var faults []model.Fault
	for _, name := range []string{
		"claim-not-atomic", "repeat-new-token", "token-same", "lease-half", "lease-for-ever", "after-ignored",
		"finish-stale", "superseded-never", "overlap-never", "heartbeat-any-token", "release-ends-run",
	} {
		f, err := model.ParseFault(name)
		if err != nil {
			t.Error(err)
			continue
		}
		faults = append(faults, f)
	}
	convicted := func(t *testing.T, s store.Store, lies bool) {
		t.Parallel()
		for range 15 {
			if err := playAgainst(t, s, lies, 400*time.Millisecond); err != nil && !errors.Is(err, errNotJudged) {
				return
			}
		}
		t.Error("it was found to be right, fifteen times")
	}
	t.Run("lies", func(t *testing.T) { convicted(t, model.New(model.Options{}), true) })
	for _, f := range faults {
		t.Run(f.String(), func(t *testing.T) { convicted(t, model.New(model.Options{Fault: f}), false) })
	}
}
