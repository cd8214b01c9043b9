package postgresstore

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		set                            settings
		host, user, password, database string
		port                           uint16
	}{
		{settings{url: "postgres://u:p%2Fw@h:99/d"}, "h", "u", "p/w", "d", 99},
		{settings{url: "postgresql://u@h/d?connect_timeout=3", password: "a b&c+d"}, "h", "u", "a b&c+d", "d", 5432},
		{settings{url: "postgres://u:old@h/d", password: "new"}, "h", "u", "new", "d", 5432},
		{settings{url: "host=h user=u dbname=d port=99", password: `it's a \ "secret"`}, "h", "u", `it's a \ "secret"`, "d", 99},
		{settings{url: "host=h user=u password=old dbname=d", password: "new"}, "h", "u", "new", "d", 5432},
		{settings{url: "postgres://u@h1:1,h2:2/d", password: "p"}, "h1", "u", "p", "d", 1},
	} {
		cfg, err := test.set.parse()
		if err != nil {
			t.Errorf("%+v: %v", test.set, err)
			continue
		}
		c := cfg.ConnConfig
		if c.Host != test.host || c.User != test.user || c.Password != test.password || c.Database != test.database || c.Port != test.port {
			t.Errorf("%+v: host %q, port %d, user %q, password %q, database %q", test.set, c.Host, c.Port, c.User, c.Password, c.Database)
		}
	}
}

func TestParseTLS(t *testing.T) {
	for mode, want := range map[string]struct{ tls, verified, fallbacks bool }{
		"":            {true, false, true},
		"disable":     {false, false, false},
		"prefer":      {true, false, true},
		"require":     {true, false, false},
		"verify-full": {true, true, false},
	} {
		for _, url := range []string{"postgres://h/d", "host=h", "postgres://h/d?sslmode=allow"} {
			if mode == "" && strings.Contains(url, "allow") {
				continue
			}
			cfg, err := (&settings{url: url, sslMode: mode}).parse()
			if err != nil {
				t.Fatal(err)
			}
			tls := cfg.ConnConfig.TLSConfig
			if got := tls != nil; got != want.tls {
				t.Errorf("%s, mode %q: TLS is %v", url, mode, got)
			}
			if tls != nil && !tls.InsecureSkipVerify != want.verified {
				t.Errorf("%s, mode %q: InsecureSkipVerify is %v", url, mode, tls.InsecureSkipVerify)
			}
			if got := len(cfg.ConnConfig.Fallbacks) > 0; got != want.fallbacks {
				t.Errorf("%s, mode %q: falling back is %v", url, mode, got)
			}
		}
	}
}

// TestBrokenURLs: whatever is wrong with a url, its error does not quote the
// password.
func TestBrokenURLs(t *testing.T) {
	const secret = "s3cretw0rd"
	for _, url := range []string{
		"postgres://u:%s@h:port/d", "postgres://u:%s/x@h/d", "postgres://u:x/%s@h/d", "postgres://u:%s#x@h/d", "postgres://u:x#%s@h/d",
		"postgres://u:%%zz%s@h/d", "postgres://u:x?%s@h/d", "postgres://u:%s@h/d?sslmode=odd", "postgres://u:%s@h:1,i:2,j/d?port=1,2",
		"postgres://[u:%s@h/d", "postgres://u:x y%s@h:-1/d", "host=h password=%s port=none", "host=h password='%s", "password=%s nonsense",
		"mysql://u:%s@h/d", "u:%s@h/d", "postgres:/u:%s@h/d", "postgres://h/d?password=%s&sslmode=odd",
		"postgres://u:%s@h/d?target_session_attrs=odd", "postgres://u:%s@h/d?statement_cache_capacity=odd", "postgres://u:%s@h/d?pool_max_conns=odd",
	} {
		s := settings{url: fmt.Sprintf(url, secret)}
		_, err := s.parse()
		if err == nil {
			continue // it can be read, if not as it was meant: connecting fails
		}
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "url") {
			t.Errorf("%s: %v; want it invalid, and the url named", url, err)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v has the password", url, err)
		}
	}
}

// FuzzPassword: every password arrives as it is, through either form.
func FuzzPassword(f *testing.F) {
	for _, p := range []string{"simple", `'\"`, "a b&c=d#e%41+f/g?h@i:j", "é😀", "\\", "x\\'", "%", "`: "} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if password == "" || strings.Contains(password, "\x00") || !utf8.ValidString(password) {
			t.Skip("no password of PostgreSQL")
		}
		for _, url := range []string{"postgres://u@h/d", "postgres://u@h/d?sslmode=disable", "host=h user=u", "host=h user=u password=x"} {
			s := settings{url: url, password: password}
			cfg, err := s.parse()
			if err != nil {
				t.Fatalf("%s: %v", url, err)
			}
			if cfg.ConnConfig.Password != password {
				t.Errorf("%s: %q arrived as %q", url, password, cfg.ConnConfig.Password)
			}
		}
	})
}

func FuzzPlace(f *testing.F) {
	for _, s := range []string{"", "1.1", "-62135596800000.3", "1", "1.0", "01.1", "1.1.1", "a.b", "9223372036854775808.1", "1.2147483648"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parsePlace(s)
		switch {
		case err != nil && !errors.Is(err, store.ErrInvalid):
			t.Errorf("%q: %v is not invalid", s, err)
		case err == nil && s != "" && p.String() != s:
			t.Errorf("%q was read as %q", s, p)
		case err == nil && p.attempt < 1:
			t.Errorf("%q has attempt %d", s, p.attempt)
		}
	})
}

func TestNewestPlace(t *testing.T) {
	if p, err := parsePlace(""); err != nil || p.slot != math.MaxInt64 || p.attempt != math.MaxInt32 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestSchemaNames(t *testing.T) {
	for name, good := range map[string]bool{
		"anarchon": true, "_x": true, "My-Schema_2": true, strings.Repeat("a", 63): true,
		"": false, "2x": false, "-x": false, "a b": false, `a"b`: false, "a$b": false, "é": false, "pg_x": false, strings.Repeat("a", 64): false, "a\n": false,
	} {
		if err := checkSchema(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}
