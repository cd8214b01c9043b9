package rabbitmqstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// envURL names a broker for the tests that only need one; envImage another image
// than the newest. Without envURL the tests start one in a container.
const (
	envURL   = "ANARCHON_TEST_RABBITMQ_URL"
	envImage = "ANARCHON_TEST_RABBITMQ_IMAGE"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		if err := playRole(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	code := m.Run()
	if shared.c != nil {
		if err := shared.c.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// shared is the broker of all tests. Those that break it don't run in parallel,
// and mend it.
var shared struct {
	once  sync.Once
	c     *containers.Container
	since time.Time // it has a stream
	err   error
}

func startShared() {
	ctx := context.Background()
	image := os.Getenv(envImage)
	if image == "" {
		image = "rabbitmq-4.3"
	}
	shared.c, shared.err = containers.Start(ctx, containers.Spec{Image: image, Port: 5672, Ready: "completed with"})
	if shared.err != nil {
		return
	}
	conn, err := amqp.Dial(urlOf(shared.c))
	if err != nil {
		shared.err = err
		return
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err == nil {
		_, err = ch.QueueDeclare("first", true, false, false, false, amqp.Table{"x-queue-type": "stream"})
	}
	shared.since, shared.err = time.Now(), err
}

// broker is the shared broker's container, for tests that need more than its URL.
func broker(t testing.TB) *containers.Container {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a broker")
	}
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.c
}

// mortal is the broker for a test that kills it. One that is killed within moments
// of its very first stream forgets that it has streams; see docs/rabbitmq.md.
func mortal(t testing.TB) *containers.Container {
	t.Helper()
	c := broker(t)
	time.Sleep(time.Until(shared.since.Add(7 * time.Second)))
	return c
}

// brokerURL is the URL of the broker that tests share.
func brokerURL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(envURL); url != "" {
		return url
	}
	return urlOf(broker(t))
}

func urlOf(c *containers.Container) string { return "amqp://" + c.Addr() }

type options map[string]any

func (o options) with(name string, value any) options {
	c := maps.Clone(o)
	c[name] = value
	return c
}

// fresh are options for a namespace of the test's own, whose log is deleted
// after it.
func fresh(t testing.TB, url string) options {
	t.Helper()
	ns := "test-" + store.NewClaimID().String()[:12]
	t.Cleanup(func() {
		conn, err := amqp.Dial(url)
		if err != nil {
			return // the broker was the test's own
		}
		defer conn.Close()
		if ch, err := conn.Channel(); err == nil {
			_, _ = ch.QueueDelete(logName(ns), false, false, false)
		}
	})
	return options{"url": url, "namespace": ns, "callTimeout": "10s"} // for a busy machine
}

// driver is a plain client beside the backend, as another program would use it.
func driver(t testing.TB, url string) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// configure configures a backend as the SDK does.
func configure(t testing.TB, o options) (*Backend, *logText, error) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := storekit.ParseConfig(Info().Options, raw)
	if err != nil {
		t.Fatal(err)
	}
	l := &logText{}
	b := New(storekit.Env{Logger: slog.New(slog.NewTextHandler(l, nil))}).(*Backend)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return b, l, b.Configure(ctx, cfg)
}

func open(t testing.TB, o options) *Backend {
	t.Helper()
	b, _, err := configure(t, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	return b
}

func claimOf(job string, slot int64) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: slot, ID: store.NewClaimID(), Instance: "a", Reason: store.ReasonScheduled,
		Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
}

func mustClaim(t testing.TB, b store.Store, q store.ClaimRequest, want store.Verdict) store.ClaimAnswer {
	t.Helper()
	a, err := b.Claim(t.Context(), q)
	if err != nil || a.Verdict != want {
		t.Fatalf("claim %q %d = %+v, %v; want %v", q.Job, q.Slot, a, err, want)
	}
	return a
}

func finishOf(q store.ClaimRequest, o store.Outcome) store.FinishRequest {
	return store.FinishRequest{Job: q.Job, Slot: q.Slot, Outcome: o, ID: q.ID}
}

func mustFinish(t testing.TB, b store.Store, q store.FinishRequest, want bool) {
	t.Helper()
	a, err := b.Finish(t.Context(), q)
	if err != nil || a.Recorded != want {
		t.Fatalf("finish %q %d = %+v, %v; want recorded %v", q.Job, q.Slot, a, err, want)
	}
}

// insist asks until there is an answer, as core does.
func insist(t testing.TB, b store.Store, q store.ClaimRequest) store.ClaimAnswer {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		a, err := b.Claim(t.Context(), q)
		if err == nil {
			return a
		}
		if errors.Is(err, store.ErrInvalid) || time.Now().After(deadline) {
			t.Fatalf("claim %q %d: %v", q.Job, q.Slot, err)
		}
	}
}

// wantError fails unless err is of a class, has all the words and no secret.
func wantError(t testing.TB, err error, class error, words []string, secrets ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("the error is %v; want class %q", err, class)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	for _, s := range secrets {
		if strings.Contains(err.Error(), s) {
			t.Errorf("%q holds a secret", err)
		}
	}
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain waited for: %s", what)
		}
	}
}
