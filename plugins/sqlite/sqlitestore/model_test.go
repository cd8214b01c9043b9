//go:build cgo

package sqlitestore

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

// TestAgainstModel asks the model and the store the same things on the same
// clock; each answer must be equal field by field.
func TestAgainstModel(t *testing.T) {
	seeds, steps := 24, 300
	if testing.Short() {
		seeds = 6
	}
	kinds := map[string]int{}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			if err := compare(t, uint64(seed), steps, 0, kinds); err != nil {
				t.Fatal(err)
			}
		})
	}
	// A walk that never sees a kind of answer proves nothing about it.
	for _, kind := range []string{
		"won", "running", "overlap", "finished", "superseded", "exhausted", "late", "early", "verdict(0)",
		"renewed true", "renewed false", "recorded true", "recorded false",
	} {
		if kinds[kind] < seeds {
			t.Errorf("%d answers %q in %d walks; the walk must be steered to more", kinds[kind], kind, seeds)
		}
	}
	t.Log(kinds)
}

// walk is one random walk of both.
type walk struct {
	t      testing.TB
	r      *rand.Rand
	clock  *clock
	set    [2]settings
	stores [2]*Backend // two namespaces of one file
	models [2]*model.Store
	ids    []store.ClaimID // both use them: namespaces don't see each other's
	tokens []store.Token
	seen   [2][]store.UnfinishedRun
	kinds  map[string]int
}

var (
	walkJobs      = []string{"a", "A", "a ", "\x00", "a\x00b", "jobs/😀", "\ufeff", longName + "y", longName + "z"}
	longName      = strings.Repeat("x", store.MaxNameBytes-1)
	walkInstances = []string{"i1", "i2\x00", "i3"}
	walkLeases    = []time.Duration{time.Millisecond, 5 * time.Second, 30 * time.Second, 5*time.Minute + time.Microsecond}
	walkSizes     = []int{1, 1, 2, 3, 100}
)

func compare(t testing.TB, seed uint64, steps int, fault model.Fault, kinds map[string]int) error {
	w := &walk{t: t, kinds: kinds, r: rand.New(rand.NewPCG(seed, 7))}
	set := fastSettings(t)
	w.clock = newClock(t, set.path, noon)
	m := model.New(model.Options{Now: func() time.Time { return store.Time(w.clock.now) }, Namespace: "one", Fault: fault})
	for i, ns := range []string{"one", "two"} {
		set.namespace = ns
		w.set[i], w.stores[i], w.models[i] = set, open(t, set, w.clock.use), m.Namespace(ns)
	}
	for range 4 {
		w.ids = append(w.ids, store.NewClaimID())
	}
	for i := range steps {
		if err := w.step(); err != nil {
			return fmt.Errorf("seed %d, step %d: %w", seed, i, err)
		}
	}
	checkFile(t, w.clock.db)
	return nil
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func (w *walk) step() error {
	i := 0
	if w.r.IntN(8) == 0 {
		i = 1
	}
	switch n := w.r.IntN(100); {
	case n < 20:
		w.clock.add(time.Duration(w.r.IntN(12_000)) * time.Millisecond)
	case n < 23:
		w.clock.add(time.Duration(w.r.IntN(600)) * time.Second)
	case n < 26:
		w.clock.add(-time.Duration(w.r.IntN(600)) * time.Second)
	case n < 60:
		return ask(w, i, func() store.ClaimRequest { return w.claim(i) }, (*Backend).ClaimBatch, (*model.Store).Claim)
	case n < 72:
		return ask(w, i, func() store.HeartbeatRequest { return w.heartbeat(i) }, (*Backend).HeartbeatBatch, (*model.Store).Heartbeat)
	case n < 84:
		return ask(w, i, func() store.FinishRequest { return w.finish(i) }, (*Backend).FinishBatch, (*model.Store).Finish)
	case n < 92:
		return w.unfinished(i)
	case n < 99:
		return w.history(i)
	default:
		if err := w.stores[i].Close(w.t.Context()); err != nil {
			return err
		}
		w.stores[i].write = nil // closed: the clean-up has nothing left to do
		w.stores[i] = open(w.t, w.set[i], w.clock.use)
	}
	return nil
}

// ask sends a batch to the store and its items one by one to the model.
func ask[Q, A any](w *walk, i int, make func() Q, got func(*Backend, context.Context, []Q) []store.Result[A], want func(*model.Store, context.Context, Q) (A, error)) error {
	size := 1
	if w.r.IntN(3) == 0 {
		size = 1 + w.r.IntN(6)
	}
	var qs []Q
	for range size {
		qs = append(qs, make())
	}
	results := got(w.stores[i], w.t.Context(), qs)
	for k, q := range qs {
		a, err := want(w.models[i], w.t.Context(), q)
		if !reflect.DeepEqual(results[k].Answer, a) || !sameError(results[k].Err, err) {
			return fmt.Errorf("item %d of %d: %+v\n got %+v, %v\nwant %+v, %v", k, size, q, results[k].Answer, results[k].Err, a, err)
		}
		w.note(a)
	}
	return nil
}

// note keeps what later steps refer to, and counts the kinds of answers.
func (w *walk) note(answer any) {
	switch a := answer.(type) {
	case store.ClaimAnswer:
		w.kinds[a.Verdict.String()]++
		if a.Token != 0 {
			w.tokens = append(w.tokens, a.Token)
		}
	case store.HeartbeatAnswer:
		w.kinds[fmt.Sprint("renewed ", a.Renewed)]++
	case store.FinishAnswer:
		w.kinds[fmt.Sprint("recorded ", a.Recorded)]++
	}
}

func sameError(got, want error) bool {
	var g, w *store.InvalidError
	switch {
	case got == nil || want == nil:
		return got == nil && want == nil
	case errors.As(got, &g) && errors.As(want, &w):
		return g.Field == w.Field && g.Value == w.Value
	}
	return false
}

// slot is one of six around now, so that runs meet. Now and then it is one that
// a careless store would take for another.
func (w *walk) slot() int64 {
	const gap = 20_000
	slot := w.clock.now/gap*gap + int64(w.r.IntN(6)-3)*gap
	switch w.r.IntN(20) {
	case 0:
		slot++
	case 1:
		slot += pick(w.r, []int64{1 << 32, 1 << 40})
	}
	return slot
}

func (w *walk) job() string {
	if w.r.IntN(3) > 0 {
		return walkJobs[0]
	}
	return pick(w.r, walkJobs)
}

func (w *walk) token() store.Token {
	if len(w.tokens) == 0 || w.r.IntN(20) == 0 {
		return store.Token(w.r.Int64N(3) + w.clock.now)
	}
	recent := w.tokens[max(0, len(w.tokens)-8):]
	return pick(w.r, recent)
}

func (w *walk) claim(i int) store.ClaimRequest {
	q := claimOf(w.job(), w.slot())
	q.Instance = pick(w.r, walkInstances)
	q.Reason = store.Reason(1 + w.r.IntN(3))
	q.Overlap = store.Overlap(1 + w.r.IntN(2))
	q.Lease = pick(w.r, walkLeases)
	q.MaxAttempts = 1 + w.r.IntN(3)
	q.HistorySize = pick(w.r, walkSizes)
	q.Fingerprint = pick(w.r, []string{"", "f\x00", "g"})
	if w.r.IntN(2) == 0 {
		q.ID = pick(w.r, w.ids)
	} else if w.r.IntN(4) == 0 {
		w.ids[w.r.IntN(len(w.ids))] = q.ID
	}
	if w.r.IntN(3) == 0 {
		q.MaxLate, q.MaxEarly = 10*time.Minute, 10*time.Minute
		if w.r.IntN(10) == 0 {
			q.MaxEarly = 60 * 24 * time.Hour
		}
	}
	if w.r.IntN(2) == 0 { // follow what is there, as an instance would
		if run := w.running(i); run != nil {
			q.Job, q.Slot, q.After = run.Job, run.Slot, run.Attempt-w.r.IntN(2)
		}
	}
	if w.r.IntN(40) == 0 {
		q.Lease = 0 // invalid
	}
	return q
}

func (w *walk) heartbeat(i int) store.HeartbeatRequest {
	q := store.HeartbeatRequest{Job: w.job(), Slot: w.slot(), Token: w.token(), Lease: pick(w.r, walkLeases)}
	if u := w.running(i); u != nil && w.r.IntN(3) > 0 {
		q.Job, q.Slot, q.Token = u.Job, u.Slot, u.Token
	}
	return q
}

func (w *walk) finish(i int) store.FinishRequest {
	q := store.FinishRequest{
		Job: w.job(), Slot: w.slot(), Token: w.token(), Outcome: store.Outcome(1 + w.r.IntN(4)),
		Error: pick(w.r, []string{"", "boom\x00", "\xff", "é😀"}),
	}
	if u := w.running(i); u != nil && w.r.IntN(3) > 0 {
		q.Job, q.Slot, q.Token = u.Job, u.Slot, u.Token
	}
	return q
}

// running is a run that was unfinished when it was last asked: its token may be
// stale by now.
func (w *walk) running(i int) *store.UnfinishedRun {
	if len(w.seen[i]) == 0 {
		return nil
	}
	return &w.seen[i][w.r.IntN(len(w.seen[i]))]
}

func (w *walk) unfinished(i int) error {
	var q store.UnfinishedRequest
	if w.r.IntN(3) == 0 {
		q.Jobs = []string{w.job(), w.job(), "never heard of"}
	}
	got, err1 := w.stores[i].Unfinished(w.t.Context(), q)
	want, err2 := w.models[i].Unfinished(w.t.Context(), q)
	if !reflect.DeepEqual(got, want) || err1 != nil || err2 != nil {
		return fmt.Errorf("unfinished %q\n got %+v, %v\nwant %+v, %v", q.Jobs, got, err1, want, err2)
	}
	w.seen[i] = got.Runs
	return nil
}

// history reads all pages, of one size.
func (w *walk) history(i int) error {
	q := store.HistoryRequest{Job: w.job(), Limit: 1 + w.r.IntN(4)}
	if w.r.IntN(20) == 0 {
		q.Page = "no page of anybody"
	}
	p := q
	for {
		got, err1 := w.stores[i].History(w.t.Context(), q)
		want, err2 := w.models[i].History(w.t.Context(), p)
		same := reflect.DeepEqual(got.Attempts, want.Attempts) && got.Now == want.Now && (got.Next == "") == (want.Next == "")
		if !same || !sameError(err1, err2) {
			return fmt.Errorf("history %+v\n got %+v, %v\nwant %+v, %v", q, got, err1, want, err2)
		}
		if got.Next == "" {
			return nil
		}
		q.Page, p.Page = got.Next, want.Next
	}
}

// TestWalkFindsFaults proves that the walk above can fail: against a model with
// one rule bent, it must find a difference.
func TestWalkFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: one set of walks per fault")
	}
	for _, fault := range model.Faults(store.KindLease) {
		if fault == model.FaultClaimNotAtomic {
			continue // needs callers at the same time: see multiprocess_test.go
		}
		t.Run(fault.String(), func(t *testing.T) {
			var err error
			for seed := uint64(0); err == nil && seed < 60; seed++ {
				err = compare(t, seed, 300, fault, map[string]int{})
			}
			if err == nil {
				t.Error("no difference found")
			}
		})
	}
}
