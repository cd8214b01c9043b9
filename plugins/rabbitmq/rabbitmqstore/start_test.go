package rabbitmqstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
)

func ctl(t testing.TB, c *containers.Container, args ...string) string {
	t.Helper()
	out, err := c.Exec(t.Context(), append([]string{"rabbitmqctl", "-q"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// refuse fails unless the start is refused as said.
func refuse(t *testing.T, o options, class error, words ...string) {
	t.Helper()
	b, _, err := configure(t, o)
	if err == nil {
		b.Close(context.Background())
		t.Fatalf("%v is taken", o)
	}
	wantError(t, err, class, words, "s3cret")
}

// TestBadStarts: what a broker says against a start is explained.
func TestBadStarts(t *testing.T) {
	c := broker(t)
	url := urlOf(c)
	o := fresh(t, url)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	t.Run("connection", func(t *testing.T) {
		refuse(t, o.with("url", "amqp://no-such-host.invalid"), store.ErrNotApplied, "url")
		refuse(t, o.with("url", "amqp://"+closed.Addr().String()), store.ErrNotApplied, "no broker listens there")
		refuse(t, o.with("url", "amqps://"+c.Addr()), store.ErrNotApplied, "TLS")
	})
	t.Run("user", func(t *testing.T) {
		refuse(t, o.with("url", "amqp://guest:s3cret@"+c.Addr()), store.ErrNotApplied, "guest", "password", "loopback_users")
		refuse(t, o.with("vhost", "nowhere"), store.ErrNotApplied, `no vhost "nowhere"`, "add_vhost")
		ctl(t, c, "add_vhost", "crowded")
		ctl(t, c, "set_permissions", "-p", "crowded", "guest", ".*", ".*", ".*")
		ctl(t, c, "set_vhost_limits", "-p", "crowded", `{"max-connections": 0}`)
		refuse(t, o.with("vhost", "crowded"), store.ErrNotApplied, "connection limit (0) is reached", "set_vhost_limits")
		ctl(t, c, "add_user", "u", "s3cret")
		as := o.with("username", "u").with("password", "s3cret")
		refuse(t, as, store.ErrNotApplied, "set_permissions", `"u"`)
		ctl(t, c, "set_permissions", "u", "", ".*", ".*")
		refuse(t, as, store.ErrNotApplied, "configure", logName(o["namespace"].(string)))
		ctl(t, c, "set_permissions", "u", ".*", "^anarchon", ".*")
		refuse(t, as, store.ErrNotApplied, "write", "amq.default")
		ctl(t, c, "set_permissions", "u", ".*", ".*", "")
		refuse(t, as, store.ErrNotApplied, "read", logName(o["namespace"].(string)))
		// What the errors advise suffices.
		ctl(t, c, "set_permissions", "u", `^anarchon\.`, `^(anarchon\.|amq\.default$)`, `^anarchon\.`)
		mustClaim(t, open(t, as), claimOf("j", 1), store.VerdictWon)
	})
	t.Run("queue of somebody else", func(t *testing.T) {
		o, ch := fresh(t, url), driver(t, url)
		name := logName(o["namespace"].(string))
		if _, err := ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "classic"}); err != nil {
			t.Fatal(err)
		}
		refuse(t, o, store.ErrNotApplied, "another type", name, "namespace")
		if _, err := ch.QueueDelete(name, false, false, false); err != nil {
			t.Fatal(err)
		}
		if _, err := ch.QueueDeclare(name, true, false, false, false, amqp.Table{"x-queue-type": "stream", "x-max-length-bytes": int64(1000)}); err != nil {
			t.Fatal(err)
		}
		refuse(t, o, store.ErrNotApplied, "made in another way", name)
	})
	t.Run("policy", func(t *testing.T) {
		// A policy cuts whole files only, which are large; this log has small ones.
		o, ch := fresh(t, url), driver(t, url)
		name := logName(o["namespace"].(string))
		ctl(t, c, "set_policy", "short", "^"+regexp.QuoteMeta(name)+"$", `{"max-length-bytes":100000,"stream-max-segment-size-bytes":50000}`, "--apply-to", "streams")
		defer ctl(t, c, "clear_policy", "short")
		b := open(t, o)
		filler := strings.Repeat("x", store.MaxErrorLength)
		for i := range 200 {
			q := claimOf("j", int64(i))
			mustClaim(t, b, q, store.VerdictWon)
			f := finishOf(q, store.OutcomeFailed)
			f.Error = filler
			mustFinish(t, b, f, true)
		}
		await(t, "the start to be refused", func() bool {
			// Retention is looked at when a file begins.
			mark := (&record{Format: Format, Writer: "w", SentAt: time.Now().UnixMilli(), Entries: []entry{{Kind: "filler", Error: filler}}}).encode()
			for range 10 {
				if err := ch.Publish("", name, false, false, amqp.Publishing{Body: mark}); err != nil {
					t.Fatal(err)
				}
			}
			b, _, err := configure(t, o)
			if err == nil {
				b.Close(context.Background())
				return false
			}
			if !strings.Contains(err.Error(), "reaches back only") {
				t.Log(err) // a reader of a file that is dropped is thrown out
				return false
			}
			wantError(t, err, store.ErrNotApplied, []string{"policy", "max-length-bytes"})
			return true
		})
		if a, err := b.Claim(t.Context(), claimOf("j", 0)); err == nil && a.Verdict == store.VerdictWon {
			t.Error("a slot that the log lost is granted again")
		}
	})
	t.Run("vhost of quorum queues", func(t *testing.T) {
		ctl(t, c, "add_vhost", "q", "--default-queue-type", "quorum")
		ctl(t, c, "set_permissions", "-p", "q", "guest", ".*", ".*", ".*")
		mustClaim(t, open(t, o.with("vhost", "q")), claimOf("j", 1), store.VerdictWon)
		if out := ctl(t, c, "list_queues", "-p", "q", "type"); !strings.Contains(out, "stream") {
			t.Errorf("queue types are %q", out)
		}
	})
}

// TestFormats: a newer format is refused before anything is written, also one
// that appears while the plugin runs; fields of others change nothing.
func TestFormats(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	o, ch := fresh(t, url), driver(t, url)
	name := logName(o["namespace"].(string))
	publish := func(body string) {
		t.Helper()
		if err := ch.Publish("", name, false, false, amqp.Publishing{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	b, l, err := configure(t, o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	q := claimOf("j", 1)
	mustClaim(t, b, q, store.VerdictWon)
	publish("hello")
	publish(fmt.Sprintf(`{"format":1,"writer":"w","seq":1,"mood":"new","entries":[{"kind":"claim","job":"j","slot":2,"id":%q,"instance":"n","reason":"scheduled","historySize":9,"extra":{}}]}`, store.NewClaimID()))
	await(t, "the record of another version", func() bool {
		a, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 10})
		return err == nil && len(a.Attempts) == 2
	})
	if !strings.Contains(l.String(), "somebody else") {
		t.Error("a foreign message is not warned of")
	}
	// Published at once, so the broker stores them together.
	for range 20 {
		publish(`{"format":1,"writer":"w"}`)
	}
	publish(`{"format":2,"writer":"w"}`)
	await(t, "the plugin that runs to stop", func() bool {
		b.link.mu.Lock()
		defer b.link.mu.Unlock()
		return errors.Is(b.link.why, store.ErrStoreFormat)
	})
	if _, err := b.Claim(t.Context(), claimOf("j", 3)); !errors.Is(err, store.ErrStoreFormat) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a claim on a log of a newer format: %v", err)
	}
	refuse(t, o, store.ErrStoreFormat, "format 2", "format 1")
	publish("the end")
	for i, body := range bodies(t, ch, name, "the end") {
		if i > 0 && body != "the end" {
			t.Errorf("a plugin wrote after the record of format 2: %q", body)
		}
	}
}

// bodies reads a log from its first message of format 2 to the one named.
func bodies(t *testing.T, ch *amqp.Channel, log, last string) (all []string) {
	t.Helper()
	if err := ch.Qos(100, 0, false); err != nil {
		t.Fatal(err)
	}
	in, err := ch.Consume(log, "", false, false, false, false, amqp.Table{"x-stream-offset": "first"})
	if err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case d := <-in:
			body := string(d.Body)
			if len(all) > 0 || strings.HasPrefix(body, `{"format":2`) {
				all = append(all, body)
			}
			if body == last {
				return all
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("the log %s does not end with %q", log, last)
		}
	}
}

// TestDriftOnBroker: another slotTtl or historyTtl uses the log if that carries
// the memory, with a warning, and refuses if not.
func TestDriftOnBroker(t *testing.T) {
	t.Parallel()
	o := fresh(t, brokerURL(t)).with("historyTtl", "1s").with("slotTtl", "2m") // kept for 5 min
	mustClaim(t, open(t, o), claimOf("j", 1), store.VerdictWon)
	refuse(t, o.with("slotTtl", "3m"), store.ErrInvalid, "slotTtl 3m0s", "5m0s", "7m0s")
	b := open(t, o.with("historyTtl", "1h"))
	mustClaim(t, b, claimOf("j", 1), store.VerdictFinished)
	d, err := b.Describe(t.Context())
	if err != nil || !strings.Contains(fmt.Sprint(d.Warnings), "was made to be kept for 5m0s") {
		t.Errorf("%v, %v", d.Warnings, err)
	}
}

func TestDescribe(t *testing.T) {
	b := open(t, fresh(t, brokerURL(t)).with("slotTtl", "7m"))
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != store.KindClaimOnly || d.Memory != (store.Memory{Window: 7 * time.Minute}) || d.Clock != store.ClockNone || d.Fenced || !d.History || d.Format != Format {
		t.Errorf("%+v", d)
	}
	if !strings.HasPrefix(d.Product, "RabbitMQ 4.") {
		t.Errorf("product %q", d.Product)
	}
}
