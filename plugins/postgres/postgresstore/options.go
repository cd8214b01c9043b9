package postgresstore

import (
	"fmt"
	"regexp"
	"strings"
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
	defaultSchema    = "anarchon"
	defaultNamespace = "default"
)

// Info says what the plugin is. It does no I/O.
func Info() storekit.Info {
	return storekit.Info{
		Name:    "postgres",
		Version: Version,
		Options: []storekit.Option{
			{
				Name: "url", Type: storekit.TypeString, Secret: true,
				Help: "The connection, as libpq reads it: postgres://user:password@host:5432/database?sslmode=verify-full, or host=… user=…; what it leaves out comes from the libpq environment (PGHOST, …), as far as the service hands it on.",
			},
			{
				Name: "password", Type: storekit.TypeString, Secret: true,
				Help: "The password, if it is not in the url; best as @file.",
			},
			{
				Name: "sslMode", Type: storekit.TypeString, Enum: []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"},
				Help: "TLS as libpq's sslmode, over the url's; only verify-full proves who the server is. Without either it is prefer.",
			},
			{
				Name: "sslRootCert", Type: storekit.TypeString,
				Help: "File of the certificates that sign the server's, as libpq's sslrootcert.",
			},
			{
				Name: "sslCert", Type: storekit.TypeString,
				Help: "File of the client's certificate, as libpq's sslcert.",
			},
			{
				Name: "sslKey", Type: storekit.TypeString,
				Help: "File of the client certificate's key, as libpq's sslkey.",
			},
			{
				Name: "schema", Type: storekit.TypeString, Default: defaultSchema,
				Help: "The schema that holds the tables and functions, made if missing and the role may.",
			},
			{
				Name: "namespace", Type: storekit.TypeString, Default: defaultNamespace,
				Help: "Services that share a schema don't see the jobs of another namespace; the default is good for one service per schema.",
			},
			{
				Name: "poolSize", Type: storekit.TypeInt, Default: "4", Min: bound(1), Max: bound(1000),
				Help: "The most connections for claims and recalls; claims go in batches, so that few are enough.",
			},
			{
				Name: "heartbeatPoolSize", Type: storekit.TypeInt, Default: "2", Min: bound(1), Max: bound(1000),
				Help: "The most connections for heartbeats and finishes, which never wait for claims.",
			},
			{
				Name: "connectTimeout", Type: storekit.TypeDuration, Default: "4s", Min: bound(100), Max: bound(60_000),
				Help: "How long a connection may take, name lookup and login included.",
			},
			{
				Name: "callTimeout", Type: storekit.TypeDuration, Default: "10s", Min: bound(100), Max: bound(600_000),
				Help: "How long a call waits for the server, at most the call's own deadline; the default outlasts a short stall.",
			},
			{
				Name: "maxConnLifetime", Type: storekit.TypeDuration, Default: "1h", Min: bound(1000), Max: bound(7 * 24 * 3600 * 1000),
				Help: "The age at which a connection is replaced, so that a changed address or certificate is noticed; calls are never cut.",
			},
		},
	}
}

func bound(n int64) *int64 { return &n }

// settings are the options, checked.
type settings struct {
	url, password                         string
	sslMode, sslRootCert, sslCert, sslKey string

	schema, namespace           string
	poolSize, heartbeatPoolSize int
	connectTimeout, callTimeout time.Duration
	maxConnLifetime             time.Duration
}

func readSettings(cfg storekit.Config) (settings, error) {
	s := settings{
		url:      cfg.String("url"),
		password: cfg.String("password"),

		sslMode:     cfg.String("sslMode"),
		sslRootCert: cfg.String("sslRootCert"),
		sslCert:     cfg.String("sslCert"),
		sslKey:      cfg.String("sslKey"),

		schema:    cfg.String("schema"),
		namespace: cfg.String("namespace"),

		poolSize:          cfg.Int("poolSize"),
		heartbeatPoolSize: cfg.Int("heartbeatPoolSize"),
		connectTimeout:    cfg.Duration("connectTimeout"),
		callTimeout:       cfg.Duration("callTimeout"),
		maxConnLifetime:   cfg.Duration("maxConnLifetime"),
	}
	if err := checkSchema(s.schema); err != nil {
		return s, err
	}
	return s, store.CheckName("namespace", s.namespace)
}

var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

// checkSchema refuses names that PostgreSQL refuses, cuts short, or that would
// have to be escaped in function bodies.
func checkSchema(name string) error {
	if !schemaName.MatchString(name) || strings.HasPrefix(name, "pg_") {
		return &store.InvalidError{
			Field: "schema", Value: fmt.Sprintf("%.70q", name),
			Rule: "1 to 63 ASCII letters, digits, _ and -, beginning with a letter or _, and not with pg_",
		}
	}
	return nil
}
