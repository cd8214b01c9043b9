package redisstore

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

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

var budget = flag.Bool("budget", false, "measure the throughput against its budgets: takes half a minute, and the machine for itself")

// TestBudget compares, in one run on one server, what the plugin reaches with
// what the server can do at most, and with what a driver without batches does.
func TestBudget(t *testing.T) {
	if !*budget {
		t.Skip("it wants the machine for itself; ask for it by -budget")
	}
	o := fresh(t)
	direct := open(t, o)
	l := newLoad(t, direct)
	plugin := openPlugin(t, o)
	const span = 2 * time.Second

	// Each figure is the best of three in turn: a neighbour on the machine slows
	// one of them, not the other.
	var raw, through, unbatched float64
	for range 3 {
		for _, conns := range []int{1, 2, 4} {
			raw = max(raw, l.raw(t, direct, o["url"].(string), conns, 64, 2000/conns))
		}
		through = max(through, l.callers(t, 256, span, plugin.Claim))
		unbatched = max(unbatched, l.callers(t, 64, span, direct.Claim))
	}
	alone := func(claim func(context.Context, store.ClaimRequest) (store.ClaimAnswer, error)) time.Duration {
		var took []time.Duration
		for range 2000 {
			q := l.claim()
			begin := time.Now()
			if _, err := claim(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(begin))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	inside, outside := alone(direct.Claim), alone(plugin.Claim)

	report := func(what string, got float64, rule string, ok bool) {
		verdict := "holds"
		if !ok {
			verdict = "MISSED"
			t.Errorf("%s is %.2f; it must be %s", what, got, rule)
		}
		t.Logf("%-56s %6.2f  %s: %s", what, got, rule, verdict)
	}
	t.Logf("raw limit %.0f claims/s, through the plugin %.0f, in process unbatched %.0f; one alone %v in process, %v through the plugin", raw, through, unbatched, inside, outside)
	report("through the plugin / raw pipelined limit", through/raw, ">= 0.90", through/raw >= 0.9)
	report("through the plugin / in process unbatched", through/unbatched, ">= 3.00", through/unbatched >= 3)
	report("one claim alone, through the plugin / in process", float64(outside)/float64(inside), "<= 2.00", float64(outside) <= 2*float64(inside))
}
