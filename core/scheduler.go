package core

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Scheduler runs jobs on one instance of a service, together with the other
// instances that share its store. It decides nothing itself: it owns the one
// goroutine, the one timer, the store and the handlers, and does what the
// machine says.
//
// All methods are safe for concurrent use.
type Scheduler struct {
	store store.Store
	desc  store.Description
	opts  Options
	start time.Time // origin of the monotonic readings

	inbox  inbox
	events *eventQueue

	mu       sync.Mutex
	names    map[string]struct{}
	health   error
	started  bool
	stopping bool
}

// describeTimeout bounds the one call that New makes.
const describeTimeout = 10 * time.Second

// New returns a scheduler over a store, which it asks to describe itself. The
// scheduler does not close the store. Timing rules that Options.Timing breaks by
// itself, whatever the schedule and the store's memory, are [RuleError]s.
func New(s store.Store, opts Options) (*Scheduler, error) {
	if s == nil {
		return nil, errors.New("core: the store is nil; open one with storekit.Open")
	}
	opts, err := opts.check()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), describeTimeout)
	defer cancel()
	desc, err := describe(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("core: the store does not describe itself: %w", err)
	}
	if desc.Kind != store.KindLease && desc.Kind != store.KindClaimOnly {
		return nil, fmt.Errorf("core: the store describes itself as %v; it must be a lease or a claim-only backend", desc.Kind)
	}
	if err := opts.Timing.checkDefaults(desc.Kind); err != nil {
		return nil, fmt.Errorf("core: options: timing:\n%w", err)
	}
	sch := &Scheduler{
		store: s, desc: desc, opts: opts, start: time.Now(),
		names: make(map[string]struct{}),
	}
	sch.inbox.init()
	sch.events = newEventQueue(opts)
	for _, w := range desc.Warnings {
		sch.events.put(Warning{Text: w})
	}
	return sch, nil
}

// describe asks a store what it is. A store is foreign code, and the commonest
// nil is a nil plugin in a store.Store.
func describe(ctx context.Context, s store.Store) (desc store.Description, err error) {
	if panicked := guarded(func() { desc, err = s.Describe(ctx) }); panicked != "" {
		return desc, fmt.Errorf("it panicked: %s; was it opened, with storekit.Open, and the error looked at?", panicked)
	}
	return desc, err
}

// Instance returns the name of this instance.
func (s *Scheduler) Instance() string { return s.opts.Instance }

// Add adds a job, before Run or while it runs. The error lists every fault of
// the job at once, each broken timing rule as a [RuleError]. A job without a
// fault is refused with [ErrDuplicateJob] if its name was added already, and with
// [ErrStopped] once the scheduler stops.
func (s *Scheduler) Add(j Job) error {
	full, warnings, err := j.check(s.opts.Timing, s.desc)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return fmt.Errorf("core: job %q cannot be added any more: %w", clipName(j.Name), ErrStopped)
	}
	if _, ok := s.names[j.Name]; ok {
		return fmt.Errorf("core: job %q: %w; Remove it first to replace it", clipName(j.Name), ErrDuplicateJob)
	}
	s.names[j.Name] = struct{}{}
	for _, w := range warnings {
		s.events.put(Warning{Job: j.Name, Text: w})
	}
	s.inbox.put(inputFunc(func(m *machine, now instant) { m.add(now, full) }))
	return nil
}

// Remove removes a job: it is not claimed any more by this instance. A handler
// that runs goes on and ends as usual; a slot that is due and not granted yet is
// [Skipped].
func (s *Scheduler) Remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.names[name]; !ok {
		return fmt.Errorf("core: job %q: %w", clipName(name), ErrUnknownJob)
	}
	delete(s.names, name)
	s.inbox.put(inputFunc(func(m *machine, now instant) { m.remove(now, name) }))
	return nil
}

// History returns up to limit attempts of a job, newest first, as the store
// remembers them; limit is 1 to 10 000. The job need not be one of this
// instance's.
func (s *Scheduler) History(ctx context.Context, name string, limit int) ([]store.Attempt, error) {
	req := store.HistoryRequest{Job: name, Limit: limit}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	var all []store.Attempt
	for {
		ans, err := s.store.History(ctx, req)
		if err != nil {
			return all, err
		}
		all = append(all, ans.Attempts...)
		if len(all) >= limit || ans.Next == "" || len(ans.Attempts) == 0 {
			return all[:min(len(all), limit)], nil
		}
		req.Page, req.Limit = ans.Next, limit-len(all)
	}
}

// Healthy returns nil if the store answers, and otherwise why not: the error of the
// last write (claim, heartbeat, finish), as long as it is repeated, or of the last
// read. Where nothing is asked any more, as on a claim-only backend between two slots,
// nothing is known, and it is nil. Running handlers go on either way. It is nil before Run. See [StoreError].
func (s *Scheduler) Healthy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health
}

// Run claims and runs jobs until ctx is done, then stops gracefully: it takes no
// new runs, cancels the running handlers with [ErrStopped] after the grace, and
// hands over those that do not finish. It returns nil, or an [ErrHandlerStuck]
// for each handler that did not return within the stop timeout. It can be called
// once.
func (s *Scheduler) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.started {
		s.mu.Unlock()
		return fmt.Errorf("core: %w", ErrRunning)
	}
	s.started = true
	s.events.put(schedulerRuns{on: s.desc, jobs: len(s.names)})
	s.mu.Unlock()

	d := &driver{
		Scheduler:  s,
		executions: make(map[*run]*execution),
		turn:       make(callGroups),
		m: newMachine(machineConfig{
			instance: s.opts.Instance,
			kind:     s.desc.Kind,
			maxRuns:  s.opts.MaxRuns,
			grace:    s.opts.Grace,
			rand:     rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
			newID:    store.NewClaimID,
		}),
	}
	go s.events.deliver()
	err := d.loop(ctx)
	return errors.Join(err, s.events.close())
}

// now reads both clocks.
func (s *Scheduler) now() instant {
	return instant{wall: s.opts.Now().UnixNano(), mono: int64(time.Since(s.start))}
}

// stuckError names the handlers that did not return.
func stuckError(runs []Run) error {
	var errs []error
	for _, r := range runs {
		errs = append(errs, fmt.Errorf("core: job %q, slot %s, attempt %d: %w", r.Job, r.ScheduledAt.Format(time.RFC3339Nano), r.Attempt, ErrHandlerStuck))
	}
	return errors.Join(errs...)
}
