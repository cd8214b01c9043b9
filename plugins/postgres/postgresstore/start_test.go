package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestConfigure goes the way that the SDK goes, with every option at its default
// but the schema.
func TestConfigure(t *testing.T) {
	set := testSettings(t)
	b := New(testEnv(t))
	if err := b.Configure(t.Context(), config(t, map[string]any{"url": set.url, "schema": set.schema})); err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != store.KindLease || !d.Memory.Forever || d.Clock != store.ClockStore || !d.Fenced || !d.History || d.Format != Format {
		t.Errorf("described as %+v", d)
	}
	if !strings.HasPrefix(d.Product, "PostgreSQL 1") {
		t.Errorf("product %q", d.Product)
	}
	u, err := url.Parse(set.url)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"address": u.Host, "role": u.User.Username(), "schema": set.schema, "namespace": "default", "connection": "direct, no TLS",
		"poolSize": "4", "heartbeatPoolSize": "2", "fsync": "on", "synchronous_commit": "on",
		"default_transaction_isolation": "read committed",
	} {
		if got := setting(d, name); got != want {
			t.Errorf("setting %s is %q; want %q", name, got, want)
		}
	}
	if text := fmt.Sprintf("%+v", d); strings.Contains(text, testPassword) {
		t.Errorf("the description has the password: %s", text)
	}
}

func setting(d store.Description, name string) string {
	i := slices.IndexFunc(d.Settings, func(s store.Setting) bool { return s.Name == name })
	if i < 0 {
		return "(none)"
	}
	return d.Settings[i].Value
}

// TestBadOptions: what can't do is refused before anything is asked of a server.
func TestBadOptions(t *testing.T) {
	for name, test := range map[string]struct {
		options map[string]any
		want    string
	}{
		"unknown option":         {map[string]any{"poolsize": 3}, `did you mean "poolSize"`},
		"pool size 0":            {map[string]any{"poolSize": 0}, "poolSize"},
		"heartbeat pool size 0":  {map[string]any{"heartbeatPoolSize": 0}, "heartbeatPoolSize"},
		"no duration":            {map[string]any{"callTimeout": "soon"}, "callTimeout"},
		"no TLS mode":            {map[string]any{"sslMode": "maybe"}, "verify-full"},
		"no schema":              {map[string]any{"schema": "a b"}, "schema"},
		"system schema":          {map[string]any{"schema": "pg_mine"}, "schema"},
		"schema too long":        {map[string]any{"schema": strings.Repeat("s", 64)}, "schema"},
		"namespace":              {map[string]any{"namespace": ""}, "namespace"},
		"namespace too long":     {map[string]any{"namespace": strings.Repeat("n", 201)}, "namespace"},
		"another scheme":         {map[string]any{"url": "mysql://u:" + testPassword + "@h/d"}, "as libpq reads it"},
		"password not encoded":   {map[string]any{"url": "postgres://u:" + testPassword + "@h/d"}, "option password"},
		"port":                   {map[string]any{"url": "postgres://u:tOp-s3cret@h:port/d"}, "port"},
		"broken pairs":           {map[string]any{"url": "host=h password='" + testPassword}, "as libpq reads it"},
		"service":                {map[string]any{"url": "service=none-such servicefile=/nowhere"}, "failed to read service"},
		"root certificate":       {map[string]any{"url": "postgres://h/d", "sslMode": "verify-full", "sslRootCert": "/nowhere/ca.pem"}, "/nowhere/ca.pem"},
		"client certificate":     {map[string]any{"url": "postgres://h/d", "sslMode": "require", "sslCert": "/nowhere/c.pem", "sslKey": "/nowhere/k.pem"}, "/nowhere/k.pem"},
		"session attributes":     {map[string]any{"url": "postgres://h/d?target_session_attrs=fast"}, "target_session_attrs"},
		"execution mode":         {map[string]any{"url": "postgres://h/d?default_query_exec_mode=fast"}, "default_query_exec_mode"},
		"secret of another type": {map[string]any{"password": 12345678}, "password"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := jsonOf(t, test.options)
			cfg, err := storekit.ParseConfig(Info().Options, raw)
			if err == nil {
				if err = New(testEnv(t)).Configure(t.Context(), cfg); !errors.Is(err, store.ErrInvalid) {
					t.Errorf("got %v; want it invalid", err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "12345678") {
				t.Errorf("got %v; want an error with %q and no secret", err, test.want)
			}
		})
	}
}

// TestBadServer: what does not work is told within seconds, with its remedy and
// without the password.
func TestBadServer(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	role := a.role()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	host := func(addr string) func(*url.URL) { return func(u *url.URL) { u.Host = addr } }
	for name, test := range map[string]struct {
		change func(*url.URL)
		class  error
		want   string
	}{
		"wrong password": {func(u *url.URL) { u.User = url.UserPassword("postgres", "wrong-s3cret") }, store.ErrNotApplied, "check user and password"},
		"no such role":   {func(u *url.URL) { u.User = url.UserPassword("nobody", "wrong-s3cret") }, store.ErrNotApplied, "check user and password"},
		"no such host": {host("no-such..host:5432"), // no resolver needs to be asked for it
			store.ErrNotApplied, "no such host"},
		"closed port":   {host(closed.Addr().String()), store.ErrNotApplied, "is the server running"},
		"silent server": {host(silent.Addr().String()), store.ErrNotApplied, "nothing answered in time"},
		"silent server, one attempt": {func(u *url.URL) { u.Host, u.RawQuery = silent.Addr().String(), "sslmode=disable" }, store.ErrNotApplied,
			"nothing answered in time"},
		"no such database": {func(u *url.URL) { u.Path = "/no_such_db" }, store.ErrNotApplied, "create the database"},
		"no schema, and no right to make it": {func(u *url.URL) { u.User = url.UserPassword(role, testPassword) }, store.ErrNotApplied,
			`GRANT CREATE ON DATABASE "postgres" TO "` + role},
		"TLS is asked for, and not there": {func(u *url.URL) { u.RawQuery = "sslmode=require" }, store.ErrNotApplied, "refused TLS"},
		"read-only transactions":          {func(u *url.URL) { u.RawQuery = "default_transaction_read_only=on" }, store.ErrInvalid, "default_transaction_read_only"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "wrong password" || name == "no such role" {
				onlyWithPasswords(t, set)
			}
			options := map[string]any{"url": set.withURL(t, test.change).url, "schema": set.schema}
			if strings.HasPrefix(name, "silent") {
				options["connectTimeout"] = "1s" // TestConnectTimeoutIsShort looks at the default
			}
			begin := time.Now()
			err := New(testEnv(t)).Configure(t.Context(), config(t, options))
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %v and %q", err, test.class, test.want)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), url.QueryEscape(testPassword))) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

// TestConnectTimeoutIsShort: by default, too, a start against a server that never
// answers ends within five seconds, with one to spare.
func TestConnectTimeoutIsShort(t *testing.T) {
	set, err := readSettings(config(t, nil))
	if err != nil || set.connectTimeout > 4*time.Second {
		t.Errorf("a connection may take %v, %v; want at most 4 s", set.connectTimeout, err)
	}
}

// onlyWithPasswords skips where the server lets anybody in.
func onlyWithPasswords(t *testing.T, set settings) {
	if u, err := url.Parse(set.url); err != nil || u.User == nil {
		t.Skipf("the server of %s is reached without a password", serverEnv)
	}
}

// TestPasswordOption: the password may come by its option, over a wrong one in
// the url, in either form of it.
func TestPasswordOption(t *testing.T) {
	set := testSettings(t)
	u, err := url.Parse(set.url)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	wrong := set.withURL(t, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") })
	pairs := fmt.Sprintf("host=%s port=%s user=%s dbname=%s", u.Hostname(), u.Port(), u.User.Username(), strings.TrimPrefix(u.Path, "/"))
	for _, server := range []string{wrong.url, pairs + " password=wrong", pairs} {
		b := New(testEnv(t))
		if err := b.Configure(t.Context(), config(t, map[string]any{"url": server, "password": password, "schema": set.schema})); err != nil {
			t.Error(err)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestEnvironmentVariables: what the url leaves out comes from libpq's
// environment.
func TestEnvironmentVariables(t *testing.T) {
	set := testSettings(t)
	u, err := url.Parse(set.url)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	for name, value := range map[string]string{
		"PGHOST": u.Hostname(), "PGPORT": u.Port(), "PGUSER": u.User.Username(), "PGPASSWORD": password, "PGDATABASE": strings.TrimPrefix(u.Path, "/"),
	} {
		t.Setenv(name, value)
	}
	set.url = ""
	if err := tryOpen(t, set); err != nil {
		t.Error(err)
	}
}

// TestNoLeak: a backend that was used and closed leaves nothing running, one
// that did not open neither.
func TestNoLeak(t *testing.T) {
	set := testSettings(t)
	before := goleak.IgnoreCurrent()
	b := newBackend(testEnv(t))
	if err := b.open(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, claimOf("j", time.Now().UnixMilli()), store.VerdictWon)
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := tryOpen(t, set.withURL(t, func(u *url.URL) { u.Path = "/no_such_db" })); err == nil {
		t.Error("opened a database that is not there")
	}
	if err := New(testEnv(t)).Close(t.Context()); err != nil {
		t.Errorf("close of what was never configured: %v", err)
	}
	goleak.VerifyNone(t, before)
}

// TestCloseIsBounded: Close waits for calls under way, and no longer than it may.
func TestCloseIsBounded(t *testing.T) {
	set := testSettings(t)
	b := newBackend(testEnv(t))
	if err := b.open(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	conn, err := b.claims.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want the deadline", err)
	}
	conn.Release()
	if err := b.Close(t.Context()); err != nil { // waits for the first to be done
		t.Error(err)
	}
}
