package rabbitmqstore

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/storekit"
)

// target says which broker to connect to, and as whom.
type target struct {
	host, port         string
	vhost              string
	username, password string
	tls                *tls.Config // nil: none
}

// String names the target without any secret.
func (t *target) String() string { return net.JoinHostPort(t.host, t.port) }

// loopback reports whether the broker is on this host, as far as the name
// tells.
func (t *target) loopback() bool {
	ip := net.ParseIP(t.host)
	return t.host == "localhost" || ip != nil && ip.IsLoopback()
}

const urlForm = "amqp://[user:password@]host[:port][/vhost]"

// readTarget reads the options of the connection. The driver's own parser of
// URLs is not used: it takes settings from the query, and its errors repeat
// passwords. No error here quotes the URL.
func readTarget(cfg storekit.Config) (target, error) {
	t := target{vhost: cfg.String("vhost"), username: cfg.String("username"), password: cfg.String("password")}
	text := strings.TrimSpace(cfg.String("url"))
	if !strings.Contains(text, "://") {
		text = "amqp://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return t, invalid("url can't be read; it must be %s. In a password, write / # ? @ : %% as %%2F %%23 %%3F %%40 %%3A %%25, or give it by the option password", urlForm)
	}
	switch {
	case u.Scheme != "amqp" && u.Scheme != "amqps":
		return t, invalid("url begins with %.20q; it must begin with amqp or amqps: %s", u.Scheme, urlForm)
	case u.Hostname() == "":
		return t, invalid("url names no host; it must be %s", urlForm)
	case u.RawQuery != "" || u.Fragment != "":
		return t, invalid("url has a part after ? or #; settings are options of their own here. In a password, write ? as %%3F and # as %%23")
	}
	t.host, t.port = u.Hostname(), u.Port()
	if t.port == "" {
		t.port = map[string]string{"amqp": "5672", "amqps": "5671"}[u.Scheme]
	}
	if n, err := strconv.ParseUint(t.port, 10, 16); err != nil || n == 0 {
		return t, invalid("url names port %.20q; it must be a number from 1 to 65535", t.port)
	}
	if err := t.readUser(u); err != nil {
		return t, err
	}
	if err := t.readVhost(u); err != nil {
		return t, err
	}
	t.tls, err = readTLS(cfg, u.Scheme == "amqps", t.host)
	return t, err
}

func (t *target) readUser(u *url.URL) error {
	if u.User != nil {
		if t.username != "" || t.password != "" {
			return invalid("the user or password is given in url and by an option; give it once")
		}
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
	}
	switch {
	case t.username == "" && t.password == "":
		t.username, t.password = "guest", "guest"
	case t.username == "":
		return invalid("password is set and username is not; both go together")
	case t.password == "":
		return invalid("username is %.60q without a password; give password", t.username)
	}
	return nil
}

func (t *target) readVhost(u *url.URL) error {
	// As brokers' URLs have it: /name is the vhost "name", / alone is left to the
	// option, and a vhost with a slash in its name has it as %2F.
	name := strings.TrimPrefix(u.EscapedPath(), "/")
	if strings.Contains(name, "/") {
		return invalid("url has a second / after the host; a / in a vhost's name is written %%2F")
	}
	inURL, err := url.PathUnescape(name)
	if err != nil {
		return invalid("url names a vhost that can't be read; write special characters as %%XX")
	}
	if inURL != "" && t.vhost != "" && inURL != t.vhost {
		return invalid("vhost is %.60q, and url names another one; give it once", t.vhost)
	}
	if t.vhost == "" {
		t.vhost = inURL
	}
	if t.vhost == "" {
		t.vhost = "/"
	}
	return nil
}

// readTLS returns nil if TLS is not asked for.
func readTLS(cfg storekit.Config, on bool, host string) (*tls.Config, error) {
	ca, cert, key := cfg.String("caFile"), cfg.String("certFile"), cfg.String("keyFile")
	skip := cfg.Bool("insecureSkipVerify")
	if (cert == "") != (key == "") {
		return nil, invalid("certFile and keyFile go together; only one is set")
	}
	if !on {
		if ca != "" || cert != "" || skip {
			return nil, invalid("caFile, certFile or insecureSkipVerify is set, and url does not begin with amqps; without TLS they say nothing")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, InsecureSkipVerify: skip}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, invalid("caFile: %v; name a file that the plugin's user can read", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, invalid("caFile %q holds no certificate; it must be PEM", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, invalid("certFile %q and keyFile %q: %v", cert, key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
