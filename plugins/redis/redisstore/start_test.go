package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// A start that can't succeed says why within this.
const startBound = 5 * time.Second

const testSecret = "hunter2secret"

// mustRefuse fails unless the start is refused in time, with an error of the
// class that has the words; and no secret is in it or in the log.
func mustRefuse(t *testing.T, o options, class error, words ...string) {
	t.Helper()
	begin := time.Now()
	_, l, err := configure(t, o)
	if took := time.Since(begin); took > startBound {
		t.Errorf("%v: it took %v; want at most %v", o, took, startBound)
	}
	if !errors.Is(err, class) {
		t.Fatalf("start: %v; want class %v", err, class)
	}
	wantWords(t, err.Error(), words, testSecret)
	wantWords(t, l.String(), nil, testSecret)
}

func TestNoServer(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	nobody := fmt.Sprintf("127.0.0.1:%d", port)
	mustRefuse(t, options{"addrs": nobody}, store.ErrNotApplied, nobody, "nothing listens")
	mustRefuse(t, options{"url": "redis://u:" + testSecret + "@" + nobody}, store.ErrNotApplied, nobody, "nothing listens")
	mustRefuse(t, options{"addrs": nobody, "cluster": true}, store.ErrNotApplied, nobody, "nothing listens")
	mustRefuse(t, options{"addrs": nobody, "sentinelMaster": "m", "sentinelPassword": testSecret}, store.ErrNotApplied, nobody, `"m"`)
	mustRefuse(t, options{"addrs": "no-such-host.invalid"}, store.ErrNotApplied, "no-such-host.invalid", "resolver")
}

// A server that has no connection left says so and closes, and the driver, which
// asks for another version of the protocol then, sees the end only.
func TestServerWithoutConnections(t *testing.T) {
	p := startServer(t, "--maxclients", "1")
	only := driver(t, p.url()) // takes the connection that there is
	if err := only.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, options{"addrs": p.addr()}, store.ErrNotApplied, "maxclients")
}

func TestPasswords(t *testing.T) {
	p := startServer(t, "--requirepass", testSecret, "--user", "u", "on", ">"+testSecret, "~*", "+@all")
	mustRefuse(t, options{"addrs": p.addr()}, store.ErrNotApplied, "NOAUTH", "option password")
	mustRefuse(t, options{"addrs": p.addr(), "password": testSecret + "x"}, store.ErrNotApplied, "WRONGPASS", "password")
	mustRefuse(t, options{"addrs": p.addr(), "username": "nobody", "password": testSecret}, store.ErrNotApplied, "WRONGPASS", "username")
	mustRefuse(t, options{"url": "redis://:" + testSecret + "x@" + p.addr()}, store.ErrNotApplied, "WRONGPASS")
	open(t, options{"addrs": p.addr(), "password": testSecret})
	open(t, options{"addrs": p.addr(), "username": "u", "password": testSecret})
	open(t, options{"url": "redis://u:" + testSecret + "@" + p.addr()})

	none := startServer(t)
	mustRefuse(t, options{"addrs": none.addr(), "db": 16}, store.ErrNotApplied, "DB index", "option db")
	open(t, options{"addrs": none.addr(), "db": 15})
}

func TestUnsafeServers(t *testing.T) {
	p := startServer(t)
	c := driver(t, p.url())
	ctx := t.Context()
	set := func(name, value string) {
		if err := c.ConfigSet(ctx, name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory-policy", "allkeys-lru")
	mustRefuse(t, options{"url": p.url()}, store.ErrNotApplied, "allkeys-lru", "noeviction")
	set("maxmemory-policy", "volatile-lru")
	open(t, options{"url": p.url()})
	set("maxmemory-policy", "noeviction")

	primary := startServer(t)
	if err := c.ReplicaOf(ctx, primary.host(), fmt.Sprint(primary.port)).Err(); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, options{"url": p.url()}, store.ErrNotApplied, "replica of "+primary.addr(), "sentinelMaster")
	mustRefuse(t, options{"url": p.url(), "cluster": true}, store.ErrNotApplied, "no Cluster")

	node := startServer(t, "--cluster-enabled", "yes")
	mustRefuse(t, options{"url": node.url()}, store.ErrNotApplied, "option cluster")
	mustRefuse(t, options{"url": node.url(), "cluster": true}, store.ErrNotApplied, "slot") // it serves none
}

// Instances that would not see each other's claims, or make each other forget,
// are kept apart.
func TestInstancesAgree(t *testing.T) {
	o := fresh(t)
	open(t, o)
	open(t, o)
	mustRefuse(t, o.with(options{"strategy": "script"}), store.ErrNotApplied, `"lease"`, `"script"`, "namespace")

	o = fresh(t).with(options{"strategy": "script"})
	open(t, o)
	mustRefuse(t, o.with(options{"window": "1m"}), store.ErrNotApplied, "5m0s and 1000", "1m0s and 1000", "memory")
	mustRefuse(t, o.with(options{"historySize": 5}), store.ErrNotApplied, "5 runs")
	open(t, o.with(options{"maxSize": 5})) // of another strategy
}

// Any number of plugins may set a namespace up at once.
func TestConcurrentSetUp(t *testing.T) {
	for range 5 {
		o := fresh(t)
		var wg sync.WaitGroup
		errs := make([]error, 8)
		plugins := make([]*storekit.Client, 8)
		for i := range errs {
			wg.Go(func() { plugins[i], errs[i] = startPlugin(t.Context(), o) })
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("plugin %d: %v", i, err)
			} else if err := plugins[i].Close(); err != nil {
				t.Errorf("plugin %d: close: %v", i, err)
			}
		}
		b := open(t, o)
		got, err := driver(t, o["url"].(string)).HGetAll(t.Context(), b.keys.meta()).Result()
		if want := map[string]string{"format": "1", "strategy": "lease", "memory": "for ever"}; err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the namespace records %v, %v; want %v", got, err, want)
		}
	}
}

// A secret is in no message, also when it goes through the host.
func TestSecretsThroughTheHost(t *testing.T) {
	p := startServer(t, "--requirepass", testSecret)
	for _, o := range []options{
		{"url": "redis://:" + testSecret + "x@" + p.addr()},
		{"addrs": p.addr(), "password": testSecret + "x"},
		{"url": "redis://:" + testSecret + "/x@" + p.addr()},
	} {
		_, err := startPlugin(t.Context(), o)
		if err == nil {
			t.Fatal("a wrong password is taken")
		}
		wantWords(t, err.Error(), nil, testSecret)
	}
}

func TestDescribe(t *testing.T) {
	o := fresh(t)
	b := open(t, o)
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != store.KindLease || d.Strategy != strategyLease || !d.Memory.Forever || d.Clock != store.ClockStore || !d.Fenced || !d.History || d.Format != Format {
		t.Errorf("described as %+v", d)
	}
	if !strings.HasPrefix(d.Product, "Redis ") && !strings.HasPrefix(d.Product, "Valkey ") {
		t.Errorf("the product is %q", d.Product)
	}
	for _, name := range []string{"server", "namespace", "role", "maxmemory_policy", "appendonly"} {
		if !slices.ContainsFunc(d.Settings, func(s store.Setting) bool { return s.Name == name && s.Value != "" }) {
			t.Errorf("setting %s is not among %v", name, d.Settings)
		}
	}
}

// A start that hangs on the server's side ends in time.
func TestStoppedServer(t *testing.T) {
	p := startServer(t)
	p.pause(t)
	defer p.resume(t)
	mustRefuse(t, options{"url": p.url(), "callTimeout": "300ms"}, store.ErrNotApplied, p.addr(), "no answer in time")
}

// The start itself is bounded by the caller too.
func TestStartIsCancelled(t *testing.T) {
	p := startServer(t)
	p.pause(t)
	defer p.resume(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	set, err := readOptions(t, options{"url": p.url(), "callTimeout": "1m"})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	err = newBackend(storekit.Env{Logger: discard()}).start(ctx, set)
	if took := time.Since(begin); !errors.Is(err, store.ErrNotApplied) || took > 10*time.Second {
		t.Errorf("after %v: %v; want it given up after 100ms", took, err)
	}
}

// The driver must not be able to ask for more than this package means.
func TestDriverSettings(t *testing.T) {
	b := open(t, fresh(t))
	for _, p := range []*pool{b.pools.claims, b.pools.duties} {
		opt := p.single.Options()
		if opt.MaxRetries != 0 || opt.Protocol != 2 || !opt.ContextTimeoutEnabled || opt.PoolSize != 4 {
			t.Errorf("the driver is set to %d retries, RESP%d, context timeouts %v, pool %d", opt.MaxRetries, opt.Protocol, opt.ContextTimeoutEnabled, opt.PoolSize)
		}
	}
	if !(once{}).NoRetry() || !(onceInt{}).NoRetry() {
		t.Error("commands may be sent twice")
	}
	if b.pools.claims.single == b.pools.duties.single {
		t.Error("heartbeats share the claims' connections")
	}
	var _ redis.Cmder = once{}
}
