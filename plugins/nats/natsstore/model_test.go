package natsstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// TestAgainstModel asks the model and the store the same things; the answers must
// be equal, tokens and times aside: tokens must correspond and rise, times are the
// server's.
func TestAgainstModel(t *testing.T) {
	seeds, steps := 12, 150
	if testing.Short() {
		seeds = 3
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
	for _, kind := range []string{"won", "won again", "finished running", "finished success", "finished failed", "finished interrupted", "finished status(0)", "invalid", "unsupported", "recorded true", "recorded false", "next page", "full history"} {
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
	stores [2][2]*Backend // two instances in each of two namespaces
	models [2]*model.Store
	grants [2][]grant
	tokens map[store.Token]store.Token // the model's to ours
	last   [2]store.Token              // of ours
	kinds  map[string]int
}

// grant is a claim that was won, with the model's token.
type grant struct {
	store.ClaimRequest
	token store.Token
}

var (
	walkJobs = []string{"a", "A", "a ", "a.b", "*", "a\x00b", "a:b", "b", longName + "y", longName + "z"}
	walkSize = []int{2, 5, 1, 100, 3, 10, 4, 1, 2, 5}
	longName = strings.Repeat("x", store.MaxNameBytes-1)
)

func compare(t testing.TB, seed uint64, steps int, fault model.Fault, kinds map[string]int) error {
	w := &walk{t: t, kinds: kinds, r: rand.New(rand.NewPCG(seed, 7)), tokens: map[store.Token]store.Token{}}
	now := int64(noon)
	m := model.New(model.Options{
		Now:       func() time.Time { now++; return store.Time(now) },
		Namespace: "one", Fault: fault,
		ClaimOnly: &model.ClaimOnly{Memory: store.Memory{Window: 5 * time.Minute}, NoClock: true},
	})
	o := options(t)
	fresh := freshNamespace()
	for i, more := range []string{"", ":a"} { // with a job b, and without it with a:b
		o["namespace"] = fresh + more
		w.stores[i] = [2]*Backend{open(t, o), open(t, o)}
		w.models[i] = m.Namespace("one" + more)
	}
	for i := range steps {
		if err := w.step(); err != nil {
			return fmt.Errorf("seed %d, step %d: %w", seed, i, err)
		}
	}
	return nil
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func (w *walk) step() error {
	i := 0
	if w.r.IntN(3) == 0 {
		i = 1
	}
	b := pick(w.r, w.stores[i][:])
	switch n := w.r.IntN(100); {
	case n < 55:
		return w.claims(i, b)
	case n < 80:
		return w.finishes(i, b)
	case n < 98:
		return w.history(i, b)
	default:
		_, err1 := b.Heartbeat(w.t.Context(), store.HeartbeatRequest{Job: "a", Lease: time.Second})
		_, err2 := w.models[i].Heartbeat(w.t.Context(), store.HeartbeatRequest{Job: "a", Lease: time.Second})
		return w.sameError("heartbeat", err1, err2)
	}
}

// job has a name and the size of its history.
func (w *walk) job() (string, int) {
	n := 0
	if w.r.IntN(2) == 0 {
		n = w.r.IntN(len(walkJobs))
	}
	return walkJobs[n], walkSize[n]
}

func (w *walk) slot() int64 {
	slot := noon + int64(w.r.IntN(15))*60_000
	switch w.r.IntN(20) {
	case 0:
		slot++ // that a careless store would take for another
	case 1:
		slot = pick(w.r, []int64{store.MinSlot, -1, 0, store.MaxSlot})
	}
	return slot
}

func (w *walk) claims(i int, b *Backend) error {
	var qs []store.ClaimRequest
	size := 1
	if w.r.IntN(3) == 0 {
		size = 1 + w.r.IntN(8)
	}
	for range size {
		q := claimOf("", w.slot())
		q.Job, q.HistorySize = w.job()
		q.Instance, q.Reason = pick(w.r, []string{"i1", "i2\x00"}), store.Reason(1+w.r.IntN(3))
		switch n := w.r.IntN(12); {
		case n < 3 && len(w.grants[i]) > 0: // again
			q = pick(w.r, w.grants[i]).ClaimRequest
		case n == 3 && len(w.grants[i]) > 0: // by another instance
			q = pick(w.r, w.grants[i]).ClaimRequest
			q.Instance += "'"
		case n == 4 && len(w.grants[i]) > 0: // the id with another slot
			q.ID = pick(w.r, w.grants[i]).ID
		case n == 5 && size == 1: // not in a batch: it is looked up after the others
			q.After = 1
		case n == 6:
			q.Lease = 0
		}
		qs = append(qs, q)
	}
	for k, got := range b.ClaimBatch(w.t.Context(), qs) {
		q := qs[k]
		want, err := w.models[i].Claim(w.t.Context(), q)
		what := fmt.Sprintf("claim %d of %d: %+v", k, size, q)
		if err != nil || got.Err != nil {
			if err := w.sameError(what, got.Err, err); err != nil {
				return err
			}
			continue
		}
		token := want.Token
		g, w0 := got.Answer, want
		g.Token, g.Fingerprint, w0.Token, w0.Fingerprint = 0, "", 0, ""
		if g != w0 {
			return fmt.Errorf("%s\n got %+v\nwant %+v", what, got.Answer, want)
		}
		kind := g.Verdict.String()
		if g.Verdict == store.VerdictFinished {
			kind += " " + g.Status.String()
		}
		if g.Verdict == store.VerdictWon {
			ours, again := w.tokens[token]
			switch {
			case again && ours != got.Answer.Token:
				return fmt.Errorf("%s\n token %d; it was %d", what, got.Answer.Token, ours)
			case !again && got.Answer.Token <= w.last[i]:
				return fmt.Errorf("%s\n token %d after %d", what, got.Answer.Token, w.last[i])
			case again:
				kind += " again"
			default:
				w.tokens[token], w.last[i] = got.Answer.Token, got.Answer.Token
				w.grants[i] = append(w.grants[i], grant{q, token})
			}
		}
		w.kinds[kind]++
	}
	return nil
}

func (w *walk) finishes(i int, b *Backend) error {
	if len(w.grants[i]) == 0 {
		return nil
	}
	var qs []store.FinishRequest
	for range 1 + w.r.IntN(3) {
		g := pick(w.r, w.grants[i])
		q := finishOf(g.ClaimRequest, g.token, store.Outcome(1+w.r.IntN(3)))
		q.Error = pick(w.r, []string{"", "boom\x00", "\xff", "é😀"})
		switch w.r.IntN(10) {
		case 0:
			q.Token = pick(w.r, w.grants[i]).token
		case 1:
			q.Slot++
		case 2:
			q.Outcome = store.OutcomeReleased
		case 3:
			q.Outcome = 9
		}
		qs = append(qs, q)
	}
	ours := make([]store.FinishRequest, len(qs))
	for k, q := range qs {
		q.Token = w.tokens[q.Token]
		ours[k] = q
	}
	for k, got := range b.FinishBatch(w.t.Context(), ours) {
		want, err := w.models[i].Finish(w.t.Context(), qs[k])
		what := fmt.Sprintf("finish %d of %d: %+v", k, len(qs), qs[k])
		if err != nil || got.Err != nil {
			if err := w.sameError(what, got.Err, err); err != nil {
				return err
			}
			continue
		}
		if got.Answer != want {
			return fmt.Errorf("%s\n got %+v\nwant %+v", what, got.Answer, want)
		}
		w.kinds[fmt.Sprint("recorded ", want.Recorded)]++
	}
	return nil
}

func (w *walk) sameError(what string, got, want error) error {
	var g, m *store.InvalidError
	switch {
	case errors.Is(got, store.ErrUnsupported) && errors.Is(want, store.ErrUnsupported):
		w.kinds["unsupported"]++
		return nil
	case errors.As(got, &g) && errors.As(want, &m) && g.Field == m.Field:
		w.kinds["invalid"]++
		return nil
	}
	return fmt.Errorf("%s\n got %v\nwant %v", what, got, want)
}

// history reads all pages, of one size.
func (w *walk) history(i int, b *Backend) error {
	job, size := w.job()
	q := store.HistoryRequest{Job: job, Limit: 1 + w.r.IntN(6)}
	if w.r.IntN(20) == 0 {
		q.Page = "no page of anybody"
		_, err1 := b.History(w.t.Context(), q)
		_, err2 := w.models[i].History(w.t.Context(), q)
		return w.sameError("history", err1, err2)
	}
	p := q
	for n := 0; ; {
		got, err1 := b.History(w.t.Context(), q)
		want, err2 := w.models[i].History(w.t.Context(), p)
		if err1 != nil || err2 != nil || len(got.Attempts) != len(want.Attempts) || (got.Next == "") != (want.Next == "") || got.Now != want.Now {
			return fmt.Errorf("history %+v\n got %+v, %v\nwant %+v, %v", q, got, err1, want, err2)
		}
		for k, g := range got.Attempts {
			m := want.Attempts[k]
			m.Token = w.tokens[m.Token]
			if g.StartedAt == 0 || (g.EndedAt == 0) != (g.Status == store.StatusRunning) || g.EndedAt != 0 && g.EndedAt < g.StartedAt {
				return fmt.Errorf("history %+v: times of %+v", q, g)
			}
			g.StartedAt, g.EndedAt = 0, 0
			if g != m {
				return fmt.Errorf("history %+v\n got %+v\nwant %+v", q, g, m)
			}
		}
		if n += len(got.Attempts); n == size {
			w.kinds["full history"]++
		}
		if got.Next == "" {
			return nil
		}
		w.kinds["next page"]++
		q.Page, p.Page = got.Next, want.Next
	}
}

// notWalked are faults that the walk can't see. They have tests of their own, or
// can't be here: a store without a clock judges nothing by it.
var notWalked = map[model.Fault]string{
	model.FaultClaimNotAtomic:  "TestOneWinnerThroughRestart",
	model.FaultTakenWindowHalf: "TestWindowEdges",
	model.FaultTakenCountHalf:  "TestHistorySize",
	model.FaultLateNever:       "no clock",
	model.FaultLateNoTolerance: "no clock",
	model.FaultEarlyNever:      "no clock",
	model.FaultEarlyAsLate:     "no clock",
	model.FaultHistorySeconds:  "no clock",
	model.FaultNowMissing:      "no clock",
}

// TestWalkFindsFaults proves that the walk above can fail: against a model with
// one rule bent, it must find a difference.
func TestWalkFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long: several walks per fault")
	}
	for _, fault := range model.Faults(store.KindClaimOnly) {
		if notWalked[fault] != "" {
			continue
		}
		t.Run(fault.String(), func(t *testing.T) {
			var err error
			for seed := uint64(0); err == nil && seed < 10; seed++ {
				err = compare(t, seed, 150, fault, map[string]int{})
			}
			if err == nil {
				t.Error("no difference found")
			}
		})
	}
}
