package rabbitmqstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// BenchmarkClaims measures claims of different slots: from 256 callers, in batches
// of 64 from four, and one alone.
func BenchmarkClaims(b *testing.B) {
	url := brokerURL(b)
	for _, c := range []struct{ callers, size int }{{256, 1}, {4, 64}, {1, 1}} {
		b.Run(fmt.Sprintf("claims/callers=%d/batch=%d", c.callers, c.size), func(b *testing.B) {
			s := open(b, fresh(b, url))
			var next atomic.Int64
			b.ResetTimer()
			var wg sync.WaitGroup
			for range c.callers {
				wg.Go(func() {
					for {
						n := next.Add(int64(c.size))
						if n > int64(b.N+c.callers*c.size) {
							return
						}
						var qs []store.ClaimRequest
						for k := range c.size {
							qs = append(qs, claimOf(fmt.Sprint("job", n%97), n+int64(k)))
						}
						for _, r := range s.ClaimBatch(context.Background(), qs) {
							if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
								b.Errorf("%+v", r)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(next.Load())/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkStart measures a start with 100 000 claims in the log.
func BenchmarkStart(b *testing.B) {
	o := fresh(b, brokerURL(b))
	s := open(b, o)
	for n := int64(0); n < 100_000; n += 500 {
		var qs []store.ClaimRequest
		for k := range int64(500) {
			qs = append(qs, claimOf(fmt.Sprint("job", k%50), n+k))
		}
		for _, r := range s.ClaimBatch(b.Context(), qs) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	}
	for b.Loop() {
		open(b, o).Close(context.Background())
	}
}
