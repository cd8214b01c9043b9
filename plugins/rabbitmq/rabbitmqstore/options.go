package rabbitmqstore

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Version is the plugin's version.
const Version = "0.1.0"

// Format is the newest format of the log that this version reads and writes.
// Within a major version a format only grows.
const Format = 1

const (
	defaultSlotTTL    = 5 * time.Minute
	defaultHistoryTTL = 24 * time.Hour
	maxHistoryTTL     = 30 * 24 * time.Hour
)

// Info says what the plugin is. It does no I/O.
func Info() storekit.Info {
	ptr := func(n int64) *int64 { return &n }
	millis := func(d time.Duration) *int64 { return ptr(d.Milliseconds()) }
	return storekit.Info{
		Name:    "rabbitmq",
		Version: Version,
		Options: []storekit.Option{
			{
				Name: "url", Type: storekit.TypeString, Secret: true, Default: "amqp://127.0.0.1:5672",
				Help: "The broker: amqp://[user:password@]host[:port][/vhost], or amqps:// for TLS; the default is a broker on this host.",
			},
			{Name: "vhost", Type: storekit.TypeString, Help: "The virtual host, if not in url; empty: /."},
			{Name: "username", Type: storekit.TypeString, Help: "The user, if not in url; empty: guest, which brokers let in from their own host only."},
			{Name: "password", Type: storekit.TypeString, Secret: true, Help: "The user's password, if not in url."},
			{Name: "caFile", Type: storekit.TypeString, Help: "PEM file of the authorities to believe for amqps; empty: those of the system."},
			{Name: "certFile", Type: storekit.TypeString, Help: "PEM file of a client certificate; goes with keyFile."},
			{Name: "keyFile", Type: storekit.TypeString, Help: "PEM file of the client certificate's key."},
			{Name: "insecureSkipVerify", Type: storekit.TypeBool, Help: "Believe every certificate: whoever is in between reads and changes everything. For tests."},
			{
				Name: "namespace", Type: storekit.TypeString, Default: "default",
				Help: "Services that share a vhost don't see the jobs of another namespace; each has a log of its own. The default is good for one service per vhost.",
			},
			{
				Name: "slotTtl", Type: storekit.TypeDuration, Default: "5m", Min: ptr(1000), Max: millis(maxHistoryTTL),
				Help: "How long a slot is remembered after it was granted; it must be more than jitter and max late of every job and 20 s. The default covers the scheduler's defaults.",
			},
			{
				Name: "historyTtl", Type: storekit.TypeDuration, Default: "24h", Min: ptr(1000), Max: millis(maxHistoryTTL),
				Help: "How long the log keeps history; every start reads so much of the log. The default suits some hundred thousand runs a day.",
			},
			{
				Name: "callTimeout", Type: storekit.TypeDuration, Default: "2s", Min: ptr(10), Max: millis(time.Minute),
				Help: "How long one verb may take, at most the caller's own deadline; the default outlasts a slow disk, not the election of a leader.",
			},
		},
	}
}

// settings are the options, checked.
type settings struct {
	target      target
	namespace   string
	slotTTL     time.Duration
	historyTTL  time.Duration
	callTimeout time.Duration
}

// readSettings checks what the schema can't. It reads the files of
// certificates.
func readSettings(cfg storekit.Config) (settings, error) {
	s := settings{
		namespace:   cfg.String("namespace"),
		slotTTL:     cfg.Duration("slotTtl"),
		historyTTL:  cfg.Duration("historyTtl"),
		callTimeout: cfg.Duration("callTimeout"),
	}
	if err := store.CheckName("namespace", s.namespace); err != nil {
		return s, err
	}
	var err error
	s.target, err = readTarget(cfg)
	return s, err
}

// keep is how far back the log is kept and read at a start. That is the memory
// twice and a minute, whatever the history, so that a broker's clock that is
// corrected by less than the memory and a minute costs nothing.
func (s settings) keep() time.Duration {
	return max(s.historyTTL, 2*s.slotTTL+time.Minute).Round(time.Second)
}

// invalid is an error of the configuration.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: rabbitmq: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}
