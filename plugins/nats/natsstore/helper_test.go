package natsstore

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

var serverFlag = flag.String("server", "embedded", "what tests that need no server of their own use: embedded, an image such as nats-2.10, or an URL")

// shared is the server that most tests share, each with a namespace of its own.
var shared struct {
	once sync.Once
	url  string
	err  error
	stop func()
}

func sharedURL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		switch {
		case *serverFlag == "embedded":
			dir, err := os.MkdirTemp("", "natsstore")
			if err != nil {
				shared.err = err
				return
			}
			s, err := startServer(&server.Options{JetStream: true, StoreDir: dir})
			if shared.err = err; err == nil {
				shared.url = s.ClientURL()
				shared.stop = func() { s.Shutdown(); s.WaitForShutdown(); os.RemoveAll(dir) }
			}
		case strings.Contains(*serverFlag, "://"):
			shared.url = *serverFlag
		default:
			c, err := containers.Start(context.Background(), natsContainer(*serverFlag))
			if shared.err = err; err == nil {
				shared.url = "nats://" + c.Addr()
				shared.stop = func() { _ = c.Remove() }
			}
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.url
}

func natsContainer(image string, args ...string) containers.Spec {
	return containers.Spec{Image: image, Command: append([]string{"-js", "-sd", "/data"}, args...), Port: 4222, Ready: "Server is ready"}
}

// startContainer starts a server that is removed with the test.
func startContainer(t testing.TB, image string, args ...string) *containers.Container {
	t.Helper()
	c, err := containers.Start(t.Context(), natsContainer(image, args...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(); err != nil {
			t.Errorf("remove the container: %v", err)
		}
	})
	return c
}

// startServer runs a server in this process.
func startServer(o *server.Options) (*server.Server, error) {
	o.Host, o.NoLog, o.NoSigs = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = -1
	}
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("the server is not ready within 10 s")
	}
	return s, nil
}

// ownServer is a server of the test's own, stopped with it.
func ownServer(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	if o.StoreDir == "" {
		o.StoreDir = t.TempDir()
	}
	s, err := startServer(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

var namespaces atomic.Int64

// freshNamespace is one that no test used before, on a server that may be kept.
func freshNamespace() string {
	return fmt.Sprintf("t%d-%d", time.Now().UnixNano(), namespaces.Add(1))
}

// options are those of a fresh namespace of the shared server.
func options(t testing.TB) map[string]any {
	t.Helper()
	return map[string]any{"url": sharedURL(t), "namespace": freshNamespace(), "callTimeout": "10s"}
}

func config(t testing.TB, o map[string]any) storekit.Config {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := storekit.ParseConfig(Info().Options, raw)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func testEnv(t testing.TB) storekit.Env {
	return storekit.Env{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
}

// open opens a backend that is closed with the test.
func open(t testing.TB, o map[string]any) *Backend {
	t.Helper()
	b, err := tryOpen(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func tryOpen(t testing.TB, o map[string]any) (*Backend, error) {
	t.Helper()
	b := New(testEnv(t)).(*Backend)
	if err := b.Configure(t.Context(), config(t, o)); err != nil {
		return nil, err
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	return b, nil
}

// admin is JetStream as an operator sees it.
func admin(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// edit changes a stream behind the backend's back.
func edit(t testing.TB, js jetstream.JetStream, stream string, change func(*jetstream.StreamConfig)) {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	change(&cfg)
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

func eraOf(b *Backend) era { return b.homes.now.Load().era }

const noon = 1_790_000_000_000 // some noon, Unix milliseconds

func claimOf(job string, slot int64) store.ClaimRequest {
	return store.ClaimRequest{
		Job: job, Slot: slot, ID: store.NewClaimID(), Instance: "a", Reason: store.ReasonScheduled,
		Lease: 30 * time.Second, MaxEarly: 10 * time.Second, MaxLate: time.Minute,
		Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 100,
	}
}

func finishOf(q store.ClaimRequest, token store.Token, o store.Outcome) store.FinishRequest {
	return store.FinishRequest{Job: q.Job, Slot: q.Slot, Token: token, Outcome: o, ID: q.ID}
}

func mustClaim(t testing.TB, b *Backend, q store.ClaimRequest, want store.Verdict) store.ClaimAnswer {
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

func mustFinish(t testing.TB, b *Backend, q store.FinishRequest, want bool) {
	t.Helper()
	a, err := b.Finish(t.Context(), q)
	if err != nil || a.Recorded != want {
		t.Fatalf("finish %q %d = %+v, %v; want recorded %v", q.Job, q.Slot, a, err, want)
	}
}

func history(t testing.TB, b *Backend, job string) []store.Attempt {
	t.Helper()
	a, err := b.History(t.Context(), store.HistoryRequest{Job: job, Limit: store.MaxHistory})
	if err != nil {
		t.Fatal(err)
	}
	return a.Attempts
}

// await waits until cond holds, for what another goroutine or the server does in
// its own time.
func await(t testing.TB, what string, within time.Duration, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}
