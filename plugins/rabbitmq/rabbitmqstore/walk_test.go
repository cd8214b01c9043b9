package rabbitmqstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// TestAgainstModel asks the model and three plugins of one namespace the same
// things, in batches and alone; each answer must be equal field by field.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	kinds := map[string]int{}
	const seeds = 6
	for seed := range uint64(seeds) {
		w := newWalk(t, url, seed, 0, kinds)
		if err := w.steps(300); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, kind := range []string{"won", "finished", "verdict(0)", "recorded true", "recorded false", "page"} {
		if kinds[kind] < seeds {
			t.Errorf("%d answers %q in %d walks; the walk must be steered to more", kinds[kind], kind, seeds)
		}
	}
	t.Log(kinds)
}

// TestWalkFindsFaults proves that the walk above can fail: against a model with
// one rule bent, it must find a difference.
func TestWalkFindsFaults(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	for _, fault := range model.Faults(store.KindClaimOnly) {
		if reason, ok := notInWalk[fault.String()]; ok {
			t.Logf("%v: %s", fault, reason)
			continue
		}
		t.Run(fault.String(), func(t *testing.T) {
			for seed := range uint64(6) {
				if newWalk(t, url, seed, fault, map[string]int{}).steps(200) != nil {
					return
				}
			}
			t.Error("no difference found")
		})
	}
}

// notInWalk are faults that this walk can't show, and where they are shown.
var notInWalk = map[string]string{
	"claim-not-atomic":  "needs claimers at the same time: TestOneWinnerThroughRestart",
	"late-never":        "the store has no clock",
	"late-no-tolerance": "the store has no clock",
	"early-never":       "the store has no clock",
	"early-as-late":     "the store has no clock",
	"history-seconds":   "the store has no clock",
	"now-missing":       "the store has no clock",
	"taken-window-half": "needs time: TestForgets, TestWindow",
	"names-joined":      "needs two namespaces: TestNamespaces",
	"namespace-ignored": "needs two namespaces: TestNamespaces",
}

type walk struct {
	t      testing.TB
	r      *rand.Rand
	stores []*Backend
	model  *model.Store
	ids    []store.ClaimID
	seen   []store.ClaimRequest
	kinds  map[string]int
}

var walkJobs = []string{"a", "A", "a ", "\x00", "a\x00b", "jobs/😀", "\ufeff", strings.Repeat("x", 199) + "y", strings.Repeat("x", 199) + "z"}

func newWalk(t testing.TB, url string, seed uint64, fault model.Fault, kinds map[string]int) *walk {
	w := &walk{t: t, kinds: kinds, r: rand.New(rand.NewPCG(seed, 7))}
	o := fresh(t, url)
	for range 3 {
		w.stores = append(w.stores, open(t, o))
	}
	w.model = model.New(model.Options{
		Now:       func() time.Time { return store.Time(1_790_000_000_000) },
		ClaimOnly: &model.ClaimOnly{NoClock: true, NoFence: true}, Fault: fault,
	})
	for range 8 {
		w.ids = append(w.ids, store.NewClaimID())
	}
	return w
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func (w *walk) steps(n int) error {
	for i := range n {
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func (w *walk) step() error {
	b := pick(w.r, w.stores)
	switch n := w.r.IntN(100); {
	case n < 55:
		return ask(w, b, w.claim, (*Backend).ClaimBatch, (*model.Store).Claim)
	case n < 85:
		return ask(w, b, w.finish, (*Backend).FinishBatch, (*model.Store).Finish)
	case n < 87:
		_, err1 := b.Unfinished(w.t.Context(), store.UnfinishedRequest{})
		_, err2 := w.model.Unfinished(w.t.Context(), store.UnfinishedRequest{})
		_, err3 := b.Heartbeat(w.t.Context(), store.HeartbeatRequest{Job: "a", Slot: 1, Lease: time.Second})
		_, err4 := w.model.Heartbeat(w.t.Context(), store.HeartbeatRequest{Job: "a", Slot: 1, Lease: time.Second})
		if !sameError(err1, err2) || !sameError(err3, err4) {
			return fmt.Errorf("verbs of leases: %v and %v, %v and %v", err1, err2, err3, err4)
		}
		return nil
	default:
		return w.history(b)
	}
}

// ask sends a batch to the plugin and its items one by one to the model.
func ask[Q, A any](w *walk, b *Backend, make func() Q, got func(*Backend, context.Context, []Q) []store.Result[A], want func(*model.Store, context.Context, Q) (A, error)) error {
	size := 1
	if w.r.IntN(3) == 0 {
		size = 1 + w.r.IntN(6)
	}
	var qs []Q
	for range size {
		qs = append(qs, make())
	}
	results := got(b, w.t.Context(), qs)
	for k, q := range qs {
		a, err := want(w.model, w.t.Context(), q)
		if !reflect.DeepEqual(results[k].Answer, a) || !sameError(results[k].Err, err) {
			return fmt.Errorf("item %d of %d: %+v\n got %+v, %v\nwant %+v, %v", k, size, q, results[k].Answer, results[k].Err, a, err)
		}
		switch a := any(a).(type) {
		case store.ClaimAnswer:
			w.kinds[a.Verdict.String()]++
			if a.Verdict == store.VerdictWon {
				w.seen = append(w.seen, any(q).(store.ClaimRequest))
			}
		case store.FinishAnswer:
			w.kinds[fmt.Sprint("recorded ", a.Recorded)]++
		}
	}
	return nil
}

func sameError(got, want error) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	var g, w *store.InvalidError
	if errors.As(got, &g) && errors.As(want, &w) {
		return g.Field == w.Field && g.Value == w.Value
	}
	return errors.Is(got, store.ErrUnsupported) && errors.Is(want, store.ErrUnsupported)
}

func (w *walk) job() string {
	if w.r.IntN(3) > 0 {
		return walkJobs[0]
	}
	return pick(w.r, walkJobs)
}

func (w *walk) slot() int64 {
	slot := int64(1_790_000_000_000 + w.r.IntN(12)*20_000)
	switch w.r.IntN(20) {
	case 0:
		slot++
	case 1:
		slot += pick(w.r, []int64{1 << 32, 1 << 40})
	}
	return slot
}

// claim keeps history size and fingerprint the same for a job: the model takes
// those of refused claims too, which a backend need not.
func (w *walk) claim() store.ClaimRequest {
	q := claimOf(w.job(), w.slot())
	q.HistorySize, q.Fingerprint = 1+len(q.Job)%4, "f\x00"+q.Job[:1]
	q.Instance = pick(w.r, []string{"i1", "i2\x00", "i3"})
	q.Reason = store.Reason(1 + w.r.IntN(3))
	if w.r.IntN(2) == 0 {
		q.ID = pick(w.r, w.ids)
	}
	if w.r.IntN(3) == 0 && len(w.seen) > 0 { // again, or somebody else for the same
		s := pick(w.r, w.seen)
		q.Job, q.Slot, q.HistorySize, q.Fingerprint = s.Job, s.Slot, s.HistorySize, s.Fingerprint
		if w.r.IntN(2) == 0 {
			q.ID, q.Instance = s.ID, s.Instance
		}
	}
	switch w.r.IntN(30) {
	case 0:
		q.Lease = 0 // invalid
	case 1:
		q.After = 1
	}
	return q
}

func (w *walk) finish() store.FinishRequest {
	q := store.FinishRequest{
		Job: w.job(), Slot: w.slot(), ID: pick(w.r, w.ids), Outcome: store.Outcome(1 + w.r.IntN(3)),
		Error: pick(w.r, []string{"", "boom\x00", "\xff", "é😀"}),
	}
	if len(w.seen) > 0 && w.r.IntN(4) > 0 {
		s := pick(w.r, w.seen[max(0, len(w.seen)-6):])
		q.Job, q.Slot = s.Job, s.Slot
		if w.r.IntN(4) > 0 {
			q.ID = s.ID
		}
	}
	switch w.r.IntN(30) {
	case 0:
		q.Outcome = store.OutcomeReleased // unsupported
	case 1:
		q.Token = 1
	}
	return q
}

// history reads all pages, of one size.
func (w *walk) history(b *Backend) error {
	q := store.HistoryRequest{Job: w.job(), Limit: 1 + w.r.IntN(4)}
	if w.r.IntN(20) == 0 {
		q.Page = "no page of anybody"
	}
	p := q
	for {
		got, err1 := b.History(w.t.Context(), q)
		want, err2 := w.model.History(w.t.Context(), p)
		same := len(got.Attempts) == len(want.Attempts) && got.Now == want.Now && (got.Next == "") == (want.Next == "")
		for i := range want.Attempts {
			same = same && got.Attempts[i] == want.Attempts[i]
		}
		if !same || !sameError(err1, err2) {
			return fmt.Errorf("history %+v\n got %+v, %v\nwant %+v, %v", q, got, err1, want, err2)
		}
		if got.Next == "" {
			return nil
		}
		w.kinds["page"]++
		q.Page, p.Page = got.Next, want.Next
	}
}
