package natsstore

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/anarchon-go/anarchon/storekit"
)

// target says which servers to connect to, and as whom.
type target struct {
	servers  string // as the client takes them: with commas
	count    int
	options  []nats.Option
	insecure bool // certificates are not checked
}

func readTarget(cfg storekit.Config) (target, error) {
	var t target
	urls, err := parseURLs(cfg.String("url"))
	if err != nil {
		return t, err
	}
	t.count = len(urls)
	var ways []string // to say who we are
	servers := make([]string, 0, len(urls))
	for _, u := range urls {
		servers = append(servers, u.String())
		if u.User != nil {
			ways = []string{"a user in url"}
		}
	}
	t.servers = strings.Join(servers, ",")

	user, password := cfg.String("user"), cfg.String("password")
	if password != "" && user == "" {
		return t, invalid("password is set and user is not; both go together")
	}
	if user != "" {
		ways = append(ways, "user")
		t.options = append(t.options, nats.UserInfo(user, password))
	}
	if s := cfg.String("token"); s != "" {
		ways = append(ways, "token")
		t.options = append(t.options, nats.Token(s))
	}
	if file := cfg.String("credsFile"); file != "" {
		ways = append(ways, "credsFile")
		if _, err := readFile("credsFile", file); err != nil {
			return t, err
		}
		t.options = append(t.options, nats.UserCredentials(file))
	}
	if file := cfg.String("nkeySeedFile"); file != "" {
		ways = append(ways, "nkeySeedFile")
		option, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			return t, invalid("nkeySeedFile %q: %v; it must be a file with a user's NKey seed, which begins with SU", file, err)
		}
		t.options = append(t.options, option)
	}
	if len(ways) > 1 {
		return t, invalid("%s are set; at most one may be", strings.Join(ways, " and "))
	}
	secure, err := readTLS(cfg)
	if err != nil {
		return t, err
	}
	if secure != nil {
		t.options = append(t.options, nats.Secure(secure))
		t.insecure = secure.InsecureSkipVerify
	}
	if cfg.Bool("tlsFirst") {
		t.options = append(t.options, nats.TLSHandshakeFirst())
	}
	return t, nil
}

// parseURLs never repeats an URL in an error: it may hold a password.
func parseURLs(list string) ([]*url.URL, error) {
	var urls []*url.URL
	for i, s := range strings.Split(list, ",") {
		s = strings.TrimSpace(s)
		if s == "" && strings.Contains(list, ",") {
			continue // a comma at the end
		}
		if !strings.Contains(s, "://") {
			s = "nats://" + s
		}
		u, err := url.Parse(s)
		switch {
		case err != nil:
			return nil, invalid("url, server %d: it can't be read as an URL; write it as nats://host:4222, with special characters of a password as %%XX", i+1)
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			return nil, invalid("url, server %d: it begins with %.20q; it must begin with nats, tls, ws or wss", i+1, u.Scheme)
		case u.Hostname() == "":
			return nil, invalid("url, server %d: it names no host; write it as nats://host:4222", i+1)
		case u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" && !strings.HasPrefix(u.Scheme, "ws"):
			return nil, invalid("url, server %d: nothing may follow host and port; other settings are options of their own", i+1)
		case (u.Scheme[0] == 'w') != (len(urls) > 0 && urls[0].Scheme[0] == 'w') && len(urls) > 0:
			return nil, invalid("url, server %d: websocket servers and others can't be mixed", i+1)
		}
		urls = append(urls, u)
	}
	if len(urls) == 0 {
		return nil, invalid("url names no server; write it as nats://host:4222")
	}
	return urls, nil
}

// readTLS returns nil where the options say nothing of TLS. A tls:// in url is
// the client's affair.
func readTLS(cfg storekit.Config) (*tls.Config, error) {
	ca, cert, key := cfg.String("caFile"), cfg.String("certFile"), cfg.String("keyFile")
	skip := cfg.Bool("insecureSkipVerify")
	if (cert == "") != (key == "") {
		return nil, invalid("certFile and keyFile go together; only one is set")
	}
	if !cfg.Bool("tls") && !cfg.Bool("tlsFirst") && ca == "" && cert == "" && !skip {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: skip}
	if ca != "" {
		pem, err := readFile("caFile", ca)
		if err != nil {
			return nil, err
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

func readFile(option, file string) ([]byte, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, invalid("%s: %v; name a file that the plugin's user can read", option, err)
	}
	return b, nil
}
