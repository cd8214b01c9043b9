package checks

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	record "github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/conformance/history/traffic"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// linear: what many processes saw is judged as a whole. The directed checks look for
// the faults that one can think of; these find what comes of everything at once.
func linear() []kit.Check {
	return []kit.Check{{
		ID:       "linear/shared",
		Promises: []string{"R-CLAIM-1", "R-CLAIM-2", "R-TOKEN-1", "R-TOKEN-3", "R-LEASE-1", "R-LEASE-2", "R-HISTORY-3"},
		Says:     "six processes with two instances each claim, renew, freeze, hand over, take over and end runs of the same jobs, answers go unheard and claims arrive twice: there is an order of all calls in which the rules give every answer that was given",
		Causes:   "steps that are not atomic: what is read before the lock, or written after it; a clock read before the lock; see the calls, and the files",
		Limit:    linearLimit,
		Do:       func(r *kit.Run) { linearCheck(r, 0) },
	}, {
		ID:       "linear/cut-off",
		Promises: []string{"R-ERROR-3", "R-CLAIM-1", "R-CLAIM-2", "R-FINISH-1"},
		Says:     "the same, and callers cut some calls off after 0 to 3 ms: a call without an answer did its work once or not at all, one that was said not to have been applied did nothing",
		Causes:   "an error after the write says not applied; a call that is cut off is half done, or done twice",
		Limit:    linearLimit,
		Do:       func(r *kit.Run) { linearCheck(r, 3*time.Millisecond) },
	}}
}

const (
	linearTurn  = 2500 * time.Millisecond // after which it is looked at what has happened
	linearTurns = 3                       // at least: what goes wrong is rare, and one turn let mutants through now and then
	linearMost  = 90 * time.Second        // that it goes on if too little has: where a call takes half a second, 40 s were too few once in 70 times
	linearLimit = 3 * time.Minute
	linearPace  = 12 // calls, of the usual length, that a lease lasts for at least
)

// linearRounds is how often the traffic is played if it can't be judged: the search for
// an order grows with chance. A history that can't be judged proves nothing, either way;
// if all are such, the check is an error.
const linearRounds = 3

// linearCheck lets the traffic run until enough has happened, and judges it.
func linearCheck(r *kit.Run, cutOff time.Duration) {
	kind := r.Description().Kind
	var stores []store.Store
	for _, c := range r.Open(processes) {
		stores = append(stores, asStore{c})
	}
	for round := 1; ; round++ {
		h := traffics(r, stores, cutOff, round)
		lacks := h.Stats().Lacks(kind)
		began := time.Now()
		j := record.Judge(h, 0)
		if j.Verdict == record.Unknown && round < linearRounds {
			r.Figure("not judged", "%d calls: %s", len(h.Ops), j.Reason)
			continue
		}
		r.Figure("calls", "%v", h.Stats())
		r.Figure("judged", "%d jobs, in %v", j.Jobs, kit.Wait(time.Since(began)))
		conclude(r, h, j)
		if len(lacks) > 0 { // a history that is illegal is proof however short it is
			r.Inconclusive("within %v too little happened to prove anything: %s", linearMost, strings.Join(lacks, ", "))
		}
		return
	}
}

// traffics lets the traffic run until enough has happened, or time is up.
func traffics(r *kit.Run, stores []store.Store, cutOff time.Duration, round int) *record.History {
	kind := r.Description().Kind
	rec := record.NewRecorder(fmt.Sprintf("%v store, %s", kind, r.Description().Product), kind)
	lease := r.Lease() / 4
	lacks := []string{"anything"}
	for turn := 0; (turn < linearTurns || len(lacks) > 0) && rec.Elapsed() < linearMost; turn++ {
		t := &traffic.Traffic{
			Recorder: rec, Kind: kind, History: r.Description().History, Stores: stores, Seed: uint64(r.IntN(1 << 30)),
			Lease: lease, Slot: r.Slot, CutOff: cutOff,
			Job: func(part, i int) string { return r.Job(fmt.Sprintf("j%d-%d-%d-%d", round, turn, part, i)) },
		}
		workers := t.Workers()
		work, cancel := context.WithTimeout(r.Context(), max(linearTurn, 20*lease))
		r.Parallel(len(workers), func(i int) {
			if err := workers[i].Run(r.Context(), work); err != nil {
				r.Fatalf("a request that breaks no rule was answered with an error that says so: %v", err)
			}
		})
		cancel()
		if err := t.Settle(r.Context()); err != nil {
			r.Fatalf("an error where an answer is due: %v", err)
		}
		h := rec.History()
		lacks = h.Stats().Lacks(kind)
		// On a machine that is overloaded runs would end before anybody could take
		// them over.
		lease = min(max(lease, linearPace*usualCall(h)), 2*time.Second)
	}
	return rec.History()
}

// usualCall is how long half of the calls take at most.
func usualCall(h *record.History) time.Duration {
	var took []time.Duration
	for _, o := range h.Ops {
		took = append(took, o.Return-o.Call)
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// conclude ends the check if no order of the calls follows the rules, or if that can't be
// told. What is left of the history is shown and attached, small enough to be read.
func conclude(r *kit.Run, h *record.History, j record.Judgement) {
	switch j.Verdict {
	case record.Legal: // kept, so that it can be judged again
		attachFile(r, "history.jsonl", func(b *bytes.Buffer) error { return h.Write(b) })
		return
	case record.Unknown:
		attachFile(r, "history.jsonl", func(b *bytes.Buffer) error { return h.Write(b) })
		r.Inconclusive("the calls could not be judged, %d times in a row: %s", linearRounds, j.Reason)
	}
	least, steps := record.Minimise(j.Culprit, 0, time.Now().Add(15*time.Second))
	attach(r, h, least)
	r.ShowsCalls()
	r.Fatalf("%s. What is left of them (%s), and can't be explained either:\n%s", j.Reason, strings.Join(steps, "; "), record.Ladder(least)+record.Turn(least))
}

// attach leaves the whole history, and what is left of it as a page.
func attach(r *kit.Run, h, least *record.History) {
	attachFile(r, "history.jsonl", func(b *bytes.Buffer) error { return h.Write(b) })
	attachFile(r, "least.jsonl", func(b *bytes.Buffer) error { return least.Write(b) })
	attachFile(r, "least.html", func(b *bytes.Buffer) error { return record.HTML(b, least) })
}

// attachFile leaves a file in the report's directory.
func attachFile(r *kit.Run, name string, write func(*bytes.Buffer) error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		r.Inconclusive("writing %s: %v", name, err)
	}
	r.Attach(name, b.Bytes())
}

// asStore is a client as a store, for what works with stores.
type asStore struct{ c *kit.Client }

func (s asStore) Describe(context.Context) (store.Description, error) { return s.c.Describe(), nil }

func (s asStore) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.c.TryClaimContext(ctx, req)
	return a.ClaimAnswer, err
}

func (s asStore) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	a, err := s.c.TryHeartbeatContext(ctx, req)
	return a.HeartbeatAnswer, err
}

func (s asStore) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	a, err := s.c.TryFinishContext(ctx, req)
	return a.FinishAnswer, err
}

func (s asStore) Unfinished(_ context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	a, err := s.c.TryUnfinished(req.Jobs...)
	return a.UnfinishedAnswer, err
}

func (s asStore) History(_ context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	a, err := s.c.TryHistory(req)
	return a.HistoryAnswer, err
}
