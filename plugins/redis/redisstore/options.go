package redisstore

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Version is the plugin's version.
const Version = "0.1.0"

// Format is the newest store format that this version reads and writes. Within
// a major version a format only grows.
const Format = 1

// The strategies, as the option spells them.
const (
	strategyLease    = "lease"
	strategyStreamID = "stream-id"
	strategyIDMP     = "idmp"
	strategyScript   = "script"
)

var strategies = []string{strategyLease, strategyStreamID, strategyIDMP, strategyScript}

func ptr(n int64) *int64 { return &n }

// millis is a bound of a duration option.
func millis(d time.Duration) *int64 { return ptr(d.Milliseconds()) }

// Info says what the plugin is. It does no I/O.
func Info() storekit.Info {
	return storekit.Info{
		Name:       "redis",
		Version:    Version,
		Strategies: strategies,
		Options: []storekit.Option{
			{
				Name: "url", Type: storekit.TypeString, Secret: true,
				Help: "The server, as redis://[user[:password]@]host[:port][/database], rediss:// for TLS; or give addrs. It is treated as a secret, since it may hold a password.",
			},
			{
				Name: "addrs", Type: storekit.TypeStrings,
				Help: "Addresses host:port instead of url: one server; with cluster some of its nodes; with sentinelMaster the Sentinels.",
			},
			{Name: "username", Type: storekit.TypeString, Help: "The ACL user; empty is the server's default user."},
			{Name: "password", Type: storekit.TypeString, Secret: true, Help: "The user's password; best as @file."},
			{
				Name: "db", Type: storekit.TypeInt, Min: ptr(0), Max: ptr(65535),
				Help: "The database's number; a Cluster has 0 only.",
			},
			{Name: "sentinelMaster", Type: storekit.TypeString, Help: "The name of the primary that the Sentinels in addrs watch; empty: addrs are the servers themselves."},
			{Name: "sentinelUsername", Type: storekit.TypeString, Help: "The user for the Sentinels, if they want one."},
			{Name: "sentinelPassword", Type: storekit.TypeString, Secret: true, Help: "The password for the Sentinels, if they want one."},
			{Name: "cluster", Type: storekit.TypeBool, Help: "The server is a Redis Cluster; a namespace lies on one of its primaries."},
			{Name: "tls", Type: storekit.TypeBool, Help: "Speak TLS; rediss:// in url says the same."},
			{Name: "caFile", Type: storekit.TypeString, Help: "Certificates (PEM) that the server's is checked against; empty: those of the system. Implies tls."},
			{Name: "certFile", Type: storekit.TypeString, Help: "The client's certificate (PEM), if the server wants one. Implies tls."},
			{Name: "keyFile", Type: storekit.TypeString, Help: "The key (PEM) of certFile."},
			{Name: "insecureSkipVerify", Type: storekit.TypeBool, Help: "Believe every certificate: whoever is in between reads and changes everything. For tests."},
			{
				Name: "namespace", Type: storekit.TypeString, Default: "default",
				Help: "Services that share a server don't see the jobs of another namespace; the default is good for one service per server.",
			},
			{
				Name: "strategy", Type: storekit.TypeString, Default: strategyLease, Enum: strategies,
				Help: "How claims are decided; lease has takeover, overlap guard and catch-up, the others decide who runs a slot and no more. All instances of a namespace must agree.",
			},
			{
				Name: "dialTimeout", Type: storekit.TypeDuration, Default: "2s", Min: ptr(1), Max: millis(time.Minute),
				Help: "How long a connection may take to come up; the default outlasts a lost packet.",
			},
			{
				Name: "callTimeout", Type: storekit.TypeDuration, Default: "2s", Min: ptr(10), Max: millis(time.Minute),
				Help: "How long one call to the server may take, at most the caller's own deadline; the default outlasts a fork of a server of some gigabytes.",
			},
			{
				Name: "poolSize", Type: storekit.TypeInt, Default: "4", Min: ptr(1), Max: ptr(1000),
				Help: "Connections for claims and recalls, and as many again for heartbeats and finishes, which so never wait behind claims; a connection carries a whole batch.",
			},
			{
				Name: "waitReplicas", Type: storekit.TypeInt, Min: ptr(0), Max: ptr(100),
				Help: "Wait after claims until so many replicas have them; a grant that fewer have stands, and is reported in the log. 0 does not wait.",
			},
			{
				Name: "waitTimeout", Type: storekit.TypeDuration, Default: "500ms", Min: ptr(1), Max: millis(time.Minute),
				Help: "How long to wait for waitReplicas; it must be less than callTimeout.",
			},
			{
				Name: "maxFuture", Type: storekit.TypeDuration, Default: "1m", Min: ptr(0), Max: millis(store.MaxBound),
				Help: "Strategy stream-id: a slot further in the future is refused, whatever the claim allows, since it would bar all slots before it.",
			},
			{
				Name: "duration", Type: storekit.TypeDuration, Default: "5m", Min: ptr(1000), Max: millis(24 * time.Hour),
				Help: "Strategy idmp: how long the server remembers a slot, in whole seconds.",
			},
			{
				Name: "maxSize", Type: storekit.TypeInt, Default: "1000", Min: ptr(1), Max: ptr(10000),
				Help: "Strategy idmp: how many slots of a job the server remembers.",
			},
			{
				Name: "window", Type: storekit.TypeDuration, Default: "5m", Min: ptr(1000), Max: millis(store.MaxBound),
				Help: "Strategy script: how long a slot is remembered.",
			},
			{
				Name: "historySize", Type: storekit.TypeInt, Default: "1000", Min: ptr(1), Max: ptr(store.MaxHistory),
				Help: "Strategy script: how many slots of a job are remembered.",
			},
		},
	}
}

// settings are the options, checked.
type settings struct {
	target    target
	namespace string
	strategy  string

	dialTimeout, callTimeout time.Duration
	poolSize                 int
	waitReplicas             int
	waitTimeout              time.Duration

	maxFuture time.Duration // stream-id
	duration  time.Duration // idmp
	maxSize   int           // idmp
	window    time.Duration // script
	runs      int           // script
}

// readSettings checks what the schema can't. It reads the certificates' files.
func readSettings(cfg storekit.Config) (settings, error) {
	s := settings{
		namespace:    cfg.String("namespace"),
		strategy:     cfg.String("strategy"),
		dialTimeout:  cfg.Duration("dialTimeout"),
		callTimeout:  cfg.Duration("callTimeout"),
		poolSize:     cfg.Int("poolSize"),
		waitReplicas: cfg.Int("waitReplicas"),
		waitTimeout:  cfg.Duration("waitTimeout"),
		maxFuture:    cfg.Duration("maxFuture"),
		duration:     cfg.Duration("duration"),
		maxSize:      cfg.Int("maxSize"),
		window:       cfg.Duration("window"),
		runs:         cfg.Int("historySize"),
	}
	if err := store.CheckName("namespace", s.namespace); err != nil {
		return s, err
	}
	if s.duration%time.Second != 0 {
		return s, invalid("duration is %v; it must be whole seconds, as the server counts them", s.duration)
	}
	if s.waitReplicas > 0 && s.waitTimeout >= s.callTimeout {
		return s, invalid("waitTimeout is %v and callTimeout %v; waitTimeout must be less, or a call ends while it waits", s.waitTimeout, s.callTimeout)
	}
	var err error
	s.target, err = readTarget(cfg)
	return s, err
}

// memory is what the strategy remembers of a job.
func (s *settings) memory() store.Memory {
	switch s.strategy {
	case strategyIDMP:
		return store.Memory{Window: s.duration, Runs: s.maxSize}
	case strategyScript:
		return store.Memory{Window: s.window, Runs: s.runs}
	}
	return store.Memory{Forever: true}
}

// invalid is an error of the configuration.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: redis: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}
