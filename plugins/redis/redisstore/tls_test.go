package redisstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
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

// certificates writes a signer's certificate, and one with its key for a server
// at an address that is also good for a client.
func certificates(t testing.TB, ip string) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test signer"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, signer.Public(), signer)
	check(err)
	ca = write("ca.pem", "CERTIFICATE", der)

	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.ParseIP(ip)},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err = x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), signer)
	check(err)
	cert = write("cert.pem", "CERTIFICATE", der)
	der, err = x509.MarshalECPrivateKey(own)
	check(err)
	return ca, cert, write("key.pem", "EC PRIVATE KEY", der)
}

func TestTLS(t *testing.T) {
	openHouse(t)
	ca, cert, key := certificates(t, house.ip)
	otherCA, _, _ := certificates(t, house.ip)
	in := func(path string) string { // the container
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return housed(t, string(text))
	}
	port := fmt.Sprint(housePort())
	// The plain port serves the tests' own questions.
	p := startServer(t, "--tls-port", port, "--tls-ca-cert-file", in(ca), "--tls-cert-file", in(cert), "--tls-key-file", in(key), "--tls-auth-clients", "optional")
	secure := net.JoinHostPort(p.host(), port)

	b := open(t, options{"url": "rediss://" + secure, "caFile": ca})
	q := claimNow("j")
	mustFinish(t, b, finishOf(q, mustClaim(t, b, q, store.VerdictWon), store.OutcomeSuccess), true)
	open(t, options{"addrs": secure, "tls": true, "caFile": ca, "certFile": cert, "keyFile": key})
	d, err := open(t, options{"url": "rediss://" + secure, "insecureSkipVerify": true}).Describe(t.Context())
	if err != nil || !strings.Contains(strings.Join(d.Warnings, "\n"), "insecureSkipVerify") {
		t.Errorf("whoever believes every certificate is not warned: %q, %v", d.Warnings, err)
	}

	mustRefuse(t, options{"url": "rediss://" + secure}, store.ErrNotApplied, "caFile")
	mustRefuse(t, options{"url": "rediss://" + secure, "caFile": otherCA}, store.ErrNotApplied, "caFile")
	_, port = splitAddr(t, newProxy(t, secure).addr())
	mustRefuse(t, options{"url": "rediss://localhost:" + port, "caFile": ca}, store.ErrNotApplied, "another name")
	mustRefuse(t, options{"url": "redis://" + secure}, store.ErrNotApplied, "rediss://")
	mustRefuse(t, options{"url": "redis://:" + testSecret + "@" + secure}, store.ErrNotApplied, "rediss://")
	mustRefuse(t, options{"url": "rediss://" + p.addr()}, store.ErrNotApplied, "not speak TLS", "redis://")

	// The server may want the client's certificate.
	c := driver(t, p.url())
	if err := c.ConfigSet(t.Context(), "tls-auth-clients", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, options{"url": "rediss://" + secure, "caFile": ca}, store.ErrNotApplied, "certificate")
	open(t, options{"url": "rediss://" + secure, "caFile": ca, "certFile": cert, "keyFile": key})
}
