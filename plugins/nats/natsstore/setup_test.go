package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// refusedWith opens and wants an error of that class with all these words.
func refusedWith(t *testing.T, o map[string]any, class error, words ...string) {
	t.Helper()
	_, err := tryOpen(t, o)
	if !errors.Is(err, class) {
		t.Fatalf("open: %v; want %v", err, class)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("open: %v; it should speak of %q", err, w)
		}
	}
}

func TestBadOptions(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.pem")
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o     map[string]any
		words []string
	}{
		"scheme":         {map[string]any{"url": "http://localhost"}, []string{"nats, tls, ws or wss"}},
		"no host":        {map[string]any{"url": "nats://:4222"}, []string{"no host"}},
		"path":           {map[string]any{"url": "nats://localhost/x"}, []string{"nothing may follow"}},
		"second server":  {map[string]any{"url": "nats://a,amqp://b"}, []string{"server 2"}},
		"mixed":          {map[string]any{"url": "nats://a,ws://b"}, []string{"mixed"}},
		"only commas":    {map[string]any{"url": " , ,"}, []string{"no server"}},
		"bad escape":     {map[string]any{"url": "nats://u:%zz@host"}, []string{"%XX"}},
		"two ways":       {map[string]any{"url": "nats://u:p@host", "token": "t"}, []string{"a user in url and token"}},
		"password alone": {map[string]any{"url": "nats://host", "password": "p"}, []string{"user"}},
		"no creds":       {map[string]any{"url": "nats://host", "credsFile": filepath.Join(dir, "none")}, []string{"credsFile", "no such file"}},
		"no seed":        {map[string]any{"url": "nats://host", "nkeySeedFile": junk}, []string{"nkeySeedFile", "SU"}},
		"ca":             {map[string]any{"url": "nats://host", "caFile": junk}, []string{"caFile", "PEM"}},
		"cert alone":     {map[string]any{"url": "nats://host", "certFile": junk}, []string{"keyFile"}},
		"cert":           {map[string]any{"url": "nats://host", "certFile": junk, "keyFile": junk}, []string{"certFile"}},
		"stream prefix":  {map[string]any{"url": "nats://host", "streamPrefix": "a.b"}, []string{"streamPrefix", "a.b"}},
		"subject prefix": {map[string]any{"url": "nats://host", "subjectPrefix": "a..b"}, []string{"subjectPrefix"}},
		"wildcard":       {map[string]any{"url": "nats://host", "subjectPrefix": "a.*"}, []string{"subjectPrefix"}},
		"inbox":          {map[string]any{"url": "nats://host", "inboxPrefix": ">"}, []string{"inboxPrefix"}},
		"domain":         {map[string]any{"url": "nats://host", "domain": "a.b"}, []string{"domain"}},
		"namespace":      {map[string]any{"url": "nats://host", "namespace": strings.Repeat("x", 201)}, []string{"namespace"}},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, c.o, store.ErrInvalid, c.words...) })
	}
}

// An URL may hold a password, so errors must not repeat it.
func TestURLIsNotRepeated(t *testing.T) {
	for _, url := range []string{"http://u:secret@host", "nats://u:secret%zz@host", "nats://u:secret@:4222", "nats://u:secret@host/x", "secret://"} {
		_, err := tryOpen(t, map[string]any{"url": url})
		if err == nil || strings.Contains(err.Error(), "secret") && url != "secret://" {
			t.Errorf("%s: %v", url, err)
		}
	}
	_, err := tryOpen(t, map[string]any{"url": "nats://u:secret@127.0.0.1:1"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	silent := newProxy(t, sharedURL(t))
	silent.mute.Store(true)
	for name, c := range map[string]struct{ url, words string }{
		"nobody listens":  {"nats://127.0.0.1:1", "no server listens"},
		"no such host":    {"nats://no-such-host.invalid", "can't be resolved"},
		"nothing answers": {silent.url(), "nothing answered"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			refusedWith(t, map[string]any{"url": c.url}, store.ErrNotApplied, c.words)
			if took := time.Since(start); took > connectTimeout+10*time.Second { // of a busy machine
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("the caller gives up", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		b := New(testEnv(t)).(*Backend)
		start := time.Now()
		err := b.Configure(ctx, config(t, map[string]any{"url": silent.url()}))
		if !errors.Is(err, store.ErrNotApplied) || time.Since(start) > 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		// The attempt ends in its own time; the check for leaks must not see it.
		silent.cut()
	})
}

func TestJetStreamIsOff(t *testing.T) {
	s := ownServer(t, &server.Options{})
	refusedWith(t, map[string]any{"url": s.ClientURL()}, store.ErrNotApplied, "JetStream is off", "-js")
}

func TestAccountWithoutJetStream(t *testing.T) {
	s := configured(t, `
		jetstream: enabled
		accounts: {A: {jetstream: enabled, users: [{user: a, password: p}]}, B: {users: [{user: b, password: p}]}}`)
	open(t, map[string]any{"url": s.ClientURL(), "user": "a", "password": "p"})
	refusedWith(t, map[string]any{"url": s.ClientURL(), "user": "b", "password": "p"}, store.ErrNotApplied, "JetStream")
}

func TestAccountLimits(t *testing.T) {
	s := configured(t, `
		jetstream: enabled
		accounts: {
			A: {jetstream: {max_streams: 1}, users: [{user: a, password: p}]}
			B: {jetstream: {max_bytes_required: true}, users: [{user: b, password: p}]}
			C: {jetstream: {max_file: 4K}, users: [{user: c, password: p}]}
		}`)
	refusedWith(t, map[string]any{"url": s.ClientURL(), "user": "a", "password": "p"}, store.ErrNotApplied, "maximum number of streams", "two per namespace")
	refusedWith(t, map[string]any{"url": s.ClientURL(), "user": "b", "password": "p"}, store.ErrNotApplied, "max_bytes_required")
	// A store that is full refuses, and forgets nothing.
	b := open(t, map[string]any{"url": s.ClientURL(), "user": "c", "password": "p"})
	var won []store.ClaimRequest
	for i := range 200 {
		q := claimOf("j", noon+int64(i))
		a, err := b.Claim(t.Context(), q)
		if err != nil {
			if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "limit") {
				t.Fatalf("a full store: %v; want not applied, and the limit named", err)
			}
			break
		}
		if a.Verdict != store.VerdictWon {
			t.Fatalf("%+v", a)
		}
		won = append(won, q)
	}
	if len(won) == 0 || len(won) == 200 {
		t.Fatalf("%d claims were won before the store was full", len(won))
	}
	for _, q := range won {
		mustClaim(t, b, q, store.VerdictWon) // again
		other := claimOf("j", q.Slot)
		mustClaim(t, b, other, store.VerdictFinished)
	}
}

func TestConcurrentSetUp(t *testing.T) {
	for range 5 {
		o := options(t)
		var all sync.WaitGroup
		errs := make([]error, 8)
		backends := make([]*Backend, 8)
		for i := range errs {
			all.Go(func() {
				b := New(testEnv(t)).(*Backend)
				errs[i] = b.Configure(t.Context(), config(t, o))
				backends[i] = b
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for i, b := range backends {
			want := store.VerdictFinished
			if i == 0 {
				want = store.VerdictWon
			}
			mustClaim(t, b, claimOf("j", noon), want)
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// streamState is a stream as it is, to see that nothing touched it.
func streamState(t *testing.T, js jetstream.JetStream, stream string) string {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		return err.Error()
	}
	b, err := json.Marshal(s.CachedInfo().Config)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestStreamsOfOthers(t *testing.T) {
	url := sharedURL(t)
	js := admin(t, url)
	t.Run("same name", func(t *testing.T) {
		for _, kind := range []string{"claims", "history"} {
			o := options(t)
			name := "anarchon_" + o["namespace"].(string) + "_" + kind
			if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".x"}}); err != nil {
				t.Fatal(err)
			}
			before := streamState(t, js, name)
			refusedWith(t, o, store.ErrNotApplied, name, "another program", "streamPrefix")
			if after := streamState(t, js, name); after != before {
				t.Errorf("the stream was\n%s\nand is\n%s", before, after)
			}
			if kind == "history" {
				if got := streamState(t, js, strings.Replace(name, "history", "claims", 1)); !strings.Contains(got, "not found") {
					t.Errorf("a claims stream was made, though the start failed: %s", got)
				}
			}
		}
	})
	t.Run("same subjects", func(t *testing.T) {
		o := options(t)
		name := "orders_" + o["namespace"].(string)
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{"anarchon." + o["namespace"].(string) + ".>"}}); err != nil {
			t.Fatal(err)
		}
		refusedWith(t, o, store.ErrNotApplied, name, "subjectPrefix")
	})
	t.Run("ours, with another streamPrefix", func(t *testing.T) {
		o := options(t)
		b := open(t, o)
		o["streamPrefix"] = "other"
		refusedWith(t, o, store.ErrNotApplied, b.settings.layout.claims, "streamPrefix")
	})
	t.Run("another namespace", func(t *testing.T) {
		o := options(t)
		b := open(t, o)
		edit(t, js, b.settings.layout.claims, func(c *jetstream.StreamConfig) { c.Metadata[metaNamespace] = "other" })
		refusedWith(t, o, store.ErrNotApplied, b.settings.layout.claims, "other")
	})
}

func TestNewerFormat(t *testing.T) {
	js := admin(t, sharedURL(t))
	for _, kind := range []string{roleClaims, roleHistory} {
		o := options(t)
		b := open(t, o)
		mustClaim(t, b, claimOf("j", noon), store.VerdictWon)
		name := "anarchon_" + o["namespace"].(string) + "_" + kind
		edit(t, js, name, func(c *jetstream.StreamConfig) { c.Metadata[metaFormat] = "2" })
		before := streamState(t, js, name)
		refusedWith(t, o, store.ErrStoreFormat, "format 2", "1 to 1", name)
		if after := streamState(t, js, name); after != before {
			t.Errorf("the stream was\n%s\nand is\n%s", before, after)
		}
		edit(t, js, name, func(c *jetstream.StreamConfig) { c.Metadata[metaFormat] = "two" })
		refusedWith(t, o, store.ErrNotApplied, "two")
		// What a later version adds is kept.
		edit(t, js, name, func(c *jetstream.StreamConfig) {
			c.Metadata[metaFormat], c.Metadata["anarchon.later"] = "1", "kept"
		})
		open(t, o)
		s, err := js.Stream(t.Context(), name)
		if err != nil || s.CachedInfo().Config.Metadata["anarchon.later"] != "kept" {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	o := options(t)
	o["duplicateWindow"] = "7m"
	b := open(t, o)
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != store.KindClaimOnly || d.Memory != (store.Memory{Window: 7 * time.Minute}) || d.Clock != store.ClockNone || !d.Fenced || !d.History || d.Format != 1 {
		t.Errorf("%+v", d)
	}
	words := func(d store.Description) string { return strings.Join(d.Warnings, "\n") }
	for _, w := range []string{"sync_interval: always", "replicas"} {
		if !strings.Contains(words(d), w) {
			t.Errorf("the warnings do not speak of %q:\n%s", w, words(d))
		}
	}
	if strings.Contains(words(d), "memory") {
		t.Errorf("a stream on disk:\n%s", words(d))
	}
	o = options(t)
	o["storage"] = "memory"
	d, _ = open(t, o).Describe(t.Context())
	if !strings.Contains(words(d), "lies in memory") {
		t.Errorf("a stream in memory:\n%s", words(d))
	}
	again, _ := open(t, o).Describe(t.Context())
	if !reflect.DeepEqual(d, again) {
		t.Errorf("two instances describe\n%+v\n%+v", d, again)
	}
}

func TestUnsupported(t *testing.T) {
	b := open(t, options(t))
	q := claimOf("j", noon)
	w := mustClaim(t, b, q, store.VerdictWon)
	_, beat := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "j", Slot: noon, Token: w.Token, Lease: time.Second})
	_, list := b.Unfinished(t.Context(), store.UnfinishedRequest{})
	_, release := b.Finish(t.Context(), finishOf(q, w.Token, store.OutcomeReleased))
	for verb, err := range map[string]error{"heartbeat": beat, "unfinished": list, "release": release} {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	mustFinish(t, b, finishOf(q, w.Token, store.OutcomeSuccess), true)
}

func TestCloseUnconfigured(t *testing.T) {
	var b storekit.Backend = New(testEnv(t))
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// configured is a server of the test's own with a configuration file.
func configured(t *testing.T, text string) *server.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ownServer(t, o)
}
