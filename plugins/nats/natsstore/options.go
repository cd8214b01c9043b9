package natsstore

import (
	"fmt"
	"regexp"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Version is the plugin's version.
const Version = "0.1.0"

// Format is the newest store format that this version reads and writes. Within
// a major version a format only grows.
const Format = 1

const (
	storageFile   = "file"
	storageMemory = "memory"
)

func ptr(n int64) *int64 { return &n }

// millis is a bound of a duration option.
func millis(d time.Duration) *int64 { return ptr(d.Milliseconds()) }

// Info says what the plugin is. It does no I/O.
func Info() storekit.Info {
	return storekit.Info{
		Name:    "nats",
		Version: Version,
		Options: []storekit.Option{
			{
				Name: "url", Type: storekit.TypeString, Required: true, Secret: true,
				Help: "One or more servers of one cluster, with commas, as nats://[user[:password]@]host[:port], tls://, ws:// or wss://. It is treated as a secret, since it may hold a password.",
			},
			{Name: "user", Type: storekit.TypeString, Help: "The user, where the server asks for one with a password."},
			{Name: "password", Type: storekit.TypeString, Secret: true, Help: "The user's password; best as @file."},
			{Name: "token", Type: storekit.TypeString, Secret: true, Help: "The token, where the server asks for one; best as @file."},
			{Name: "credsFile", Type: storekit.TypeString, Help: "A credentials file (JWT and seed) of a decentralised account; read again at each reconnect."},
			{Name: "nkeySeedFile", Type: storekit.TypeString, Help: "A file with an NKey seed, where the server knows users by NKey."},
			{Name: "tls", Type: storekit.TypeBool, Help: "Speak TLS; tls:// in url says the same."},
			{Name: "tlsFirst", Type: storekit.TypeBool, Help: "Begin with the TLS handshake, as a server with handshake_first wants it. Implies tls."},
			{Name: "caFile", Type: storekit.TypeString, Help: "Certificates (PEM) that the server's is checked against; empty: those of the system. Implies tls."},
			{Name: "certFile", Type: storekit.TypeString, Help: "The client's certificate (PEM), if the server wants one. Implies tls."},
			{Name: "keyFile", Type: storekit.TypeString, Help: "The key (PEM) of certFile."},
			{Name: "insecureSkipVerify", Type: storekit.TypeBool, Help: "Believe every certificate: whoever is in between reads and changes everything. For tests."},
			{Name: "domain", Type: storekit.TypeString, Help: "The JetStream domain, if the streams are behind a leaf node; empty: that of the server."},
			{
				Name: "inboxPrefix", Type: storekit.TypeString, Default: "_INBOX",
				Help: "The start of the subjects that answers come on; the default is what users may subscribe to unless they are restricted.",
			},
			{
				Name: "namespace", Type: storekit.TypeString, Default: "default",
				Help: "Services that share an account don't see the jobs of another namespace; the default is good for one service per account.",
			},
			{
				Name: "streamPrefix", Type: storekit.TypeString, Default: "anarchon",
				Help: "The start of the names of the two streams of a namespace: letters, digits, - and _.",
			},
			{
				Name: "subjectPrefix", Type: storekit.TypeString, Default: "anarchon",
				Help: "The start of the subjects of claims: letters, digits, - and _, with dots between parts.",
			},
			{
				Name: "duplicateWindow", Type: storekit.TypeDuration, Default: "5m", Min: ptr(1000), Max: millis(store.MaxBound),
				Help: "How long a slot is remembered after it was granted; it must be more than jitter and max late of every job and 20 s. The default covers the scheduler's defaults.",
			},
			{
				Name: "storage", Type: storekit.TypeString, Default: storageFile, Enum: []string{storageFile, storageMemory},
				Help: "Where new streams lie; memory forgets every slot when the server stops, unless replicas outlive it.",
			},
			{
				Name: "replicas", Type: storekit.TypeInt, Default: "1", Min: ptr(1), Max: ptr(5),
				Help: "How many servers of a cluster hold new streams; 3 survive the loss of one.",
			},
			{
				Name: "callTimeout", Type: storekit.TypeDuration, Default: "2s", Min: ptr(10), Max: millis(time.Minute),
				Help: "How long one verb may take, at most the caller's own deadline; the default outlasts a slow disk, not an election of a leader.",
			},
		},
	}
}

// settings are the options, checked.
type settings struct {
	target      target
	namespace   string
	layout      layout
	domain      string
	inboxPrefix string
	window      time.Duration
	memory      bool // storage
	replicas    int
	callTimeout time.Duration
}

var (
	streamPrefixOK  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	subjectPrefixOK = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	inboxPrefixOK   = regexp.MustCompile(`^[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+)*$`)
	domainOK        = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
)

// readSettings checks what the schema can't. It reads the files of certificates
// and credentials.
func readSettings(cfg storekit.Config) (settings, error) {
	s := settings{
		namespace:   cfg.String("namespace"),
		domain:      cfg.String("domain"),
		inboxPrefix: cfg.String("inboxPrefix"),
		window:      cfg.Duration("duplicateWindow"),
		memory:      cfg.String("storage") == storageMemory,
		replicas:    cfg.Int("replicas"),
		callTimeout: cfg.Duration("callTimeout"),
	}
	streams, subjects := cfg.String("streamPrefix"), cfg.String("subjectPrefix")
	if err := store.CheckName("namespace", s.namespace); err != nil {
		return s, err
	}
	switch {
	case !streamPrefixOK.MatchString(streams):
		return s, invalid("streamPrefix is %.80q; it must be 1 to 64 letters, digits, - and _", streams)
	case len(subjects) > 128 || !subjectPrefixOK.MatchString(subjects):
		return s, invalid("subjectPrefix is %.140q; it must be 1 to 128 letters, digits, - and _, with dots between parts", subjects)
	case len(s.inboxPrefix) > 128 || !inboxPrefixOK.MatchString(s.inboxPrefix):
		return s, invalid("inboxPrefix is %.140q; it must be 1 to 128 letters, digits, $, - and _, with dots between parts", s.inboxPrefix)
	case !domainOK.MatchString(s.domain):
		return s, invalid("domain is %.80q; it must be letters, digits, - and _", s.domain)
	}
	s.layout = newLayout(streams, subjects, s.namespace)
	var err error
	s.target, err = readTarget(cfg)
	return s, err
}

// invalid is an error of the configuration.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: nats: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}
