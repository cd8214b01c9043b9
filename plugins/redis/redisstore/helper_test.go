package redisstore

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// options are a backend's options for a server.
type options map[string]any

// with returns a copy with more options.
func (o options) with(more options) options {
	c := options{}
	for _, from := range []options{o, more} {
		for k, v := range from {
			c[k] = v
		}
	}
	return c
}

// fresh are the options for the tests' server and a namespace of the test's own,
// whose keys are removed after it.
func fresh(t testing.TB) options {
	t.Helper()
	return freshOn(t, sharedURL(t))
}

func freshOn(t testing.TB, url string) options {
	t.Helper()
	ns := "test-" + store.NewClaimID().String()[:12]
	client := driver(t, url)
	t.Cleanup(func() {
		ctx := context.Background()
		keys := client.Scan(ctx, 0, string(newKeyspace(ns))+"*", 1000).Iterator()
		for keys.Next(ctx) {
			client.Del(ctx, keys.Val())
		}
	})
	return options{"url": url, "namespace": ns}
}

// driver is a plain client beside the backend, as another program would use it.
func driver(t testing.TB, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal("the server's URL can't be parsed")
	}
	opt.Protocol = 2 // answers are lists
	c := redis.NewClient(opt)
	t.Cleanup(func() { c.Close() })
	return c
}

// log collects what a backend writes to its log.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// configure configures a backend as the SDK does; change bends it before.
func configure(t testing.TB, o options, change ...func(*Backend)) (*Backend, *log, error) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := storekit.ParseConfig(Info().Options, raw)
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	b := newBackend(storekit.Env{Logger: slog.New(slog.NewTextHandler(l, nil))})
	for _, f := range change {
		f(b)
	}
	return b, l, b.Configure(t.Context(), cfg)
}

// open opens a backend that is closed with the test.
func open(t testing.TB, o options, change ...func(*Backend)) *Backend {
	t.Helper()
	b, _, err := configure(t, o, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// clock is a store's clock that a test sets: a key of the server, which the
// scripts read instead of its time. It lies in the namespace's slot.
type clock struct {
	t      testing.TB
	client *redis.Client
	key    string
	now    int64
}

func newClock(t testing.TB, o options, now int64) *clock {
	c := &clock{t: t, client: driver(t, o["url"].(string)), key: string(newKeyspace(o["namespace"].(string))) + "test-clock"}
	c.set(now)
	return c
}

func (c *clock) set(now int64) {
	c.t.Helper()
	if err := c.client.Set(context.Background(), c.key, now, 0).Err(); err != nil {
		c.t.Fatal(err)
	}
	c.now = now
}

func (c *clock) add(d time.Duration) { c.t.Helper(); c.set(c.now + ms(d)) }

// use makes a backend's scripts read the clock.
func (c *clock) use(b *Backend) {
	b.clock = "local now = tonumber(redis.call('GET', '" + c.key + "'))\n"
}

const noon = 1_790_000_000_000 // some noon, Unix milliseconds

// claimOf is a claim that wins on a fresh store whose clock shows the slot.
func claimOf(job string, slot int64) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: slot, ID: store.NewClaimID(), Instance: "a", Reason: store.ReasonScheduled,
		Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
}

// claimNow is a claim that wins on a fresh store, whatever its clock shows.
func claimNow(job string) store.ClaimRequest {
	q := claimOf(job, time.Now().UnixMilli()/1000*1000)
	q.MaxLate, q.MaxEarly = time.Hour, time.Hour
	return q
}

func mustClaim(t testing.TB, b store.Store, q store.ClaimRequest, want store.Verdict) store.ClaimAnswer {
	t.Helper()
	a, err := b.Claim(t.Context(), q)
	if err != nil {
		t.Fatalf("claim %q %d: %v", q.Job, q.Slot, err)
	}
	if a.Verdict != want {
		t.Fatalf("claim %q %d = %+v; want %v", q.Job, q.Slot, a, want)
	}
	return a
}

func finishOf(q store.ClaimRequest, a store.ClaimAnswer, o store.Outcome) store.FinishRequest {
	return store.FinishRequest{Job: q.Job, Slot: q.Slot, Token: a.Token, Outcome: o, ID: q.ID}
}

func mustFinish(t testing.TB, b store.Store, q store.FinishRequest, want bool) {
	t.Helper()
	a, err := b.Finish(t.Context(), q)
	if err != nil || a.Recorded != want {
		t.Fatalf("finish %q %d = %+v, %v; want recorded %v", q.Job, q.Slot, a, err, want)
	}
}

func history(t testing.TB, b store.Store, job string) []store.Attempt {
	t.Helper()
	a, err := b.History(t.Context(), store.HistoryRequest{Job: job, Limit: store.MaxHistory})
	if err != nil {
		t.Fatal(err)
	}
	return a.Attempts
}

// wantWords fails unless a text has all the words, and none of the secrets.
func wantWords(t testing.TB, text string, words []string, secrets ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%q holds a secret", text)
		}
	}
}

// needs skips a test of a strategy that the server named by the environment does
// not have; the tests' own has all.
func needs(t testing.TB, strategy string) {
	t.Helper()
	if strategy != strategyIDMP {
		return
	}
	text, err := driver(t, sharedURL(t)).Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	s := server{info: parseInfo(text)}
	if v, _ := parseVersion(s.info["redis_version"]); s.valkey() || v.less(oldestIDMP) {
		t.Skipf("the tests' server is %s; %s needs Redis %v: leave out %s", s.product(), strategy, oldestIDMP, envURL)
	}
}

// startPlugin starts this test binary as the plugin's process.
func startPlugin(ctx context.Context, o options) (*storekit.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return storekit.Open(ctx, storekit.Plugin{
		Name: "redis", Path: self, Config: o, Env: []string{envActAs + "=plugin", "GORACE=atexit_sleep_ms=0"}, Logger: discard(),
	})
}

// openPlugin starts a plugin that is closed with the test.
func openPlugin(t testing.TB, o options) *storekit.Client {
	t.Helper()
	c, err := startPlugin(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// contextIn is a context that is over after d.
func contextIn(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

func splitAddr(t testing.TB, addr string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// patience is for what happens soon, on a machine that has much else to do.
const patience = time.Minute

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// awaitCluster waits until a node finds its Cluster complete.
func awaitCluster(t testing.TB, p *proc) {
	t.Helper()
	c := driver(t, p.url())
	await(t, "the Cluster is complete", func() bool {
		info, err := c.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok")
	})
}

// bg is for what goes on beside the test.
var bg = context.Background()
