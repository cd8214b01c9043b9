package postgresstore

import (
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// benchConnections is how many connections a benchmark uses, each always busy.
const benchConnections = 4

// BenchmarkClaim measures granted claims, one call per claim against batches;
// ns/op is per claim. The jobs are there already and have full histories, as in
// a service that runs for a while.
func BenchmarkClaim(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			l := newLoad(b, testSettings(b), size)
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			l.run(b, func() bool { return left.Add(-int64(size)) > -int64(size) })
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkHeartbeat measures renewals, in batches as an instance sends them.
func BenchmarkHeartbeat(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			backend := open(b, testSettings(b))
			now := time.Now().UnixMilli()
			var beats []store.HeartbeatRequest
			for i, r := range backend.ClaimBatch(b.Context(), claims(size, now)) {
				beats = append(beats, store.HeartbeatRequest{Job: fmt.Sprint("j", i), Slot: now, Token: r.Answer.Token, Lease: time.Minute})
			}
			for n := 0; b.Loop(); n++ {
				if n%size > 0 {
					continue // one iteration is one heartbeat
				}
				for _, r := range backend.HeartbeatBatch(b.Context(), beats) {
					if r.Err != nil || !r.Answer.Renewed {
						b.Fatal(r)
					}
				}
			}
		})
	}
}

// load is a service with short histories: as many batches of jobs as there are
// connections.
type load struct {
	*Backend
	jobs  [benchConnections][]string
	slots [benchConnections]int64
}

func newLoad(t testing.TB, set settings, size int) *load {
	set.poolSize = benchConnections
	l := &load{Backend: open(t, set)}
	for c := range l.jobs {
		l.slots[c] = time.Now().UnixMilli()
		for i := range size {
			l.jobs[c] = append(l.jobs[c], fmt.Sprintf("reports/customer-%d-%d", c, i))
		}
	}
	rounds := 4 * benchConnections // histories of three runs are full then
	var n atomic.Int64
	l.run(t, func() bool { return n.Add(1) <= int64(rounds) })
	return l
}

// run claims on all connections, each its own batch of jobs again and again, as
// long as more says so.
func (l *load) run(t testing.TB, more func() bool) {
	var wait sync.WaitGroup
	for c := range l.jobs {
		wait.Go(func() {
			for more() && !t.Failed() {
				l.claim(t, c)
			}
		})
	}
	wait.Wait()
}

// claim has the next runs of a batch granted: the run before is closed, since
// its lease is over, and the history trimmed, in every claim.
func (l *load) claim(t testing.TB, c int) {
	l.slots[c]++
	qs := make([]store.ClaimRequest, len(l.jobs[c]))
	for i, job := range l.jobs[c] {
		q := raceClaim(job, l.slots[c])
		q.HistorySize, q.Lease = 3, time.Millisecond
		qs[i] = q
	}
	for i, r := range l.ClaimBatch(t.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			t.Errorf("%+v: %+v, %v", qs[i], r.Answer, r.Err)
			return
		}
	}
}

// rate runs the load for a while and returns claims per second.
func (l *load) rate(t testing.TB, during time.Duration) float64 {
	var n atomic.Int64
	begin := time.Now()
	l.run(t, func() bool {
		n.Add(1)
		return time.Since(begin) < during
	})
	return float64((n.Load()-benchConnections)*int64(len(l.jobs[0]))) / time.Since(begin).Seconds()
}

// at is the settings' server at another address.
func (s settings) at(t testing.TB, host string) settings {
	return s.withURL(t, func(u *url.URL) { u.Host = host })
}
