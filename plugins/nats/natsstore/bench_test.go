package natsstore

import (
	"fmt"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// Give -server=nats-2.15 for a server in a process of its own.

// BenchmarkClaim measures granted claims, one alone and in batches; ns/op is per
// claim.
func BenchmarkClaim(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			l := newLoad(b)
			for n := 0; b.Loop(); {
				// One iteration is one claim; the batch goes out when it is full.
				if n++; n%size == 0 {
					l.claim(b, size)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

// BenchmarkTaken measures claims of slots that are taken, which is what all
// instances but one do: a publish that is refused, and a read.
func BenchmarkTaken(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			l := newLoad(b)
			l.claim(b, size)
			l.want = store.VerdictFinished
			for n := 0; b.Loop(); {
				if n++; n%size == 0 {
					l.next, l.slot = 0, noon
					l.claim(b, size)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

func BenchmarkFinish(b *testing.B) {
	l := newLoad(b)
	const size = 64
	for n := 0; b.Loop(); {
		if n++; n%size != 0 {
			continue
		}
		b.StopTimer()
		fs := l.claim(b, size)
		b.StartTimer()
		for _, r := range l.FinishBatch(b.Context(), fs) {
			if r.Err != nil || !r.Answer.Recorded {
				b.Fatalf("%+v", r)
			}
		}
	}
}

func BenchmarkHistory(b *testing.B) {
	l := newLoad(b)
	for range 100 {
		l.claim(b, 1)
		l.next = 0
	}
	for b.Loop() {
		a, err := l.History(b.Context(), store.HistoryRequest{Job: l.jobs[0], Limit: 100})
		if err != nil || len(a.Attempts) != 100 {
			b.Fatalf("%d, %v", len(a.Attempts), err)
		}
	}
}

// load is a service with many jobs.
type load struct {
	*Backend
	jobs []string
	next int // job
	slot int64
	want store.Verdict
}

func newLoad(b *testing.B) *load {
	l := &load{Backend: open(b, options(b)), slot: noon, want: store.VerdictWon}
	for i := range 256 {
		l.jobs = append(l.jobs, fmt.Sprint("reports/customer-", i))
	}
	return l
}

// claim asks for one slot of the next jobs.
func (l *load) claim(b *testing.B, size int) (finishes []store.FinishRequest) {
	var qs []store.ClaimRequest
	for range size {
		if l.next == 0 {
			l.slot++
		}
		qs = append(qs, claimOf(l.jobs[l.next], l.slot))
		l.next = (l.next + 1) % len(l.jobs)
	}
	for i, r := range l.ClaimBatch(b.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != l.want {
			b.Fatalf("%+v: %+v, %v", qs[i], r.Answer, r.Err)
		}
		finishes = append(finishes, finishOf(qs[i], r.Answer.Token, store.OutcomeSuccess))
	}
	return finishes
}
