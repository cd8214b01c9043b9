package kit

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Defaults of a [Suite].
const (
	DefaultLease     = 400 * time.Millisecond
	DefaultAge       = 3 * time.Second
	DefaultCallLimit = 20 * time.Second
	DefaultLimit     = time.Minute
)

// Suite runs checks against one subject. Fill in the fields, call Start once,
// then Run from any number of goroutines, then Close.
type Suite struct {
	Subject   Subject
	Seed      uint64        // of all random draws; each check derives its own
	Lease     time.Duration // the short lease of checks that see one end; 0 means DefaultLease
	Age       time.Duration // how long checks wait to see if the store forgets; 0 means DefaultAge
	CallLimit time.Duration // after which a call counts as hanging; 0 means DefaultCallLimit

	description store.Description
	skew        time.Duration // of the store's clock, ahead of this machine's; 0 if it has none
	pool        pool
	tag         string // makes this run's job names its own
	base        int64  // the first slot that checks use
}

// Start opens the subject a first time and asks it to describe itself.
func (s *Suite) Start(ctx context.Context) (store.Description, error) {
	if s.Lease == 0 {
		s.Lease = DefaultLease
	}
	if s.Age == 0 {
		s.Age = DefaultAge
	}
	if s.CallLimit == 0 {
		s.CallLimit = DefaultCallLimit
	}
	s.pool.subject = s.Subject
	now := time.Now()
	s.tag = fmt.Sprintf("%x", uint64(now.UnixNano())^s.Seed)
	s.base = now.Add(-2 * time.Hour).Truncate(time.Second).UnixMilli()

	ctx, cancel := context.WithTimeout(ctx, s.CallLimit)
	defer cancel()
	procs, err := s.pool.take(ctx, 1)
	if err != nil {
		return store.Description{}, fmt.Errorf("opening the subject: %w", err)
	}
	d, err := bounded(ctx, func() (store.Description, error) { return procs[0].Describe(ctx) })
	if err != nil {
		closeAll(procs)
		return store.Description{}, fmt.Errorf("asking the subject to describe itself: %w", err)
	}
	s.description = d
	s.measureSkew(ctx, procs[0])
	s.pool.put(procs[0])
	return d, nil
}

// measureSkew asks the history of a job that never ran for the store's now. If
// there is no answer the checks will say so.
func (s *Suite) measureSkew(ctx context.Context, p Process) {
	if s.description.Clock != store.ClockStore || !s.description.History {
		return
	}
	a, err := bounded(ctx, func() (store.HistoryAnswer, error) {
		return p.History(ctx, store.HistoryRequest{Job: "conformance clock " + s.tag, Limit: 1})
	})
	if err == nil && a.Now > 0 {
		s.skew = time.Until(store.Time(a.Now)).Round(time.Second)
	}
}

// Close closes what the suite opened.
func (s *Suite) Close() error { return s.pool.close() }

// Run runs one check and returns within its limit and a little grace, whatever
// the subject does. It is safe for concurrent use.
func (s *Suite) Run(ctx context.Context, c Check) Result {
	limit := c.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the check took longer than its limit of %v", limit))
	defer cancel()

	seed := s.Seed ^ hash(c.ID)
	r := newRun(ctx, s, c, seed)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.end(Error, fmt.Sprintf("the check panicked: %v\n%s", p, debug.Stack()))
			}
		}()
		if why := s.lacks(c); why != "" {
			r.end(Skip, why)
			return
		}
		c.Do(r)
	}()

	// Every call is bounded by ctx, so that a check returns soon after it. One
	// that loops without calling anything is left behind.
	select {
	case <-done:
	case <-ctx.Done():
		timer := time.NewTimer(2 * grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
			r.end(Error, "the check has not returned: "+context.Cause(ctx).Error())
		}
	}
	return r.close()
}

// lacks says what the subject does not have of a check's needs.
func (s *Suite) lacks(c Check) string {
	for _, n := range needNames {
		if c.Needs&n.need == 0 {
			continue
		}
		if why := s.lacking(n.need); why != "" {
			return why
		}
	}
	return ""
}

func (s *Suite) lacking(need Needs) string {
	l, tells := s.Subject.(Lacker)
	switch need {
	case NeedHistory:
		if !s.description.History {
			return "the plugin declares no history"
		}
	case NeedSkew:
		if s.skew.Abs() < leastSkew {
			return fmt.Sprintf("not covered: the store's clock is less than %v from this machine's, so nobody can tell by which a plugin judges", leastSkew)
		}
	default:
		if tells {
			return l.Lacks(need)
		}
		return "not covered: the subject can't have that done to it"
	}
	return ""
}

// leastSkew is how far clocks must be apart to tell by which of them a plugin
// judges, on a slow machine too.
const leastSkew = time.Minute

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}
