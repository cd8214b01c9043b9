package natsstore

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/budget"
	"github.com/anarchon-go/anarchon/storekit"
)

// What callers get through the plugin's process, against the client library that
// publishes the same messages to the same stream with as many acknowledgements
// under way. Both have one connection.
func TestThroughputBudget(t *testing.T) {
	budget.Only(t)
	url := *serverFlag
	if url == "embedded" {
		url = "nats://" + startContainer(t, images[0]).Addr() // a process of its own
	} else {
		url = sharedURL(t)
	}
	o := map[string]any{"url": url, "namespace": freshNamespace(), "callTimeout": "10s"}
	const callers, span = 256, 300 * time.Millisecond
	plugin, client := throughPlugin(t, o), newPublisher(t, open(t, o), url, callers)
	var claims, publishes []float64
	for round := range 30 {
		c, p := claimRate(t, plugin, callers, span), client.rate(t, span)
		if round > 0 { // the first warms up
			claims, publishes = append(claims, c), append(publishes, p)
		}
	}
	budget.Row(t, "nats", fmt.Sprintf("claims/s through the plugin, %d callers, to the client library publishing with as many acknowledgements under way", callers),
		budget.Best(claims)/budget.Best(publishes), "×", budget.AtLeast(0.7),
		fmt.Sprintf("%.0f to %.0f a second", budget.Best(claims), budget.Best(publishes)))
}

// throughPlugin is the store behind the plugin's process.
func throughPlugin(t testing.TB, o map[string]any) *storekit.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "anarchon-plugin-nats")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/anarchon-go/anarchon/plugins/nats").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	client, err := storekit.Open(t.Context(), storekit.Plugin{Path: path, Logger: testEnv(t).Logger, Config: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// slots gives every claim and publish of a run a slot of its own.
var slots atomic.Int64

// claimRate is how many claims a second so many callers are granted, one at a time
// each.
func claimRate(t testing.TB, s store.Store, callers int, span time.Duration) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), span+9*time.Second) // as core's calls have one
	defer cancel()
	start := time.Now()
	var all sync.WaitGroup
	var granted atomic.Int64
	for c := range callers {
		all.Go(func() {
			job := fmt.Sprint("reports/customer-", c)
			for time.Since(start) < span {
				a, err := s.Claim(ctx, claimOf(job, noon+slots.Add(1)))
				if err != nil || a.Verdict != store.VerdictWon {
					t.Errorf("%+v, %v", a, err)
					return
				}
				granted.Add(1)
			}
		})
	}
	all.Wait()
	return float64(granted.Load()) / time.Since(start).Seconds()
}

// publisher is the client library, used as its documentation shows.
type publisher struct {
	js      jetstream.JetStream
	backend *Backend // for the form of its messages
	pending int
}

func newPublisher(t testing.TB, b *Backend, url string, pending int) *publisher {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(pending))
	if err != nil {
		t.Fatal(err)
	}
	return &publisher{js, b, pending}
}

// rate is how many messages a second are acknowledged.
func (p *publisher) rate(t testing.TB, span time.Duration) float64 {
	t.Helper()
	start, sent := time.Now(), 0
	var flying []jetstream.PubAckFuture
	land := func(left int) {
		for ; len(flying) > left; flying = flying[1:] {
			select {
			case <-flying[0].Ok():
			case err := <-flying[0].Err():
				t.Fatal(err)
			}
		}
	}
	l := p.backend.settings.layout
	for ; time.Since(start) < span; sent++ {
		land(p.pending - 1)
		q := claimOf(fmt.Sprint("reports/customer-", sent%p.pending), noon+slots.Add(1))
		r := conditional(l.slot(eraOf(p.backend), q.Job, q.Slot), 0, l.claims, claimRecord(&q).encode())
		ack, err := p.js.PublishMsgAsync(&nats.Msg{Subject: r.subject, Header: r.header, Data: r.data})
		if err != nil {
			t.Fatal(err)
		}
		flying = append(flying, ack)
	}
	land(0)
	return float64(sent) / time.Since(start).Seconds()
}
