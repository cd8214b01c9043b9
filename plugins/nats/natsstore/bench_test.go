package natsstore

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
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

// BenchmarkAgainstClient compares claims with what the client library reaches when
// it publishes the same messages with pipelined acknowledgements. As many are on
// their way in both; rounds alternate, so that a busy machine slows both.
func BenchmarkAgainstClient(b *testing.B) {
	const callers, each = 256, 4 // 1024 messages a round
	b.Run("in batches of 256", func(b *testing.B) {
		l := newLoad(b)
		againstClient(b, l, each, each*callers, func(first int64) {
			var all sync.WaitGroup
			for c := range each {
				all.Go(func() {
					mine := *l
					mine.next, mine.slot = 0, first+int64(c)-1
					mine.claim(b, callers)
				})
			}
			all.Wait()
		})
	})
	b.Run("256 callers through the plugin", func(b *testing.B) {
		l := newLoad(b)
		client := throughPlugin(b, l)
		againstClient(b, l, each, callers, func(first int64) {
			var all sync.WaitGroup
			for c := range callers {
				all.Go(func() {
					for k := range each {
						a, err := client.Claim(b.Context(), claimOf(l.jobs[c], first+int64(k)))
						if err != nil || a.Verdict != store.VerdictWon {
							b.Errorf("%+v, %v", a, err)
						}
					}
				})
			}
			all.Wait()
		})
	})
}

// throughPlugin is the same store behind the plugin's process.
func throughPlugin(b *testing.B, l *load) *storekit.Client {
	path := filepath.Join(b.TempDir(), "anarchon-plugin-nats")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/anarchon-go/anarchon/plugins/nats").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	client, err := storekit.Open(b.Context(), storekit.Plugin{
		Path: path, Logger: testEnv(b).Logger,
		Config: map[string]any{"url": sharedURL(b), "namespace": l.settings.namespace, "callTimeout": "10s"},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.Close() })
	return client
}

// againstClient alternates rounds of claims, of as many slots of all jobs each,
// with rounds of the client library.
func againstClient(b *testing.B, l *load, slots, inFlight int, claim func(firstSlot int64)) {
	nc, err := nats.Connect(sharedURL(b))
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	messages := slots * len(l.jobs)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(inFlight))
	if err != nil {
		b.Fatal(err)
	}
	slot, n := l.slot, 0
	var claims, client time.Duration
	for b.Loop() {
		n++
		start := time.Now()
		claim(slot)
		claims += time.Since(start)

		start = time.Now()
		acks := make([]jetstream.PubAckFuture, 0, messages)
		for c := range slots {
			for _, job := range l.jobs {
				q := claimOf(job, slot+int64(c))
				r := conditional(l.settings.layout.slot(eraOf(l.Backend), "client "+q.Job, q.Slot), 0, l.settings.layout.claims, claimRecord(&q).encode())
				ack, err := js.PublishMsgAsync(&nats.Msg{Subject: r.subject, Header: r.header, Data: r.data})
				if err != nil {
					b.Fatal(err)
				}
				acks = append(acks, ack)
			}
		}
		for _, a := range acks {
			select {
			case <-a.Ok():
			case err := <-a.Err():
				b.Fatal(err)
			}
		}
		client += time.Since(start)
		slot += int64(slots)
	}
	total := float64(n * messages)
	b.ReportMetric(total/claims.Seconds(), "claims/s")
	b.ReportMetric(total/client.Seconds(), "client/s")
	b.ReportMetric(client.Seconds()/claims.Seconds(), "ratio")
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
