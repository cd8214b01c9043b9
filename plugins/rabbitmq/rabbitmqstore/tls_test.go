package rabbitmqstore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// secureDoor is a TLS port before the broker. It returns its address and the
// file of its certificate, which is good for 127.0.0.1 only.
func secureDoor(t *testing.T, broker string, clients tls.ClientAuthType) (addr, caFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		ClientAuth: clients, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				if in.(*tls.Conn).Handshake() != nil {
					return
				}
				out, err := net.Dial("tcp", broker)
				if err != nil {
					return
				}
				go func() {
					_, _ = io.Copy(out, in)
					out.Close()
				}()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), caFile
}

func TestTLS(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	o := fresh(t, url)
	addr, ca := secureDoor(t, hostOf(url), tls.NoClientCert)
	_, port, _ := net.SplitHostPort(addr)
	secure := o.with("url", "amqps://"+addr)
	refuse(t, secure, store.ErrNotApplied, "caFile")
	refuse(t, o.with("url", "amqps://localhost:"+port).with("caFile", ca), store.ErrNotApplied, "another name")
	refuse(t, o.with("url", "amqp://"+addr), store.ErrNotApplied, "amqps")
	mustClaim(t, open(t, secure.with("caFile", ca)), claimOf("j", 1), store.VerdictWon)
	b := open(t, secure.with("insecureSkipVerify", true))
	mustClaim(t, b, claimOf("j", 1), store.VerdictFinished)
	d, err := b.Describe(t.Context())
	if err != nil || len(d.Warnings) != 3 {
		t.Errorf("warnings %q, %v", d.Warnings, err)
	}
	addr, ca = secureDoor(t, hostOf(url), tls.RequireAnyClientCert)
	refuse(t, o.with("url", "amqps://"+addr).with("caFile", ca), store.ErrNotApplied, "certificate")
}
