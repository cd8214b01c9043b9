package postgresstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestTLS: with the options alone the connection is encrypted, and the server
// proves who it is, or is refused.
func TestTLS(t *testing.T) {
	c := privateServer(t, "postgres-18")
	cert, key := selfSigned(t)
	const place = "/var/lib/postgresql"
	for name, text := range map[string]string{"server.crt": cert, "server.key": key} {
		command := fmt.Sprintf("cat > %[1]s/%[2]s <<'EOF'\n%[3]sEOF\nchown postgres %[1]s/%[2]s && chmod 600 %[1]s/%[2]s", place, name, text)
		if out, err := c.Exec(t.Context(), "sh", "-c", command); err != nil {
			t.Fatal(out, err)
		}
	}
	set := settingsOn(t, serverURL(c))
	a := newAdmin(t, set)
	for _, s := range []string{"ssl_cert_file = '" + place + "/server.crt'", "ssl_key_file = '" + place + "/server.key'", "ssl = on"} {
		a.exec("ALTER SYSTEM SET " + s)
	}
	a.exec("SELECT pg_reload_conf()")

	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	another, _ := selfSigned(t)
	right, wrong := write("ca.pem", cert), write("other.pem", another)
	await(t, "a server with TLS", func() bool {
		set := set
		set.sslMode = "require"
		return tryOpen(t, set) == nil
	})
	for _, test := range []struct{ mode, root, connection, fails string }{
		{"", "", "direct, TLS", ""}, // prefer
		{"require", "", "direct, TLS", ""},
		{"verify-full", right, "direct, TLS", ""},
		{"disable", "", "direct, no TLS", ""},
		{"verify-full", wrong, "", "certificate"},
		{"verify-full", "", "", "certificate"}, // signed by nobody that the system knows
	} {
		set := set
		set.sslMode, set.sslRootCert = test.mode, test.root
		b := newBackend(testEnv(t))
		err := b.open(t.Context(), set)
		switch {
		case test.fails != "":
			if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%+v: %v", test, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", test, err)
		case setting(b.about, "connection") != test.connection:
			t.Errorf("%+v: %q", test, setting(b.about, "connection"))
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// selfSigned makes a certificate for 127.0.0.1 and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err1 := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	secret, err2 := x509.MarshalPKCS8PrivateKey(private)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}
