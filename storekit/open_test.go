package storekit

import (
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestFirstLight(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", map[string]any{"poolSize": 3}))
	d, err := c.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != store.KindClaimOnly || d.Product != "fake 1" {
		t.Errorf("description: %+v", d)
	}
	a, err := c.Claim(t.Context(), claim("a"))
	if err != nil || a.Verdict != store.VerdictWon {
		t.Fatalf("claim: %+v, %v", a, err)
	}
	a, err = c.Claim(t.Context(), claim("a"))
	if err != nil || a.Verdict != store.VerdictFinished {
		t.Fatalf("second claim: %+v, %v", a, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
