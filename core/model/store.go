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
	// Fault bends one rule. It is for testing tests.
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
}

type jobKey struct{ namespace, job string }

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{&shared{opt: o, jobs: map[jobKey]rules{}, ids: idIndex{}}, o.Namespace}
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
	if c := s.opt.ClaimOnly; c != nil {
		c.describe(&d)
	}
	return d, alive(ctx)
}

// Claim judges a claim; see [Job.Claim].
func (s *Store) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if err := s.check(ctx, req.Validate()); err != nil {
		return store.ClaimAnswer{}, err
	}
	key := s.key(req.Job)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if owner, used := s.ids.owner(req.ID, key, s.jobs); used {
		return store.ClaimAnswer{}, invalidID(req.ID, fmt.Sprintf("a fresh one: this one was used for job %q", owner))
	}
	j, known := s.jobs[key]
	if !known {
		j = s.newJob()
	}
	answer, err := j.Claim(now, req)
	if !known && j.used() {
		s.jobs[key] = j
	}
	if err == nil && answer.Verdict == store.VerdictWon && s.opt.ClaimOnly == nil {
		s.ids.add(req.ID, key, s.jobs)
	}
	return answer, err
}

// Heartbeat renews a lease; see [Job.Heartbeat].
func (s *Store) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	if err := s.check(ctx, s.leaseOnly(), req.Validate()); err != nil {
		return store.HeartbeatAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	j, known := s.jobs[s.key(req.Job)].(*Job)
	if !known {
		return store.HeartbeatAnswer{Now: now}, nil
	}
	return j.Heartbeat(now, req), nil
}

// Finish ends an attempt; see [Job.Finish].
func (s *Store) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	if err := s.check(ctx, req.Validate()); err != nil {
		return store.FinishAnswer{}, err
	}
	if req.Outcome == store.OutcomeReleased && s.opt.ClaimOnly != nil {
		return store.FinishAnswer{}, fmt.Errorf("outcome released: %w: nobody could take the run over; finish it as interrupted", store.ErrUnsupported)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	j, known := s.jobs[s.key(req.Job)]
	if !known {
		return store.FinishAnswer{Now: s.shown(now)}, nil
	}
	return j.Finish(now, req), nil
}

// Unfinished recalls the unfinished runs of the jobs, or, without names, of all
// jobs of the namespace, by job and slot.
func (s *Store) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if err := s.check(ctx, s.leaseOnly(), req.Validate()); err != nil {
		return store.UnfinishedAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := store.UnfinishedAnswer{Now: s.now()}
	names := slices.Clone(req.Jobs)
	if len(names) == 0 {
		for key := range s.jobs {
			if key.namespace == s.namespace {
				names = append(names, key.job)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if j, known := s.jobs[s.key(name)].(*Job); known {
			answer.Runs = j.appendUnfinished(answer.Runs, name, answer.Now)
		}
	}
	return answer, nil
}

// History recalls a page of a job's attempts; see [Job.History].
func (s *Store) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	if err := s.check(ctx, req.Validate()); err != nil {
		return store.HistoryAnswer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	j, known := s.jobs[s.key(req.Job)]
	if !known {
		j = s.newJob()
	}
	return j.History(now, req)
}

func (s *Store) key(job string) jobKey { return jobKey{s.namespace, job} }

func (s *Store) now() int64 { return s.opt.Now().UnixMilli() }

func (s *Store) newJob() rules {
	if c := s.opt.ClaimOnly; c != nil {
		return newTaken(*c, s.opt.Fault)
	}
	return NewJob(s.opt.Fault)
}

// shown is the now that answers carry.
func (s *Store) shown(now int64) int64 {
	if c := s.opt.ClaimOnly; c != nil && c.NoClock {
		return 0
	}
	return now
}

func (s *Store) leaseOnly() error {
	if s.opt.ClaimOnly != nil {
		return store.ErrUnsupported
	}
	return nil
}

// check returns the first error, a cancelled context's before all.
func (s *Store) check(ctx context.Context, errs ...error) error {
	if err := alive(ctx); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
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
