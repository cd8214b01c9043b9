package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/storekit"
)

// target says where the server is and how to be let in.
type target struct {
	addrs              []string
	username, password string
	db                 int
	cluster            bool
	tls                *tls.Config // nil: none

	sentinelMaster                     string // empty: addrs are servers
	sentinelUsername, sentinelPassword string
}

// String names the target without any secret.
func (t *target) String() string {
	where := strings.Join(t.addrs, ", ")
	switch {
	case t.sentinelMaster != "":
		return fmt.Sprintf("primary %q of the Sentinels %s", t.sentinelMaster, where)
	case t.cluster:
		return "cluster " + where
	}
	return where
}

func readTarget(cfg storekit.Config) (target, error) {
	t := target{
		addrs:            cfg.Strings("addrs"),
		username:         cfg.String("username"),
		password:         cfg.String("password"),
		db:               cfg.Int("db"),
		cluster:          cfg.Bool("cluster"),
		sentinelMaster:   cfg.String("sentinelMaster"),
		sentinelUsername: cfg.String("sentinelUsername"),
		sentinelPassword: cfg.String("sentinelPassword"),
	}
	secure := cfg.Bool("tls")
	if text := cfg.String("url"); text != "" {
		if len(t.addrs) > 0 {
			return t, invalid("url and addrs are both given; give one of them")
		}
		urlSecure, err := t.readURL(text)
		if err != nil {
			return t, err
		}
		secure = secure || urlSecure
	}
	if err := t.check(); err != nil {
		return t, err
	}
	var err error
	t.tls, err = readTLS(tlsFiles{
		on: secure, ca: cfg.String("caFile"), cert: cfg.String("certFile"), key: cfg.String("keyFile"), trustAll: cfg.Bool("insecureSkipVerify"),
	})
	return t, err
}

// check finds settings that contradict each other.
func (t *target) check() error {
	switch {
	case len(t.addrs) == 0:
		return invalid("no server is named; give url (redis://host:6379) or addrs")
	case t.cluster && t.sentinelMaster != "":
		return invalid("cluster and sentinelMaster are both given; a Cluster has no Sentinels, give one of them")
	case t.cluster && t.db != 0:
		return invalid("db is %d with cluster; a Cluster has database 0 only", t.db)
	case len(t.addrs) > 1 && !t.cluster && t.sentinelMaster == "":
		return invalid("addrs names %d servers; with more than one, set cluster, or sentinelMaster if they are Sentinels", len(t.addrs))
	case t.sentinelMaster == "" && t.sentinelUsername+t.sentinelPassword != "":
		return invalid("sentinelUsername or sentinelPassword is given without sentinelMaster; name the primary")
	case t.username != "" && t.password == "":
		return invalid("username is %q without a password; give password, or leave both empty for the server's default user", t.username)
	}
	for i, addr := range t.addrs {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			// Without a port; if it is something else, the second try finds it.
			host, port, err = net.SplitHostPort(addr + ":" + t.defaultPort())
		}
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || perr != nil || n == 0 {
			return invalid("address %.60q is not host:port, e.g. redis.internal:6379 or [::1]:6379", addr)
		}
		t.addrs[i] = net.JoinHostPort(host, port)
	}
	return nil
}

func (t *target) defaultPort() string {
	if t.sentinelMaster != "" {
		return "26379"
	}
	return "6379"
}

// readURL reads redis://[user[:password]@]host[:port][/database]. The driver's
// own parser is not used: it takes settings from the query that would undo what
// this package relies on. No error quotes the text: it may hold a password.
func (t *target) readURL(text string) (secure bool, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return false, invalid("url can't be read; it must be redis://[user[:password]@]host[:port][/database]. In a password, write / # ? @ : %% as %%2F %%23 %%3F %%40 %%3A %%25, or give it by the option password")
	}
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return false, invalid("url begins with neither redis:// nor rediss://; it must be redis://[user[:password]@]host[:port][/database]")
	case u.RawQuery != "" || u.Fragment != "":
		return false, invalid("url has a part after ? or #; settings are options of their own here. In a password, write ? as %%3F and # as %%23")
	case u.Hostname() == "":
		return false, invalid("url names no host; it must be redis://[user[:password]@]host[:port][/database]")
	}
	t.addrs = []string{u.Host}
	if u.User != nil {
		if t.username != "" || t.password != "" {
			return false, invalid("the user or password is given in url and by an option; give it once")
		}
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
		if t.password == "" {
			return false, invalid("url has a user without a password; it must be user:password@, or :password@ for the server's default user")
		}
	}
	if name := strings.Trim(u.Path, "/"); name != "" {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || n > 65535 {
			return false, invalid("url ends in a database that is no number from 0 to 65535")
		}
		if t.db != 0 && t.db != n {
			return false, invalid("db is %d, and url names database %d; give it once", t.db, n)
		}
		t.db = n
	}
	return u.Scheme == "rediss", nil
}

type tlsFiles struct {
	on, trustAll  bool
	ca, cert, key string
}

// readTLS reads the certificates. It returns nil if TLS is not asked for.
func readTLS(f tlsFiles) (*tls.Config, error) {
	if (f.cert == "") != (f.key == "") {
		return nil, invalid("one of certFile and keyFile is given; a client's certificate needs both")
	}
	if !f.on && f.ca == "" && f.cert == "" {
		if f.trustAll {
			return nil, invalid("insecureSkipVerify is set without TLS; set tls, or use rediss://")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.trustAll}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, invalid("caFile can't be read: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, invalid("caFile %s holds no certificate in PEM form", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			var pathError *os.PathError
			if errors.As(err, &pathError) {
				return nil, invalid("certFile or keyFile can't be read: %v", pathError)
			}
			return nil, invalid("certFile %s and keyFile %s don't hold a certificate and its key in PEM form: %v", f.cert, f.key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
