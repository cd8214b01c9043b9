package storekit

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func sumOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestPinnedSum(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.SHA256 = strings.ToUpper(sumOf(t, p.Path))
	open(t, p)

	p.SHA256 = strings.Repeat("ab", 32)
	failing(t, p, "has the SHA-256 sum "+sumOf(t, p.Path), "abab", "is pinned", "not started")
	p.SHA256 = "ab"
	failing(t, p, `SHA256 is "ab"; it must be 64 hexadecimal digits`)
	p.SHA256 = strings.Repeat("x", 64)
	failing(t, p, "64 hexadecimal digits")
}

// The file is looked at before each start, not before the first only.
func TestPinnedFileIsExchanged(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	b, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	p.Path = filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(p.Path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	p.SHA256 = sumOf(t, p.Path)
	c := open(t, p)
	// As an upgrade does it: another file of the same name.
	if err := os.Remove(p.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Path, append(b, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(c.PID(), syscall.SIGKILL)
	awaitFailures(t, c, 2)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastErr == nil || !strings.Contains(c.lastErr.Error(), "is pinned") {
		t.Errorf("%v; want the pin", c.lastErr)
	}
}

func TestMinVersion(t *testing.T) {
	p := testPlugin(t, "plugin", map[string]any{"do": "refuse"}) // 1.2.3
	p.MinVersion = "1.3.0"
	// It did not even get its configuration, which it would refuse.
	if err := failing(t, p, "its version is 1.2.3, and 1.3.0 is the least"); strings.Contains(err.Error(), "log in") {
		t.Errorf("%v", err)
	}
	p.MinVersion = "1.2"
	failing(t, p, `MinVersion: "1.2" is no semantic version`)
	p.MinVersion, p.Config = "1.2.3-rc.1", nil
	open(t, p)
}

func TestVersions(t *testing.T) {
	rising := []string{
		"0.0.9", "0.1.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
		"1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "v2.0.0", "2.0.1+build.7", "10.0.0",
	}
	for i, a := range rising {
		for j, b := range rising {
			if err := checkVersion(a, b); (err == nil) != (i >= j) {
				t.Errorf("%s where at least %s is asked for: %v", a, b, err)
			}
		}
	}
	for _, bad := range []string{"", "1", "1.2", "1.2.3.4", "a.b.c", "1.2.x", "01.2.3", "-1.2.3", "1.2.3-", "1.2.3-a..b", "99999999999999999999.0.0"} {
		if err := checkVersion(bad, "1.0.0"); err == nil || !strings.Contains(err.Error(), "can't be compared") {
			t.Errorf("%q: %v; want it to be no version", bad, err)
		}
	}
	if a, b := "1.0.0+a", "1.0.0+b"; checkVersion(a, b) != nil || checkVersion(b, a) != nil {
		t.Error("the build part counts")
	}
}

func TestMutualTLS(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.MutualTLS = true
	c := open(t, p)
	if !offersTLS(c.current().proc.firstLine()) {
		t.Error("no certificate in the handshake")
	}
	if _, err := c.Claim(t.Context(), claim("a")); err != nil {
		t.Errorf("claim: %v", err)
	}
	gen := c.current()
	syscall.Kill(c.PID(), syscall.SIGKILL)
	<-gen.proc.done
	if _, err := c.Describe(t.Context()); err != nil {
		t.Errorf("with the certificates of the second start: %v", err)
	}

	// A plugin that does not know TLS is refused, not spoken to in the clear.
	p = testPlugin(t, "no TLS", nil)
	p.MutualTLS = true
	failing(t, p, "it offers no TLS, which MutualTLS asks for")
}
