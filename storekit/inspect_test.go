package storekit

import (
	"strings"
	"testing"
)

func TestInspect(t *testing.T) {
	base := shortDir(t)
	p := testPlugin(t, "plugin", map[string]any{"do": "refuse", "no such option": 1}) // not even looked at
	found, err := Inspect(t.Context(), p)
	if err != nil || found.Name != "fake" || found.Version != "1.2.3" || len(found.Options) != 4 || found.Path != p.Path || found.Protocols[0] != ProtocolVersion {
		t.Errorf("%+v, %v", found, err)
	}
	p = testPlugin(t, "exit", nil)
	if _, err := Inspect(t.Context(), p); err == nil || !strings.Contains(err.Error(), "exit status 4") {
		t.Errorf("%v; want why it does not come up", err)
	}
	if _, err := Inspect(t.Context(), Plugin{Path: "/no/such/file"}); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("%v", err)
	}
	wantEmpty(t, base)
}
