// Package traffic uses a store as many instances of a service would, all after the
// same runs, only worse: holders freeze past their lease and go on, die, hand over
// and lie about nothing; answers are not heard and asked for again; claims arrive
// twice. What the callers see is written down, to be judged by package history.
package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/core/store"
)

// Traffic is what is done. Fill in the fields and call [Traffic.Workers].
type Traffic struct {
	Recorder *history.Recorder
	Kind     store.Kind
	// Stores are the store as each process sees it. They are named p1, p2, ….
	Stores []store.Store
	Seed   uint64
	Lease  time.Duration // of every claim; the pace of everything
	Slot   func(i int) int64
	// Job names the i-th job of a part of the traffic. Parts follow one another, so
	// that no job has too many calls to be judged.
	Job     func(part, i int) string
	History bool // the store has one
	// CutOff lets some calls be cut off by their caller after up to this; 0 none.
	CutOff time.Duration

	mu   sync.Mutex
	jobs map[string]bool // that were claimed
}

const (
	jobsAtOnce = 2
	partLength = 12 // leases
	slotEvery  = 3  // leases
	perProcess = 2  // workers
)

// Worker is one instance.
type Worker struct {
	t       *Traffic
	name    string
	process int
	rng     *rand.Rand
	wishes  int
}

// Workers returns the instances.
func (t *Traffic) Workers() []*Worker {
	t.jobs = map[string]bool{}
	workers := make([]*Worker, perProcess*len(t.Stores))
	for i := range workers {
		workers[i] = &Worker{
			t: t, name: fmt.Sprintf("w%d", i+1), process: i % len(t.Stores), rng: rand.New(rand.NewPCG(t.Seed, uint64(i))),
		}
	}
	return workers
}

// Settle reads what is left when all workers have returned, so that the history
// can be judged. The store must answer.
func (t *Traffic) Settle(ctx context.Context) error {
	s := t.Recorder.Store("p1", t.Stores[0])
	for job := range t.jobs {
		if t.Kind == store.KindLease {
			if err := again(ctx, func() error { _, err := s.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{job}}); return err }); err != nil {
				return err
			}
		}
		if err := again(ctx, func() error {
			_, err := s.History(ctx, store.HistoryRequest{Job: job, Limit: store.MaxHistory})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// again repeats a call that reads.
func again(ctx context.Context, call func() error) (err error) {
	for range 5 {
		if err = call(); err == nil {
			return nil
		}
		sleep(ctx, 50*time.Millisecond)
	}
	return err
}

// Run works until work is over, and returns an error if the store called a request
// invalid that is not. ctx bounds the calls.
func (w *Worker) Run(ctx, work context.Context) error {
	for work.Err() == nil && ctx.Err() == nil {
		w.untilTick(work)
		if err := w.turn(ctx); err != nil {
			return fmt.Errorf("%s of p%d: %w", w.name, w.process+1, err)
		}
	}
	return nil
}

// untilTick waits for a moment at which other workers act too, or often not quite.
func (w *Worker) untilTick(work context.Context) {
	tick := w.t.Lease / 4
	wait := tick - w.t.Recorder.Elapsed()%tick
	if w.rng.IntN(3) == 0 {
		wait += time.Duration(w.rng.Int64N(int64(tick)))
	}
	sleep(work, wait)
}

// turn is one wish for a run, and what comes of it.
func (w *Worker) turn(ctx context.Context) error {
	elapsed := w.t.Recorder.Elapsed()
	slot := int(elapsed / (slotEvery * w.t.Lease))
	if w.rng.IntN(6) == 0 {
		slot = max(0, slot-1-w.rng.IntN(3)) // an older one
	}
	req := store.ClaimRequest{
		Job:  w.t.Job(int(elapsed/(partLength*w.t.Lease)), w.rng.IntN(jobsAtOnce)),
		Slot: w.t.Slot(slot), Reason: store.ReasonScheduled, Lease: w.t.Lease,
		MaxEarly: 30 * 24 * time.Hour, MaxLate: 30 * 24 * time.Hour, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 1000,
	}
	if w.rng.IntN(3) == 0 {
		req.Overlap = store.OverlapAllow
	}
	w.t.mu.Lock()
	w.t.jobs[req.Job] = true
	w.t.mu.Unlock()
	for range 4 {
		w.wishes++
		req.ID, req.Instance = store.NewClaimID(), fmt.Sprintf("%s.%d", w.name, w.wishes)
		a, err := w.claim(ctx, req)
		if err != nil {
			return err
		}
		if a.Verdict == store.VerdictWon {
			return w.hold(ctx, req, a)
		}
		if a.Verdict != store.VerdictRunning {
			break
		}
		sleep(ctx, min(a.Left, w.t.Lease)) // a backup
		req.After, req.Reason = a.Attempt, store.ReasonTakeover
	}
	if w.rng.IntN(4) == 0 {
		return w.read(ctx, req.Job)
	}
	return nil
}

// hold has a run until it ends it, loses it or dies with it.
func (w *Worker) hold(ctx context.Context, req store.ClaimRequest, a store.ClaimAnswer) error {
	lease := w.t.Lease
	beat := store.HeartbeatRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, Lease: lease}
	for range w.rng.IntN(4) {
		if w.t.Kind == store.KindClaimOnly {
			break
		}
		pause := lease / 3
		switch w.rng.IntN(8) {
		case 0: // it is frozen, and goes on
			pause = lease + lease/2
		case 1, 2: // just as its lease ends
			pause = lease
		}
		sleep(ctx, pause)
		if _, err := settle(ctx, w, func(ctx context.Context, s store.Store) (store.HeartbeatAnswer, error) { return s.Heartbeat(ctx, beat) }); err != nil {
			return err
		}
	}
	sleep(ctx, time.Duration(w.rng.Int64N(int64(lease/2))))
	end := store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: a.Token, ID: req.ID, Outcome: store.OutcomeSuccess}
	switch fate := w.rng.IntN(8); {
	case fate == 0: // it dies
		return nil
	case fate == 1:
		end.Outcome, end.Error = store.OutcomeFailed, "it went wrong"
	case fate < 5 && w.t.Kind == store.KindLease:
		end.Outcome = store.OutcomeReleased
	}
	_, err := settle(ctx, w, func(ctx context.Context, s store.Store) (store.FinishAnswer, error) { return s.Finish(ctx, end) })
	return err
}

func (w *Worker) read(ctx context.Context, job string) error {
	s := w.t.Recorder.Store(w.processName(), w.t.Stores[w.process])
	if w.t.Kind == store.KindLease && w.rng.IntN(2) == 0 {
		s.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{job}}) // without an answer it has read nothing
		return nil
	}
	if w.t.History {
		s.History(ctx, store.HistoryRequest{Job: job, Limit: 1 + w.rng.IntN(50)})
	}
	return nil
}

// claim asks until there is an answer, always with the same id. Some claims are
// delivered twice.
func (w *Worker) claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if w.rng.IntN(16) == 0 {
		other := (w.process + 1) % len(w.t.Stores)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { w.t.Recorder.Deaf(fmt.Sprintf("p%d", other+1), w.t.Stores[other]).Claim(ctx, req) })
	}
	return settle(ctx, w, func(ctx context.Context, s store.Store) (store.ClaimAnswer, error) { return s.Claim(ctx, req) })
}

func (w *Worker) processName() string { return fmt.Sprintf("p%d", w.process+1) }

// settle makes a call until its answer is heard: some are not, and some calls are
// cut off. The next try may go through another process. A call that was surely not
// applied is given up now and then: if it was applied, there is nothing to repeat
// that would hide it.
func settle[A any](ctx context.Context, w *Worker, call func(context.Context, store.Store) (A, error)) (A, error) {
	for {
		rec := w.t.Recorder
		s, deaf := rec.Store(w.processName(), w.t.Stores[w.process]), w.rng.IntN(16) == 0
		if deaf {
			s = rec.Deaf(w.processName(), w.t.Stores[w.process])
		}
		bound, cancel := ctx, context.CancelFunc(func() {})
		if w.t.CutOff > 0 && w.rng.IntN(6) == 0 {
			bound, cancel = context.WithTimeout(ctx, time.Duration(w.rng.Int64N(int64(w.t.CutOff))))
		}
		a, err := call(bound, s)
		cancel()
		switch {
		case history.ClassOf(err) == history.Invalid:
			return a, err
		case err == nil && !deaf, ctx.Err() != nil, history.ClassOf(err) == history.NotApplied && w.rng.IntN(2) == 0:
			return a, nil
		}
		sleep(ctx, time.Duration(w.rng.Int64N(int64(w.t.Lease/8))))
		w.process = w.rng.IntN(len(w.t.Stores))
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
