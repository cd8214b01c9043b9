package redisstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// readOptions checks options as the SDK and then the plugin do.
func readOptions(t testing.TB, o options) (settings, error) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := storekit.ParseConfig(Info().Options, raw)
	if err != nil {
		return settings{}, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return readSettings(cfg)
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		o    options
		want string // addresses, user, password, database, and what else
	}{
		{options{"url": "redis://h"}, "h:6379   0"},
		{options{"url": "redis://h:1/"}, "h:1   0"},
		{options{"url": "redis://h:1/3"}, "h:1   3"},
		{options{"url": "redis://[::1]"}, "[::1]:6379   0"},
		{options{"url": "redis://[::1]:7/2"}, "[::1]:7   2"},
		{options{"url": "redis://u:p%2F%40@h"}, "h:6379 u p/@ 0"},
		{options{"url": "redis://:p@h"}, "h:6379  p 0"},
		{options{"url": "rediss://h"}, "h:6379   0 tls"},
		{options{"addrs": "h"}, "h:6379   0"},
		{options{"addrs": "h:1", "username": "u", "password": "p", "db": 4}, "h:1 u p 4"},
		{options{"addrs": "h", "tls": true}, "h:6379   0 tls"},
		{options{"addrs": []string{"a", "b:1"}, "cluster": true}, "a:6379,b:1   0"},
		{options{"url": "redis://a", "cluster": true}, "a:6379   0"},
		{options{"addrs": "s1,s2:1", "sentinelMaster": "m"}, "s1:26379,s2:1   0"},
		{options{"url": "redis://h/3", "db": 3}, "h:6379   3"},
	} {
		s, err := readOptions(t, c.o)
		if err != nil {
			t.Errorf("%v: %v", c.o, err)
			continue
		}
		got := fmt.Sprintf("%s %s %s %d", strings.Join(s.target.addrs, ","), s.target.username, s.target.password, s.target.db)
		if s.target.tls != nil {
			got += " tls"
		}
		if got != c.want {
			t.Errorf("%v: %q; want %q", c.o, got, c.want)
		}
	}
}

// Each error says which option is wrong and what it must be; none shows a
// secret.
func TestBadOptions(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "hunter2secret"
	for _, c := range []struct {
		o     options
		words []string
	}{
		{options{}, []string{"url", "addrs"}},
		{options{"url": "redis://h", "addrs": "h"}, []string{"url and addrs"}},
		{options{"url": "http://:" + secret + "@h"}, []string{"redis://"}},
		{options{"url": secret}, []string{"redis://"}},
		{options{"url": "redis://u:" + secret + "/x@h:1"}, []string{"%2F"}},
		{options{"url": "redis://u:" + secret + "#x@h:1"}, []string{"redis://"}},
		{options{"url": "redis://u:" + secret + "%zz@h:1"}, []string{"%25"}},
		{options{"url": "redis://"}, []string{"host"}},
		{options{"url": "redis://h:99999"}, []string{"h:99999", "host:port"}},
		{options{"url": "redis://h:0"}, []string{"host:port"}},
		{options{"url": "redis://h/x"}, []string{"database"}},
		{options{"url": "redis://h/-1"}, []string{"database"}},
		{options{"url": "redis://h?max_retries=3"}, []string{"after ?"}},
		{options{"url": "redis://u@h"}, []string{"without a password"}},
		{options{"url": "redis://:" + secret + "@h", "password": secret}, []string{"give it once"}},
		{options{"url": "redis://h/1", "db": 2}, []string{"db is 2", "database 1"}},
		{options{"addrs": "h:x"}, []string{"h:x", "host:port"}},
		{options{"addrs": ":6379"}, []string{"host:port"}},
		{options{"addrs": "a,b"}, []string{"2 servers", "cluster", "sentinelMaster"}},
		{options{"addrs": "a", "cluster": true, "sentinelMaster": "m"}, []string{"cluster and sentinelMaster"}},
		{options{"addrs": "a", "cluster": true, "db": 1}, []string{"db is 1", "database 0"}},
		{options{"addrs": "a", "sentinelPassword": secret}, []string{"sentinelMaster"}},
		{options{"addrs": "a", "username": "u"}, []string{"u", "password"}},
		{options{"addrs": "a", "insecureSkipVerify": true}, []string{"insecureSkipVerify", "tls"}},
		{options{"addrs": "a", "caFile": filepath.Join(dir, "none.pem")}, []string{"caFile", "none.pem", "no such file"}},
		{options{"addrs": "a", "caFile": empty}, []string{"caFile", "PEM"}},
		{options{"addrs": "a", "certFile": empty}, []string{"certFile and keyFile"}},
		{options{"addrs": "a", "certFile": empty, "keyFile": empty}, []string{"certFile", "PEM"}},
		{options{"addrs": "a", "certFile": empty, "keyFile": filepath.Join(dir, "none.pem")}, []string{"keyFile", "none.pem"}},
		{options{"addrs": "a", "namespace": ""}, []string{"namespace"}},
		{options{"addrs": "a", "namespace": strings.Repeat("x", 201)}, []string{"namespace", "200"}},
		{options{"addrs": "a", "strategy": "leese"}, []string{"strategy", "leese", "lease"}},
		{options{"addrs": "a", "duration": "1.5s"}, []string{"duration", "1.5s", "whole seconds"}},
		{options{"addrs": "a", "duration": "25h"}, []string{"duration", "24h"}},
		{options{"addrs": "a", "maxSize": 10001}, []string{"maxSize", "10000"}},
		{options{"addrs": "a", "poolSize": 0}, []string{"poolSize", "1 to 1000"}},
		{options{"addrs": "a", "waitReplicas": 1, "waitTimeout": "2s"}, []string{"waitTimeout", "callTimeout", "2s"}},
		{options{"addrs": "a", "waitReplicaz": 1}, []string{"waitReplicaz", "waitReplicas"}},
	} {
		_, err := readOptions(t, c.o)
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v: %v; want invalid", c.o, err)
			continue
		}
		wantWords(t, err.Error(), c.words, secret)
	}
}

// The schema must hold together, and its defaults be those that the README and
// the issue promise.
func TestDefaults(t *testing.T) {
	s, err := readOptions(t, options{"addrs": "h"})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(s.namespace, " ", s.strategy, " ", s.duration, " ", s.maxSize, " ", s.window, " ", s.runs, " ", s.maxFuture, " ", s.waitReplicas, " ", s.dialTimeout+s.callTimeout)
	if want := "default lease 5m0s 1000 5m0s 1000 1m0s 0 4s"; got != want {
		t.Errorf("the defaults are %s; want %s", got, want)
	}
	for strategy, want := range map[string]store.Memory{
		"lease": {Forever: true}, "stream-id": {Forever: true},
		"idmp": {Window: s.duration, Runs: 1000}, "script": {Window: s.window, Runs: 1000},
	} {
		if s.strategy = strategy; s.memory() != want {
			t.Errorf("strategy %s remembers %v; want %v", strategy, s.memory(), want)
		}
	}
}
