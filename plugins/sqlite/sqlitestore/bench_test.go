//go:build cgo

package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// BenchmarkClaim measures granted claims of many jobs, by how many of them share
// a transaction; ns/op is per batch. Their finishes are not measured.
func BenchmarkClaim(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			l := newLoad(b)
			for b.Loop() {
				fs := l.claim(b, size)
				b.StopTimer()
				l.finish(b, fs)
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkBatchGain measures both in turn on the same file, so that whatever
// else the machine does hits both: a transaction per claim, and one per 64.
func BenchmarkBatchGain(b *testing.B) {
	const size = 64
	l := newLoad(b)
	var single, batch time.Duration
	for b.Loop() {
		begin := time.Now()
		var fs []store.FinishRequest
		for range size {
			fs = append(fs, l.claim(b, 1)...)
		}
		single += time.Since(begin)
		l.finish(b, fs)
		begin = time.Now()
		fs = l.claim(b, size)
		batch += time.Since(begin)
		l.finish(b, fs)
	}
	b.ReportMetric(float64(b.N*size)/single.Seconds(), "single-claims/s")
	b.ReportMetric(float64(b.N*size)/batch.Seconds(), "batch-claims/s")
	b.ReportMetric(single.Seconds()/batch.Seconds(), "gain")
}

// BenchmarkRefused measures claims that are told that the run is held: what all
// instances but one get.
func BenchmarkRefused(b *testing.B) {
	backend := open(b, testSettings(b))
	qs := claims(64, time.Now().UnixMilli())
	backend.ClaimBatch(b.Context(), qs)
	for i := range qs {
		qs[i].ID = store.NewClaimID()
	}
	for b.Loop() {
		for _, r := range backend.ClaimBatch(b.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictRunning {
				b.Fatal(r)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(qs))/b.Elapsed().Seconds(), "claims/s")
}

// BenchmarkHeartbeat measures renewals of 64 runs in one transaction.
func BenchmarkHeartbeat(b *testing.B) {
	backend := open(b, testSettings(b))
	qs := claims(64, time.Now().UnixMilli())
	var beats []store.HeartbeatRequest
	for i, r := range backend.ClaimBatch(b.Context(), qs) {
		beats = append(beats, store.HeartbeatRequest{Job: qs[i].Job, Slot: qs[i].Slot, Token: r.Answer.Token, Lease: 30 * time.Second})
	}
	for b.Loop() {
		for _, r := range backend.HeartbeatBatch(b.Context(), beats) {
			if r.Err != nil || !r.Answer.Renewed {
				b.Fatal(r)
			}
		}
	}
	b.ReportMetric(float64(b.N*len(beats))/b.Elapsed().Seconds(), "heartbeats/s")
}

// load is a service with many jobs whose histories are full.
type load struct {
	*Backend
	jobs []string
	next int   // job
	slot int64 // of the round
}

func newLoad(b testing.TB) *load {
	l := &load{Backend: open(b, testSettings(b)), slot: time.Now().UnixMilli()}
	for i := range 256 {
		l.jobs = append(l.jobs, fmt.Sprint("reports/customer-", i))
	}
	for range 4 {
		l.finish(b, l.claim(b, 256))
	}
	return l
}

// claim has the next runs of the jobs granted.
func (l *load) claim(b testing.TB, size int) []store.FinishRequest {
	b.Helper()
	var qs []store.ClaimRequest
	for range size {
		if l.next = (l.next + 1) % len(l.jobs); l.next == 0 {
			l.slot++
		}
		q := claimOf(l.jobs[l.next], l.slot)
		q.MaxLate, q.MaxEarly, q.HistorySize = store.MaxBound, store.MaxBound, 3
		qs = append(qs, q)
	}
	var fs []store.FinishRequest
	for i, r := range l.ClaimBatch(b.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			b.Fatalf("%+v: %+v, %v", qs[i], r.Answer, r.Err)
		}
		fs = append(fs, store.FinishRequest{Job: qs[i].Job, Slot: qs[i].Slot, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
	}
	return fs
}

func (l *load) finish(b testing.TB, fs []store.FinishRequest) {
	b.Helper()
	for i, r := range l.FinishBatch(b.Context(), fs) {
		if r.Err != nil || !r.Answer.Recorded {
			b.Fatalf("%+v: %+v, %v", fs[i], r.Answer, r.Err)
		}
	}
}
