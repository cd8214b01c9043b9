package model

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Options configure a [Store]. The zero value is a lease store on the wall
// clock without faults.
type Options struct {
	// Now is the store's clock; nil means time.Now. It is called once per verb,
	// with the store locked, and must not call the store.
	Now func() time.Time
	// Namespace is the one that the store's verbs work in; see
	// [Store.Namespace].
	Namespace string
	// ClaimOnly makes it a claim-only store; nil means a lease store.
	ClaimOnly *ClaimOnly
	// Fault bends one rule. It is for testing tests. A fault that stores of
	// this kind can't have does nothing; see [Faults].
	Fault Fault
}

// Store is a [store.Store] in memory: the rules of [Job] for many jobs. Jobs
// are never forgotten, and there is no bound on their number. It is safe for
// concurrent use. A call whose context is over is refused before it does
// anything ([store.ErrNotApplied]).
type Store struct {
	*shared
	namespace string
}

// shared is what all namespaces of a store have in common.
type shared struct {
	opt Options
	do  *storeSteps

	mu   sync.Mutex
	jobs map[jobKey]rules
	ids  idIndex
}

// rules is what one job's state answers: a [Job], or a claim-only one.
type rules interface {
	Claim(now int64, req store.ClaimRequest) (store.ClaimAnswer, error)
	Finish(now int64, req store.FinishRequest) store.FinishAnswer
	History(now int64, req store.HistoryRequest) (store.HistoryAnswer, error)
	used() bool // something was granted
	clone() rules
}

type jobKey struct{ namespace, job string }

// New returns an empty store. It panics if the fault is none of the package's.
func New(o Options) *Store {
	o.Fault.must()
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &shared{opt: o, do: &storeRules[o.Fault], jobs: map[jobKey]rules{}}
	return &Store{s, o.Namespace}
}

// Namespace returns a view of the same store for the services of another
// namespace: they do not see each other's jobs.
func (s *Store) Namespace(name string) *Store { return &Store{s.shared, name} }

// Describe says what kind of store this is.
func (s *Store) Describe(ctx context.Context) (store.Description, error) {
	d := store.Description{
		Kind: store.KindLease, Memory: store.Memory{Forever: true}, Clock: store.ClockStore,
		Fenced: true, History: true, Product: "the model, in memory", Format: 1,
		Warnings: []string{"nothing outlives this process; use it for tests and simulations only"},
	}
	if s.opt.ClaimOnly != nil {
		s.opt.ClaimOnly.describe(&d)
	}
	return d, alive(ctx)
}

// Claim judges a claim; see [Job.Claim].
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if err := s.check(ctx, req.Validate()); err != nil {
		return store.ClaimAnswer{}, err
	}
	req.Slot = s.do.slot(req.Slot)
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.do.claim(s, s.do.key(s.namespace, req.Job), s.now(), req)
	a.Now = s.do.shown(a.Now)
	return a, err
}

// claim is the step that must be atomic. The store is locked.
func (s *Store) claim(key jobKey, now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if err := s.do.checkID(s, key, req.ID); err != nil {
		return store.ClaimAnswer{}, err
	}
	j := s.job(key)
	a, err := j.Claim(now, req)
	if err == nil {
		s.keep(key, j, req.ID, a.Verdict)
	}
	return a, err
}

// job returns a job's state, an empty one if nothing of it is known.
func (s *Store) job(key jobKey) rules {
	if j, known := s.jobs[key]; known {
		return j
	}
	if s.opt.ClaimOnly != nil {
		return newTaken(*s.opt.ClaimOnly, s.opt.Fault)
	}
	return NewJob(s.opt.Fault)
}

// keep stores a job's state after a claim. A job that was never granted leaves
// nothing behind.
func (s *Store) keep(key jobKey, j rules, id store.ClaimID, v store.Verdict) {
	if !j.used() {
		return
	}
	s.jobs[key] = j
	if v == store.VerdictWon && s.opt.ClaimOnly == nil {
		s.ids.add(id, key, s.jobs)
	}
	s.do.trimmed(s, key)
}

// Heartbeat renews a lease; see [Job.Heartbeat].
func (s *Store) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	if err := s.check(ctx, s.leaseOnly(), req.Validate()); err != nil {
		return store.HeartbeatAnswer{}, err
	}
	req.Slot = s.do.slot(req.Slot)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := store.HeartbeatAnswer{Now: s.now()}
	if j, known := s.jobs[s.do.key(s.namespace, req.Job)].(*Job); known {
		a = j.Heartbeat(a.Now, req)
	}
	a.Now = s.do.shown(a.Now)
	return a, nil
}

// Finish ends an attempt; see [Job.Finish].
func (s *Store) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	if err := s.check(ctx, req.Validate()); err != nil {
		return store.FinishAnswer{}, err
	}
	if req.Outcome == store.OutcomeReleased && s.opt.ClaimOnly != nil {
		return store.FinishAnswer{}, fmt.Errorf("outcome released: %w: nobody could take the run over; finish it as interrupted", store.ErrUnsupported)
	}
	req.Slot = s.do.slot(req.Slot)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.do.key(s.namespace, req.Job)
	a := s.job(key).Finish(s.now(), req)
	s.do.trimmed(s, key)
	a.Now = s.do.shown(a.Now)
	return a, nil
}

// Unfinished recalls the unfinished runs of the jobs, or, without names, of all
// jobs of the namespace, by job and slot.
func (s *Store) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if err := s.check(ctx, s.leaseOnly(), req.Validate()); err != nil {
		return store.UnfinishedAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := store.UnfinishedAnswer{Now: s.now()}
	for _, key := range s.recalled(req.Jobs) {
		if j, known := s.jobs[key].(*Job); known {
			a.Runs = j.appendUnfinished(a.Runs, key.job, a.Now)
		}
	}
	a.Now = s.do.shown(a.Now)
	return a, nil
}

// recalled returns the keys of the jobs, or without names of all that can be
// seen, sorted.
func (s *Store) recalled(names []string) []jobKey {
	var keys []jobKey
	for _, name := range names {
		keys = append(keys, s.do.key(s.namespace, name))
	}
	if len(names) == 0 {
		for key := range s.jobs {
			if s.do.seesAll(s.namespace, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

// History recalls a page of a job's attempts; see [Job.History].
func (s *Store) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := s.check(ctx, req.Validate()); err != nil {
		return store.HistoryAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.job(s.do.key(s.namespace, req.Job)).History(s.now(), req)
	a.Now = s.do.shown(a.Now)
	return a, err
}

func (s *Store) now() int64 { return s.opt.Now().UnixMilli() }

func (s *Store) leaseOnly() error {
	if s.opt.ClaimOnly != nil {
		return store.ErrUnsupported
	}
	return nil
}

// check returns the first error: that of a call that is over before all, then
// what the request is refused for.
func (s *Store) check(ctx context.Context, refusals ...error) error {
	if err := alive(ctx); err != nil {
		return err
	}
	for _, err := range refusals {
		if err = s.do.refuse(err); err != nil {
			return err
		}
	}
	return nil
}

func alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", store.ErrNotApplied, err)
	}
	return nil
}
