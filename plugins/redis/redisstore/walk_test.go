package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// walk asks a server and the model the same random things on the same clock;
// each answer must be equal field by field.
type walk struct {
	t      testing.TB
	r      *rand.Rand
	lease  bool
	sizes  []int                                                                // history sizes that claims ask for
	bent   func(m *model.Store, q store.ClaimRequest, a store.ClaimAnswer) bool // allows an answer, and tells the model
	clock  *clock
	set    [2]options
	stores [2]*Backend // two namespaces of one server
	models [2]*model.Store
	ids    [2][]store.ClaimID
	tokens []store.Token
	seen   [2][]store.UnfinishedRun // as last recalled
	kinds  map[string]int           // of answers, counted
}

var (
	longName      = strings.Repeat("x", store.MaxNameBytes-1)
	walkJobs      = []string{"a", "A", "a ", "\x00", "a\x00b", "jobs/😀", "a:a", "{a}", "%61", longName + "y", longName + "z"}
	walkInstances = []string{"i1", "i2\x00 \n", "i3%"}
	walkLeases    = []time.Duration{time.Millisecond, 5 * time.Second, 30 * time.Second, 5*time.Minute + time.Microsecond}
)

// newWalk starts a walk; more are the options of the strategy, as the memory of
// the model of a claim-only one.
func newWalk(t testing.TB, seed uint64, more options, memory *store.Memory, fault model.Fault) *walk {
	w := &walk{t: t, r: rand.New(rand.NewPCG(seed, 7)), lease: memory == nil, sizes: []int{1, 1, 2, 3, 100}, kinds: map[string]int{}}
	one := fresh(t).with(more)
	w.clock = newClock(t, one, noon)
	o := model.Options{Now: func() time.Time { return store.Time(w.clock.now) }, Fault: fault}
	if memory != nil {
		o.ClaimOnly = &model.ClaimOnly{Memory: *memory}
	}
	m := model.New(o)
	// The name of the other goes on where that of the first one ends.
	two := one.with(options{"namespace": one["namespace"].(string) + ":a"})
	for i, o := range []options{one, two} {
		w.set[i], w.stores[i], w.models[i] = o, open(t, o, w.clock.use), m.Namespace(o["namespace"].(string))
	}
	for i := range 8 {
		w.ids[i%2] = append(w.ids[i%2], store.NewClaimID())
	}
	return w
}

// walk takes steps until an answer differs.
func (w *walk) walk(steps int) error {
	for i := range steps {
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	if w.lease {
		return w.checkIndex()
	}
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
	case w.r.IntN(2) == 0:
		// As after a restart of the server.
		return w.clock.client.ScriptFlush(w.t.Context()).Err()
	default:
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
		if c, ok := any(q).(store.ClaimRequest); ok && w.bent != nil && w.bent(w.models[i], c, any(results[k].Answer).(store.ClaimAnswer)) {
			continue
		}
		a, err := want(w.models[i], w.t.Context(), q)
		if !reflect.DeepEqual(results[k].Answer, a) || !sameError(results[k].Err, err) {
			return fmt.Errorf("item %d of %d: %+v\n got %+v, %v\nwant %+v, %v", k, size, q, results[k].Answer, results[k].Err, a, err)
		}
		w.note(a, q)
	}
	return nil
}

// note keeps what later steps refer to, and counts the kinds of answers.
func (w *walk) note(answer, request any) {
	switch a := answer.(type) {
	case store.ClaimAnswer:
		w.kinds[a.Verdict.String()]++
		if a.Token == 0 {
			break
		}
		w.tokens = append(w.tokens, a.Token)
		if q := request.(store.ClaimRequest); !w.lease {
			w.seen[0] = append(w.seen[0], store.UnfinishedRun{Job: q.Job, Slot: q.Slot, Token: a.Token, Attempt: 1})
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
	return errors.Is(got, store.ErrUnsupported) && errors.Is(want, store.ErrUnsupported)
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
	q.HistorySize = pick(w.r, w.sizes)
	q.Fingerprint = pick(w.r, []string{"", "f\x00", "g"})
	if w.r.IntN(2) == 0 {
		q.ID = pick(w.r, w.ids[i])
	} else if w.r.IntN(4) == 0 {
		w.ids[i][w.r.IntN(len(w.ids[i]))] = q.ID
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
		Error: pick(w.r, []string{"", "boom\x00", "\xff", "é😀 100% =\n1 2 3 4 5 success 6 ="}),
	}
	if u := w.running(i); u != nil && w.r.IntN(3) > 0 {
		q.Job, q.Slot, q.Token = u.Job, u.Slot, u.Token
	}
	return q
}

// running is a run that was unfinished when it was last asked: its token may be
// stale by now.
func (w *walk) running(i int) *store.UnfinishedRun {
	if !w.lease {
		i = 0
	}
	recent := w.seen[i][max(0, len(w.seen[i])-12):]
	if len(recent) == 0 {
		return nil
	}
	return &recent[w.r.IntN(len(recent))]
}

func (w *walk) unfinished(i int) error {
	var q store.UnfinishedRequest
	if w.r.IntN(3) == 0 {
		q.Jobs = []string{w.job(), w.job(), "never heard of"}
	}
	got, err1 := w.stores[i].Unfinished(w.t.Context(), q)
	want, err2 := w.models[i].Unfinished(w.t.Context(), q)
	if !reflect.DeepEqual(got, want) || !sameError(err1, err2) {
		return fmt.Errorf("unfinished %q\n got %+v, %v\nwant %+v, %v", q.Jobs, got, err1, want, err2)
	}
	if w.lease {
		w.seen[i] = got.Runs
	}
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

// checkIndex compares the namespace's list of unfinished runs with the jobs'
// own.
func (w *walk) checkIndex() error {
	ctx := w.t.Context()
	for i, b := range w.stores {
		listed, err := w.clock.client.HVals(ctx, b.keys.open()).Result()
		if err != nil {
			return err
		}
		a, err := w.models[i].Unfinished(ctx, store.UnfinishedRequest{})
		if err != nil {
			return err
		}
		var want []string
		for _, u := range a.Runs {
			want = append(want, escape(u.Job, plainInKey))
		}
		slices.Sort(listed)
		slices.Sort(want)
		if !slices.Equal(listed, want) {
			return fmt.Errorf("namespace %d lists unfinished runs of %q; they are of %q", i, listed, want)
		}
	}
	return nil
}
