package subject

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// What is skipped says what is missing: the program, or only the word that it can do
// that.
func TestLacksDamage(t *testing.T) {
	for _, tc := range []struct {
		variant Variant
		says    string // the reason holds it; empty: nothing is missing
	}{
		{Variant{}, "name no program"},
		{Variant{Tamper: []string{"./tamper"}}, `set "damage: true"`},
		{Variant{Tamper: []string{"./tamper"}, Damage: true}, ""},
	} {
		p := &Plugin{variant: tc.variant}
		if got := p.Lacks(kit.NeedDamage); !strings.Contains(got, tc.says) || (got == "") != (tc.says == "") {
			t.Errorf("%+v: %q; want it to say %q", tc.variant, got, tc.says)
		}
	}
}

// So does what is left in a server that the user named.
func TestNothingClears(t *testing.T) {
	for _, tc := range []struct {
		variant Variant
		says    string
	}{
		{Variant{}, "name no program"},
		{Variant{Tamper: []string{"./tamper"}}, `set \"clear: true\"`},
	} {
		var log strings.Builder
		p := &Plugin{variant: tc.variant, foreign: true, logger: slog.New(slog.NewTextHandler(&log, nil))}
		p.remember(map[string]any{namespaceOption: "n"})
		if complaints := p.clear(); len(complaints) != 0 || !strings.Contains(log.String(), tc.says) {
			t.Errorf("%+v: %q, and the log has %q; want it to say %q", tc.variant, complaints, log.String(), tc.says)
		}
	}
}
