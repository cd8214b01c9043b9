package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/conformance/history/traffic"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// record lets workers use a store in virtual time, and returns what they saw. open
// opens the store as one more process does.
func record(t *testing.T, seed uint64, kind store.Kind, length time.Duration, open func() store.Store) *history.History {
	t.Helper()
	var h *history.History
	synctest.Test(t, func(t *testing.T) {
		rec := history.NewRecorder("a test", kind)
		const lease = 100 * time.Millisecond
		base := time.Now().Add(-time.Hour).UnixMilli()
		tr := &traffic.Traffic{
			Recorder: rec, Kind: kind, History: true, Seed: seed, Lease: lease,
			Slot: func(i int) int64 { return base + int64(i)*1000 },
			Job:  func(part, i int) string { return fmt.Sprintf("job %d-%d", part, i) },
		}
		for range 4 {
			tr.Stores = append(tr.Stores, open())
		}
		work, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		var wg sync.WaitGroup
		for _, w := range tr.Workers() {
			wg.Go(func() {
				if err := w.Run(t.Context(), work); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := tr.Settle(t.Context()); err != nil {
			t.Error(err)
		}
		h = rec.History()
		time.Sleep(time.Second) // for requests that are still on their way
	})
	return h
}

// flaky is a store far away: calls take time, and requests and answers are lost.
type flaky struct {
	store.Store
	mu  sync.Mutex
	rng *rand.Rand
	// lies: it also says of requests that took effect that they surely did not.
	lies bool
	slow bool // calls take as long as leases, so that they all overlap
}

func newFlaky(s store.Store, seed uint64, lies bool) store.Store {
	return &flaky{Store: s, rng: rand.New(rand.NewPCG(seed, 7)), lies: lies, slow: seed%5 == 4}
}

var errLost = fmt.Errorf("%w: the answer was lost", store.ErrUnknown)

func (f *flaky) draw(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

func (f *flaky) lag() {
	most := 3000
	if f.slow {
		most = 100_000
	}
	time.Sleep(time.Duration(f.draw(most)) * time.Microsecond)
}

func lose[R, A any](ctx context.Context, f *flaky, req R, call func(context.Context, R) (A, error)) (A, error) {
	f.lag()
	var none A
	switch f.draw(50) {
	case 0:
		return none, errLost
	case 1:
		return none, fmt.Errorf("%w: it was not sent", store.ErrNotApplied)
	case 2: // it arrives when its caller has long gone
		go func() {
			time.Sleep(time.Duration(f.draw(100)) * time.Millisecond)
			call(context.WithoutCancel(ctx), req)
		}()
		return none, errLost
	}
	a, err := call(ctx, req)
	f.lag()
	switch fate := f.draw(40); {
	case fate < 2:
		return none, errLost
	case fate == 2 && f.lies:
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

// claimOnly are the claim-only stores that there are.
var claimOnly = []model.ClaimOnly{{}, {NoClock: true}, {NoFence: true, NoClock: true}}

// Stores that are right are found to be, whatever gets lost.
func TestTruthIsLegal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			all := model.New(model.Options{})
			h := record(t, seed, store.KindLease, 4*time.Second, func() store.Store { return newFlaky(all, seed, false) })
			acquit(t, h)
			if lacks := h.Stats().Lacks(store.KindLease); len(lacks) > 0 && seed%5 != 4 {
				t.Errorf("too little happened: %q", lacks)
			}
			c := claimOnly[seed%uint64(len(claimOnly))]
			all = model.New(model.Options{ClaimOnly: &c})
			h = record(t, seed, store.KindClaimOnly, 3*time.Second, func() store.Store { return newFlaky(all, seed, false) })
			acquit(t, h)
			if lacks := h.Stats().Lacks(store.KindClaimOnly); len(lacks) > 0 && seed%5 != 4 {
				t.Errorf("claim-only: too little happened: %q", lacks)
			}
		})
	}
}

func acquit(t *testing.T, h *history.History) {
	t.Helper()
	j := history.Judge(h, 0)
	if j.Verdict == history.Legal {
		return
	}
	t.Errorf("a right store is judged %v: %s\n%v", j.Verdict, j.Reason, h.Stats())
	if j.Culprit != nil {
		least, steps := history.Minimise(j.Culprit, 0, time.Now().Add(20*time.Second))
		t.Logf("%q\n%s", steps, history.Ladder(least))
	}
}

// convicted are faults that show in what many callers see. What does not show there
// is looked for by the checks that are named for it.
var convicted = map[store.Kind][]string{
	store.KindLease: {
		"claim-not-atomic", "repeat-new-token", "repeat-refused", "repeat-renews", "token-kept", "lease-half", "lease-for-ever",
		"after-ignored", "finish-stale", "superseded-never", "overlap-never", "heartbeat-any-token", "release-ends-run", "heartbeat-idle",
		"heartbeat-revives-ended", "older-live-closed", "older-stay-open", "release-counts", "max-attempts-plus-one", "finish-forgotten",
		"failed-again", "previous-stays-running", "recall-whole-lease", "release-keeps-lease",
	},
	store.KindClaimOnly: {"claim-not-atomic", "taken-repeat-refused", "taken-no-record"},
}

// Stores that are wrong are found out, and what remains of the history is small and
// still illegal.
func TestFaultsAreIllegal(t *testing.T) {
	t.Parallel()
	for kind, names := range convicted {
		for _, name := range names {
			t.Run(fmt.Sprintf("%v/%s", kind, name), func(t *testing.T) {
				t.Parallel()
				f, err := model.ParseFault(name)
				if err != nil {
					t.Fatal(err)
				}
				o := model.Options{Fault: f}
				if kind == store.KindClaimOnly {
					o.ClaimOnly = &model.ClaimOnly{}
				}
				convict(t, kind, func(seed uint64) store.Store { return newFlaky(model.New(o), seed, false) })
			})
		}
	}
	t.Run("lies", func(t *testing.T) {
		t.Parallel()
		convict(t, store.KindLease, func(seed uint64) store.Store { return newFlaky(model.New(model.Options{}), seed, true) })
	})
}

func convict(t *testing.T, kind store.Kind, open func(seed uint64) store.Store) {
	t.Helper()
	unknown := errors.New("all were legal")
	for seed := range uint64(10) {
		s := open(seed)
		h := record(t, seed, kind, 3*time.Second, func() store.Store { return s })
		switch j := history.Judge(h, 300_000); j.Verdict {
		case history.Illegal:
			small(t, h, j)
			return
		case history.Unknown:
			unknown = errors.New(j.Reason)
		}
	}
	t.Errorf("ten histories were not illegal: %v", unknown)
}

// small makes a history small, and sees to it that what is left is proof by itself,
// also from a file.
func small(t *testing.T, h *history.History, j history.Judgement) {
	t.Helper()
	least, steps := history.Minimise(j.Culprit, 50_000, time.Now().Add(20*time.Second))
	t.Logf("%s; %d of %d calls are left: %q\n%s", j.Reason, len(least.Ops), len(h.Ops), steps, history.Ladder(least))
	var file bytes.Buffer
	if err := least.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, again, err := history.JudgeFile(&file)
	if err != nil || again.Verdict != history.Illegal || len(read.Ops) != len(least.Ops) {
		t.Errorf("what is left is %v, error %v", again.Verdict, err)
	}
	if len(least.Ops) > len(j.Culprit.Ops)/2 {
		t.Errorf("%d of %d calls are left, which is not small", len(least.Ops), len(j.Culprit.Ops))
	}
}

// Each step that makes a history small is sound: what was legal stays legal.
func TestReductionsAreSound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		all := model.New(model.Options{})
		h := record(t, seed, store.KindLease, 2*time.Second, func() store.Store { return newFlaky(all, seed, false) })
		taken := model.New(model.Options{ClaimOnly: &model.ClaimOnly{}})
		for _, h := range []*history.History{h, record(t, seed, store.KindClaimOnly, 2*time.Second, func() store.Store { return newFlaky(taken, seed, false) })} {
			for step, list := range history.Reductions(h, 12) {
				smaller := 0
				for _, less := range list {
					if j := history.Judge(less, 0); j.Verdict != history.Legal {
						t.Errorf("seed %d, %v store: a right history is %v after %q: %s\n%s", seed, h.Kind, j.Verdict, step, j.Reason, history.Ladder(less))
					}
					if len(less.Ops) < len(h.Ops) {
						smaller++
					}
				}
				if smaller == 0 {
					t.Errorf("seed %d: %q left nothing out", seed, step)
				}
			}
		}
	}
}
