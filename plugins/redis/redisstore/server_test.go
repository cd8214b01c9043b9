package redisstore

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// good is a server that nothing can be said against; change bends it.
func good(change map[string]string) *server {
	s := &server{
		info: map[string]string{
			"redis_version": "8.6.3", "redis_mode": "standalone", "role": "master", "connected_slaves": "0", "cluster_enabled": "0",
			"maxmemory": "0", "maxmemory_policy": "noeviction", "aof_enabled": "1", "aof_last_write_status": "ok",
		},
		config: map[string]string{"appendfsync": "always", "appendonly": "yes", "aof-use-rdb-preamble": "yes", "save": "", "min-replicas-to-write": "0"},
	}
	for k, v := range change {
		if name, ok := strings.CutPrefix(k, "config "); ok {
			s.config[name] = v
		} else {
			s.info[k] = v
		}
	}
	return s
}

func TestJudgeServer(t *testing.T) {
	for _, c := range []struct {
		strategy string
		cluster  bool
		change   map[string]string
		words    []string // of the refusal; nil: it is taken
	}{
		{strategyLease, false, nil, nil},
		{strategyLease, false, map[string]string{"redis_version": "7.0.0"}, nil},
		{strategyLease, false, map[string]string{"redis_version": "6.2.14"}, []string{"6.2.14", "7.0.0"}},
		{strategyLease, false, map[string]string{"redis_version": ""}, []string{"redis_version"}},
		{strategyLease, false, map[string]string{"redis_version": "255.255.255"}, nil},
		{strategyLease, false, map[string]string{"redis_version": "8.0-rc1"}, nil},
		{strategyLease, false, map[string]string{"server_name": "valkey", "redis_version": "7.2.4", "valkey_version": "9.1.2"}, nil},
		{strategyIDMP, false, nil, nil},
		{strategyIDMP, false, map[string]string{"redis_version": "8.6.2"}, nil},
		{strategyIDMP, false, map[string]string{"redis_version": "8.6.1"}, []string{"idmp", "8.6.1", "8.6.2", "lease"}},
		{strategyIDMP, false, map[string]string{"redis_version": "7.4.0"}, []string{"idmp", "7.4.0"}},
		{strategyIDMP, false, map[string]string{"server_name": "valkey", "redis_version": "7.2.4", "valkey_version": "9.1.2"}, []string{"idmp", "Valkey 9.1.2"}},
		{strategyLease, false, map[string]string{"role": "slave", "master_host": "p", "master_port": "1"}, []string{"replica of p:1", "primary"}},
		{strategyLease, false, map[string]string{"redis_mode": "sentinel", "role": ""}, []string{"Sentinel", "sentinelMaster"}},
		{strategyLease, false, map[string]string{"cluster_enabled": "1"}, []string{"option cluster"}},
		{strategyLease, true, map[string]string{"cluster_enabled": "1"}, nil},
		{strategyLease, false, map[string]string{"maxmemory_policy": "allkeys-lru"}, []string{"allkeys-lru", "noeviction"}},
		{strategyLease, false, map[string]string{"maxmemory_policy": "allkeys-lrm"}, []string{"allkeys-lrm"}},
		{strategyLease, false, map[string]string{"maxmemory_policy": "volatile-ttl"}, nil},
	} {
		s := settings{strategy: c.strategy, target: target{cluster: c.cluster}}
		err := good(c.change).judge(&s)
		if c.words == nil {
			if err != nil {
				t.Errorf("%s %v: refused: %v", c.strategy, c.change, err)
			}
			continue
		}
		if !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("%s %v: %v; want it refused", c.strategy, c.change, err)
			continue
		}
		wantWords(t, err.Error(), c.words)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		set    settings
		change map[string]string
		words  []string // of the one warning; nil: there is none
	}{
		{settings{}, nil, nil},
		{settings{}, map[string]string{"config appendfsync": "everysec"}, []string{"appendfsync is everysec", "always"}},
		{settings{}, map[string]string{"config appendfsync": "no"}, []string{"appendfsync is no"}},
		{settings{}, map[string]string{"aof_enabled": "0"}, []string{"every claim", "appendonly yes"}},
		{settings{}, map[string]string{"aof_enabled": "0", "config save": "3600 1"}, []string{"last snapshot", "appendonly yes"}},
		{settings{}, map[string]string{"aof_last_write_status": "err"}, []string{"aof_last_write_status"}},
		{settings{strategy: strategyIDMP}, map[string]string{"config aof-use-rdb-preamble": "no"}, []string{"aof-use-rdb-preamble"}},
		{settings{strategy: strategyLease}, map[string]string{"config aof-use-rdb-preamble": "no"}, nil},
		{settings{}, map[string]string{"connected_slaves": "2"}, []string{"2 replicas", "min-replicas-to-write", "waitReplicas"}},
		{settings{}, map[string]string{"connected_slaves": "2", "config min-replicas-to-write": "1"}, nil},
		{settings{waitReplicas: 1}, map[string]string{"connected_slaves": "2"}, nil},
		{settings{waitReplicas: 3}, map[string]string{"connected_slaves": "2"}, []string{"waitReplicas is 3", "2 replicas"}},
		{settings{target: target{tls: &tls.Config{InsecureSkipVerify: true}}}, nil, []string{"insecureSkipVerify", "caFile"}},
	} {
		got := good(c.change).warnings(&c.set)
		switch {
		case c.words == nil && len(got) > 0:
			t.Errorf("%v: warns %q", c.change, got)
		case c.words != nil && len(got) != 1:
			t.Errorf("%v: warns %q; want one warning with %q", c.change, got, c.words)
		case c.words != nil:
			wantWords(t, got[0], c.words)
		}
	}
	// Where CONFIG is refused, INFO alone must do.
	s := good(map[string]string{"aof_enabled": "0"})
	s.config = nil
	if got := s.warnings(&settings{}); len(got) != 1 || !strings.Contains(got[0], "appendonly") {
		t.Errorf("without CONFIG it warns %q", got)
	}
}

func TestParseInfo(t *testing.T) {
	got := parseInfo("# Server\r\nredis_version:7.0.15\r\n\r\n# Keyspace\r\ndb0:keys=1,expires=0\r\nno colon\r\n")
	if len(got) != 2 || got["redis_version"] != "7.0.15" || got["db0"] != "keys=1,expires=0" {
		t.Errorf("got %q", got)
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]version{"7.0.15": {7, 0, 15}, "8.6": {8, 6, 0}, "8.0-rc1": {8, 0, 0}, "9": {9, 0, 0}, "8.6.2-int1": {8, 6, 2}} {
		if got, ok := parseVersion(text); !ok || got != want {
			t.Errorf("version %q is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, bad := range []string{"", "x", "x.1", ".", "7."} {
		if got, ok := parseVersion(bad); ok {
			t.Errorf("version %q is %v; want none", bad, got)
		}
	}
}

func TestRecordAgrees(t *testing.T) {
	mine := record{"1", "lease", "for ever"}
	for _, c := range []struct {
		there record
		class error // nil: they agree
		words []string
	}{
		{record{"1", "lease", "for ever"}, nil, nil},
		{record{"2", "lease", "for ever"}, store.ErrStoreFormat, []string{"format 2", "1 to 1", "upgrade"}},
		{record{"99", "other", "x"}, store.ErrStoreFormat, []string{"99"}},
		{record{"", "", ""}, store.ErrNotApplied, []string{"format"}},
		{record{"0", "lease", "for ever"}, store.ErrNotApplied, []string{"format", `"0"`}},
		{record{"one", "lease", "for ever"}, store.ErrNotApplied, []string{`"one"`}},
		{record{"1", "script", "5m0s"}, store.ErrNotApplied, []string{`"script"`, `"lease"`, "another namespace"}},
		{record{"1", "lease", "5m0s and 10 runs per job"}, store.ErrNotApplied, []string{"5m0s and 10 runs", "for ever", "memory"}},
	} {
		err := mine.agree(c.there, "the-key")
		if !errors.Is(err, c.class) || (err == nil) != (c.class == nil) {
			t.Errorf("%v: %v; want class %v", c.there, err, c.class)
		} else if err != nil {
			wantWords(t, err.Error(), c.words)
		}
	}
}
