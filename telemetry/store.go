package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/anarchon-go/anarchon/core/store"
)

// Store measures the calls to s: give the result to core.New in its place. It changes
// nothing of what goes through.
func (t *Telemetry) Store(s store.Store) store.Store {
	if s == nil {
		return nil // core.New says it better
	}
	return &measured{Store: s, t: t, leases: map[attempt]lease{}, sweepAt: fewLeases}
}

// measured is a store whose calls are timed.
type measured struct {
	store.Store
	t *Telemetry

	mu     sync.Mutex
	leases map[attempt]lease // of the runs that this instance holds
	// sweepAt is the number of leases at which those that ended are dropped: a run
	// whose finish was never answered leaves one behind.
	sweepAt int
}

const fewLeases = 1024

// hold keeps a grant. m.mu is not held.
func (m *measured) hold(a attempt, l lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leases[a] = l
	if len(m.leases) < m.sweepAt {
		return
	}
	for a, l := range m.leases {
		if time.Since(l.sent) > 2*l.length {
			delete(m.leases, a)
		}
	}
	m.sweepAt = max(fewLeases, 2*len(m.leases))
}

type attempt struct {
	job   string
	slot  int64
	token store.Token
}

// lease is a grant or a renewal, as its holder may count it: from when it was asked for.
type lease struct {
	sent   time.Time
	length time.Duration
}

// timed records how long a call took, by the caller's clock, and how it ended.
func (m *measured) timed(ctx context.Context, operation string, sent time.Time, err error) {
	attrs := []attribute.KeyValue{keyOperation.String(operation)}
	if err != nil {
		attrs = append(attrs, keyError.String(errorType(err)))
	}
	m.t.m.operation.Record(ctx, time.Since(sent).Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
}

func (m *measured) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	sent := time.Now()
	ans, err := m.Store.Claim(ctx, req)
	m.timed(ctx, "claim", sent, err)
	if err != nil {
		return ans, err
	}
	m.t.m.claims.Add(ctx, 1, m.t.of(req.Job, keyVerdict.String(ans.Verdict.String())))
	if ans.Verdict == store.VerdictWon && ans.Token != 0 {
		m.hold(attempt{req.Job, req.Slot, ans.Token}, lease{sent, ans.Left})
	}
	return ans, nil
}

func (m *measured) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	sent := time.Now()
	ans, err := m.Store.Heartbeat(ctx, req)
	m.timed(ctx, "heartbeat", sent, err)
	if err != nil {
		return ans, err
	}
	key := attempt{req.Job, req.Slot, req.Token}
	m.mu.Lock()
	before, known := m.leases[key]
	if ans.Renewed {
		m.leases[key] = lease{sent, req.Lease}
	} else {
		delete(m.leases, key)
	}
	m.mu.Unlock()
	if known && ans.Renewed {
		left := before.length - time.Since(before.sent)
		m.t.m.margin.Record(ctx, left.Seconds(), m.t.of(req.Job))
	}
	return ans, nil
}

func (m *measured) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	sent := time.Now()
	ans, err := m.Store.Finish(ctx, req)
	m.timed(ctx, "finish", sent, err)
	if err == nil {
		m.mu.Lock()
		delete(m.leases, attempt{req.Job, req.Slot, req.Token})
		m.mu.Unlock()
	}
	return ans, err
}

func (m *measured) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	sent := time.Now()
	ans, err := m.Store.Unfinished(ctx, req)
	m.timed(ctx, "unfinished", sent, err)
	return ans, err
}

func (m *measured) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	sent := time.Now()
	ans, err := m.Store.History(ctx, req)
	m.timed(ctx, "history", sent, err)
	return ans, err
}
