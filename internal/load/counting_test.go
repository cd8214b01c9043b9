package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// counts is what an instance did since its start.
type counts struct {
	Calls    map[string]int // by verb
	Verdicts map[string]int // of claims
	Failed   map[string]int // calls without an answer, by verb
	Events   map[string]int // of the scheduler, by type
	Refused  map[string]int // heartbeats and finishes, by verb
	Flying   int            // claims and finishes that wait for their answers

	Started   int // handlers
	Takeovers int // handlers of a second or later attempt
	Recorded  int // finishes
	Holding   int // handlers of held jobs
	Cancelled int // of them, by another cause than the end

	LastWon       time.Time     // when the last grant arrived
	SlowestBeat   time.Duration // the longest time that a heartbeat waited for its answer
	SlowestClaim  time.Duration
	SlowestFinish time.Duration
}

// countingStore is a plugin whose calls are counted.
type countingStore struct {
	*storekit.Client
	mu     sync.Mutex
	c      counts
	starts map[int64][]int32
}

func newCountingStore(c *storekit.Client) *countingStore {
	return &countingStore{Client: c, starts: map[int64][]int32{}, c: counts{
		Calls: map[string]int{}, Verdicts: map[string]int{}, Failed: map[string]int{}, Events: map[string]int{}, Refused: map[string]int{},
	}}
}

// told notes an event of the scheduler.
func (s *countingStore) told(e core.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.Events[strings.TrimPrefix(fmt.Sprintf("%T", e), "core.")]++
}

// began notes a call, and ended its answer.
func (s *countingStore) began(verb string, flies bool) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.Calls[verb]++
	if flies {
		s.c.Flying++
	}
	return time.Now()
}

// ended is called with s.mu held.
func (s *countingStore) ended(verb string, began time.Time, err error, flies bool, slowest *time.Duration) {
	if err != nil {
		s.c.Failed[verb]++
	}
	if flies {
		s.c.Flying--
	}
	*slowest = max(*slowest, time.Since(began))
}

func (s *countingStore) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	began := s.began("claim", true)
	a, err := s.Client.Claim(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended("claim", began, err, true, &s.c.SlowestClaim)
	if err == nil {
		s.c.Verdicts[a.Verdict.String()]++
		if a.Verdict == store.VerdictWon {
			s.c.LastWon = time.Now()
		}
	}
	return a, err
}

func (s *countingStore) Heartbeat(ctx context.Context, q store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	began := s.began("heartbeat", false)
	a, err := s.Client.Heartbeat(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended("heartbeat", began, err, false, &s.c.SlowestBeat)
	if err == nil && !a.Renewed {
		s.c.Refused["heartbeat"]++
	}
	return a, err
}

func (s *countingStore) Finish(ctx context.Context, q store.FinishRequest) (store.FinishAnswer, error) {
	began := s.began("finish", true)
	a, err := s.Client.Finish(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended("finish", began, err, true, &s.c.SlowestFinish)
	switch {
	case err != nil:
	case a.Recorded:
		s.c.Recorded++
	default:
		s.c.Refused["finish"]++
	}
	return a, err
}

func (s *countingStore) Unfinished(ctx context.Context, q store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	began := s.began("unfinished", false)
	a, err := s.Client.Unfinished(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended("unfinished", began, err, false, new(time.Duration))
	return a, err
}

func (s *countingStore) History(ctx context.Context, q store.HistoryRequest) (store.HistoryAnswer, error) {
	began := s.began("history", false)
	a, err := s.Client.History(ctx, q)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended("history", began, err, false, new(time.Duration))
	return a, err
}

// started notes a handler of the burst.
func (s *countingStore) started(run core.Run, keep bool) {
	late := time.Since(run.ScheduledAt)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.Started++
	if run.Attempt > 1 {
		s.c.Takeovers++
	}
	if keep {
		s.starts[run.Slot] = append(s.starts[run.Slot], int32(late.Milliseconds()))
	}
}

// holding notes a handler that lasts to the end.
func (s *countingStore) holding(run core.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.Holding++
	if run.Attempt > 1 {
		s.c.Takeovers++
	}
}

func (s *countingStore) cancelled(error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.Cancelled++
}

func (s *countingStore) report() hostReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.c // encoded after the lock is given back
	c.Calls, c.Verdicts, c.Failed = maps.Clone(c.Calls), maps.Clone(c.Verdicts), maps.Clone(c.Failed)
	c.Events, c.Refused = maps.Clone(c.Events), maps.Clone(c.Refused)
	starts := map[int64][]int32{}
	for slot, all := range s.starts {
		starts[slot] = slices.Clone(all)
	}
	return hostReport{PluginPID: s.PID(), Counts: c, Starts: starts}
}
