package natsstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificate(t, dir, "server")
	otherCert, otherKey := certificate(t, dir, "other")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	b, err := os.ReadFile(cert)
	if err != nil || !pool.AppendCertsFromPEM(b) {
		t.Fatal(err)
	}
	secure := &tls.Config{Certificates: []tls.Certificate{pair}}
	mutual := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	plainURL := ownServer(t, &server.Options{JetStream: true}).ClientURL()
	url := ownServer(t, &server.Options{JetStream: true, TLS: true, TLSConfig: secure, TLSTimeout: 5}).ClientURL()
	mutualURL := ownServer(t, &server.Options{JetStream: true, TLS: true, TLSConfig: mutual, TLSTimeout: 5, TLSVerify: true}).ClientURL()
	firstURL := ownServer(t, &server.Options{JetStream: true, TLS: true, TLSConfig: secure, TLSTimeout: 5, TLSHandshakeFirst: true}).ClientURL()
	url, mutualURL, firstURL = asTLS(url), asTLS(mutualURL), asTLS(firstURL)

	for name, o := range map[string]map[string]any{
		"authority":      {"url": url, "caFile": cert},
		"plain url":      {"url": strings.Replace(url, "tls://", "nats://", 1), "caFile": cert},
		"not verified":   {"url": url, "insecureSkipVerify": true},
		"client's":       {"url": mutualURL, "caFile": cert, "certFile": cert, "keyFile": key},
		"handshakeFirst": {"url": firstURL, "caFile": cert, "tlsFirst": true},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, o)
			mustClaim(t, b, claimOf(name, noon), store.VerdictWon)
			d, _ := b.Describe(t.Context())
			if warned := strings.Contains(strings.Join(d.Warnings, " "), "insecureSkipVerify"); warned != (name == "not verified") {
				t.Errorf("%q", d.Warnings)
			}
		})
	}
	for name, c := range map[string]struct {
		o    map[string]any
		want string
	}{
		"unknown authority": {map[string]any{"url": url}, "caFile"},
		"other authority":   {map[string]any{"url": url, "caFile": otherCert}, "not trusted"},
		"other client":      {map[string]any{"url": mutualURL, "caFile": cert, "certFile": otherCert, "keyFile": otherKey}, "certFile"},
		"no client":         {map[string]any{"url": mutualURL, "caFile": cert}, "certFile"},
		"no TLS there":      {map[string]any{"url": plainURL, "tls": true}, "has no TLS"},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, c.o, store.ErrNotApplied, c.want) })
	}
}

// asTLS is the URL of a server with TLS, which says nats:// or tls://.
func asTLS(url string) string {
	_, host, _ := strings.Cut(url, "://")
	return "tls://" + host
}

// certificate makes one that signs itself, for 127.0.0.1.
func certificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
