package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/link"
)

func TestLeak(t *testing.T) {
	kitTest(t)
	// Other tests of this package start plugins, too: only the proxy is looked for.
	defer func(all []string) { ours = all }(ours)
	ours = []string{"anarchon/conformance/link."}
	p, err := link.New("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for end := time.Now().Add(10 * time.Second); !strings.Contains(said, "accept") && time.Now().Before(end); {
		said = leak(0) // its goroutine may not have begun
	}
	if !strings.Contains(said, "1 goroutines") || !strings.Contains(said, "accept") {
		t.Errorf("a proxy that is not closed is not seen: %q", said)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if said := leak(10 * time.Second); said != "" {
		t.Error(said)
	}
}
