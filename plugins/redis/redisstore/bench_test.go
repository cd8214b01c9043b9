package redisstore

import (
	"fmt"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// BenchmarkClaim measures granted claims in process, one call each against
// batches; ns/op is per claim.
func BenchmarkClaim(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			back := open(b, fresh(b))
			l := newLoad(b, back)
			qs := make([]store.ClaimRequest, 0, size)
			for b.Loop() {
				// One iteration is one claim; the batch goes out when it is full.
				if qs = append(qs, l.claim()); len(qs) < size {
					continue
				}
				for _, r := range back.ClaimBatch(b.Context(), qs) {
					if r.Err != nil {
						b.Fatal(r.Err)
					}
				}
				qs = qs[:0]
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}
