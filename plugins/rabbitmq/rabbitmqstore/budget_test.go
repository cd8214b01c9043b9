package rabbitmqstore

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/budget"
	"github.com/anarchon-go/anarchon/storekit"
)

// What callers get through the plugin's process, against the client library that
// publishes messages of a claim's size to a stream of the same kind, with as many
// confirms under way. Both have one connection.
func TestThroughputBudget(t *testing.T) {
	budget.Only(t)
	url := brokerURL(t)
	const callers, span = 1024, 300 * time.Millisecond
	plugin, client := throughPlugin(t, fresh(t, url)), newPublisher(t, url, callers)
	var claims, publishes []float64
	for round := range 30 {
		c, p := claimRate(t, plugin, callers, span), client.rate(t, span)
		if round > 0 { // the first warms up
			claims, publishes = append(claims, c), append(publishes, p)
		}
	}
	budget.Row(t, "rabbitmq", fmt.Sprintf("claims/s through the plugin, %d callers, to the client library publishing to a stream with as many confirms under way", callers),
		budget.Best(claims)/budget.Best(publishes), "×", budget.AtLeast(0.7),
		fmt.Sprintf("%.0f to %.0f a second", budget.Best(claims), budget.Best(publishes)))
}

// throughPlugin is the store behind the plugin's process.
func throughPlugin(t testing.TB, o options) *storekit.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "anarchon-plugin-rabbitmq")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/anarchon-go/anarchon/plugins/rabbitmq").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	client, err := storekit.Open(t.Context(), storekit.Plugin{Path: path, Config: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// slots gives every claim of a run a slot of its own.
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
				a, err := s.Claim(ctx, claimOf(job, slots.Add(1)))
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
	ch      *amqp.Channel
	queue   string
	pending int
}

func newPublisher(t testing.TB, url string, pending int) *publisher {
	t.Helper()
	ch, p := driver(t, url), &publisher{queue: fresh(t, url)["namespace"].(string), pending: pending}
	p.ch, p.queue = ch, logName(p.queue)
	if _, err := ch.QueueDeclare(p.queue, true, false, false, false, logArgs(settings{slotTTL: defaultSlotTTL}.keep())); err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	return p
}

// rate is how many messages a second are confirmed.
func (p *publisher) rate(t testing.TB, span time.Duration) float64 {
	t.Helper()
	start, sent := time.Now(), 0
	var flying []*amqp.DeferredConfirmation
	land := func(left int) {
		for ; len(flying) > left; flying = flying[1:] {
			if !flying[0].Wait() {
				t.Fatal("the broker refused to confirm a message")
			}
		}
	}
	for ; time.Since(start) < span; sent++ {
		land(p.pending - 1)
		q := claimOf(fmt.Sprint("reports/customer-", sent%p.pending), int64(sent))
		r := record{Format: Format, Writer: "0123456789abcdef01234567", Seq: uint64(sent), SentAt: start.UnixMilli(), SlotTTL: 300_000, Entries: []entry{claimEntry(&q)}}
		c, err := p.ch.PublishWithDeferredConfirm("", p.queue, true, false, amqp.Publishing{DeliveryMode: amqp.Persistent, ContentType: "application/json", Body: r.encode()})
		if err != nil {
			t.Fatal(err)
		}
		flying = append(flying, c)
	}
	land(0)
	return float64(sent) / time.Since(start).Seconds()
}
