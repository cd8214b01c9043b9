//go:build cgo

package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// BenchmarkClaim measures granted claims, each of another job, one transaction
// per claim against batches; ns/op is per claim. The jobs are there already and
// have full histories, as in a service that runs for a while.
func BenchmarkClaim(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			l := newLoad(b, 256)
			n := 0
			for b.Loop() {
				// One iteration is one claim; the batch goes out when it is full.
				if n++; n%size == 0 {
					l.claim(b, size)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// load is a service with many jobs and short histories.
type load struct {
	*Backend
	jobs []string
	next int   // job
	slot int64 // of the round
}

func newLoad(b testing.TB, jobs int) *load {
	l := &load{Backend: open(b, testSettings(b)), slot: time.Now().UnixMilli()}
	for i := range jobs {
		l.jobs = append(l.jobs, fmt.Sprint("reports/customer-", i))
	}
	for range 4 * jobs / 256 { // histories of three runs are full then
		l.claim(b, 256)
	}
	return l
}

// claim has the next jobs' runs granted and finished: history is trimmed in
// every claim, as in daily life.
func (l *load) claim(b testing.TB, size int) {
	var qs []store.ClaimRequest
	for range size {
		if l.next = (l.next + 1) % len(l.jobs); l.next == 0 {
			l.slot++
		}
		q := claimOf(l.jobs[l.next], l.slot)
		q.MaxLate, q.MaxEarly = store.MaxBound, store.MaxBound
		q.Overlap, q.HistorySize, q.Lease = store.OverlapAllow, 3, 1e6
		qs = append(qs, q)
	}
	for i, r := range l.ClaimBatch(b.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			b.Fatalf("%+v: %+v, %v", qs[i], r.Answer, r.Err)
		}
	}
}
