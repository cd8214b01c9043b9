package redisstore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// server is what a server says of itself: INFO, and where the user may ask,
// CONFIG GET.
type server struct {
	info   map[string]string
	config map[string]string // nil if the user may not ask
}

// parseInfo reads the answer of INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(key, "#") {
			info[key] = value
		}
	}
	return info
}

// version is a product's version, comparable part by part.
type version [3]int

func parseVersion(s string) (v version, ok bool) {
	parts := strings.SplitN(s, ".", 3)
	for i, part := range parts {
		// "8.0-rc1" counts as 8.0.
		if end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			part = part[:end]
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return version{}, false
		}
		v[i] = n
	}
	return v, true
}

func (v version) less(o version) bool {
	for i := range v {
		if v[i] != o[i] {
			return v[i] < o[i]
		}
	}
	return false
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

var (
	oldest     = version{7, 0, 0} // scripts with flags, and clocks in scripts that write
	oldestIDMP = version{8, 6, 2} // before it the memory does not survive a restart
)

func (s *server) valkey() bool { return s.info["server_name"] == "valkey" }

// product names product and version.
func (s *server) product() string {
	if s.valkey() {
		return "Valkey " + s.info["valkey_version"]
	}
	return "Redis " + s.info["redis_version"]
}

// judge refuses a server on which claims would not be safe. The error says what
// to change.
func (s *server) judge(set *settings) error {
	// Valkey tells the version of Redis that it is compatible with.
	v, ok := parseVersion(s.info["redis_version"])
	switch {
	case s.info["redis_mode"] == "sentinel":
		return refuse("the server is a Sentinel; set sentinelMaster to the name of the primary that it watches")
	case !ok:
		return refuse("INFO tells no redis_version; is it a Redis or Valkey, and not a proxy?")
	case v.less(oldest):
		return refuse("the server is %s; it must be Redis %v or newer, or Valkey", s.product(), oldest)
	case set.strategy == strategyIDMP && s.valkey():
		return refuse("strategy idmp needs XADD with IDMP, which %s does not have; use strategy lease, stream-id or script", s.product())
	case set.strategy == strategyIDMP && v.less(oldestIDMP):
		return refuse("strategy idmp needs Redis %v or newer, and the server is %s; use strategy lease, stream-id or script", oldestIDMP, s.product())
	case s.info["role"] != "master":
		return refuse("the server is a replica of %s:%s; name the primary, or use Sentinel (sentinelMaster) or a Cluster (cluster), which follow a failover", s.info["master_host"], s.info["master_port"])
	case s.clusterEnabled() && !set.target.cluster:
		return refuse("the server is a node of a Cluster; set the option cluster")
	case strings.HasPrefix(s.info["maxmemory_policy"], "allkeys-"):
		return refuse("maxmemory-policy is %s: the server may drop what it remembers of a job, and the job's slots run again; set it to noeviction (volatile-* is good too: keys of this plugin never expire)", s.info["maxmemory_policy"])
	}
	return nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: redis: "+format, append([]any{store.ErrNotApplied}, args...)...)
}

func (s *server) clusterEnabled() bool { return s.info["cluster_enabled"] == "1" }

// warnings are what the operator should know; each has its remedy.
func (s *server) warnings(set *settings) []string {
	var all []string
	warn := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	aof := s.info["aof_enabled"] == "1"
	switch save, known := s.config["save"]; {
	case !aof && known && save == "":
		warn("appendonly is no and save is empty: a restart of the server forgets every claim, and slots run again; set appendonly yes")
	case !aof:
		warn("appendonly is no: a crash of the server forgets the claims since its last snapshot, and their slots run again; set appendonly yes")
	case s.config["appendfsync"] == "everysec":
		warn("appendfsync is everysec: a power cut forgets up to the last second's claims, and their slots run again; set appendfsync always if that matters")
	case s.config["appendfsync"] == "no":
		warn("appendfsync is no: a power cut forgets the claims that the kernel had not written; set appendfsync everysec or always")
	}
	if status := s.info["aof_last_write_status"]; aof && status != "" && status != "ok" {
		warn("aof_last_write_status is %s: the server can't write its log; see its log and the disk", status)
	}
	if aof && set.strategy == strategyIDMP && s.config["aof-use-rdb-preamble"] == "no" {
		warn("aof-use-rdb-preamble is no: a rewrite of the log forgets slots whose entries were trimmed; set it to yes")
	}
	replicas, _ := strconv.Atoi(s.info["connected_slaves"])
	if replicas > 0 && set.waitReplicas == 0 && s.config["min-replicas-to-write"] == "0" {
		warn("the server has %d replicas, and neither min-replicas-to-write nor the option waitReplicas is set: a failover forgets the claims that had not reached the new primary; set min-replicas-to-write 1, and waitReplicas to hear of it", replicas)
	}
	if replicas < set.waitReplicas {
		warn("waitReplicas is %d, and %d replicas follow the server: every batch of claims waits for waitTimeout; bring the replicas up or lower waitReplicas", set.waitReplicas, replicas)
	}
	if set.target.tls != nil && set.target.tls.InsecureSkipVerify {
		warn("insecureSkipVerify is set: whoever is in between can read and change everything; name the signer by caFile instead")
	}
	return all
}

// observed are the settings that safety rests on.
func (s *server) observed() []store.Setting {
	var all []store.Setting
	add := func(name, value string) {
		if value != "" {
			all = append(all, store.Setting{Name: name, Value: value})
		}
	}
	for _, key := range []string{"redis_mode", "role", "connected_slaves", "maxmemory", "maxmemory_policy", "aof_enabled", "master_replid"} {
		add(key, s.info[key])
	}
	for _, key := range configKeys {
		value, known := s.config[key]
		if known && value == "" {
			value = "(empty)"
		}
		add(key, value)
	}
	return all
}

// configKeys are asked for where the user may ask.
var configKeys = []string{"appendonly", "appendfsync", "aof-use-rdb-preamble", "save", "min-replicas-to-write", "min-replicas-max-lag"}
