package natsstore

import (
	"regexp"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

var nastyNames = []string{
	"a", "A", " ", "a ", ".", "..", "a.b", "*", ">", "a.>", "$JS", "=", "=2E", "=2e", "a=", "/", "a/b", "-", "_", "a_b", "a-b",
	"\x00", "a\x00b", "\t\r\n", "é", "e\u0301", "😀", "日本", "\ufeff", "%2E", "=probe", "INFO", "newest",
	strings.Repeat("x", store.MaxNameBytes), strings.Repeat("x", store.MaxNameBytes-1), strings.Repeat(".", store.MaxNameBytes),
	strings.Repeat("😀", store.MaxNameBytes/4), strings.Repeat("X", store.MaxNameBytes),
}

var (
	tokenChars = regexp.MustCompile(`^[A-Za-z0-9_/=-]+$`)
	// No upper-case letter but the digits of a spelled byte.
	assetChars = regexp.MustCompile(`^([a-z0-9-]|=[0-9A-F]{2}|=sha256)+$`)
)

func TestNamesStayApart(t *testing.T) {
	subjects, streams := map[string]string{}, map[string]string{}
	for _, name := range nastyNames {
		l := newLayout("p", "s", name)
		subject := l.slot(77, name, -5)
		if was, twice := subjects[subject]; twice {
			t.Errorf("%q and %q have the subject %q", was, name, subject)
		}
		subjects[subject] = name
		if !tokenChars.MatchString(token(name)) {
			t.Errorf("token(%q) = %q", name, token(name))
		}
		if was, twice := streams[l.claims]; twice {
			t.Errorf("namespaces %q and %q have the stream %q", was, name, l.claims)
		}
		streams[l.claims] = name
		if !assetChars.MatchString(asset(name)) || len(l.history) > 255 {
			t.Errorf("asset(%.40q) = %q, stream %q", name, asset(name), l.history)
		}
		if e, slot, ok := parseSubject(subject); !ok || slot != -5 || e != 77 {
			t.Errorf("parseSubject(%q) = %v, %d, %v", subject, e, slot, ok)
		}
		if e, ok := l.ofAll(l.all(77)); !ok || e != 77 {
			t.Errorf("ofAll(%q) = %v, %v", l.all(77), e, ok)
		}
		if subject == l.probe(77) {
			t.Errorf("job %q has the subject of the probe", name)
		}
	}
}

func TestLayout(t *testing.T) {
	got := newLayout("anarchon", "svc.jobs", "Billing 2")
	want := layout{claims: "anarchon_=42illing=202_claims", history: "anarchon_=42illing=202_history", root: "svc.jobs.Billing=202."}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if s, want := got.slot(1796064537798, "invoices/nightly.v2", noon), "svc.jobs.Billing=202.1796064537798.invoices/nightly=2Ev2.1790000000000"; s != want {
		t.Errorf("slot: %q; want %q", s, want)
	}
}

// The prefix and the namespace of a stream's name can't be taken for one another.
func TestPrefixIsNoNamespace(t *testing.T) {
	if a, b := newLayout("a_b", "s", "c"), newLayout("a", "s", "b_c"); a.claims == b.claims {
		t.Errorf("both are %q", a.claims)
	}
}

func FuzzToken(f *testing.F) {
	for i, name := range nastyNames {
		f.Add(name, nastyNames[(i+1)%len(nastyNames)])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, spelled := range []func(string) string{token, asset} {
			if (spelled(a) == spelled(b)) != (a == b) {
				t.Errorf("%q and %q are spelled %q and %q", a, b, spelled(a), spelled(b))
			}
		}
		if a != "" && !tokenChars.MatchString(token(a)) {
			t.Errorf("token(%q) = %q", a, token(a))
		}
	})
}

func FuzzParsePage(f *testing.F) {
	for _, s := range []string{"", "0", "-1", "1790000000000", "99999999999999999999", "01", "1/2", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slot, err := parsePage(s)
		if err == nil && s != "" && formatPage(slot) != s {
			t.Errorf("page %q is read as %d", s, slot)
		}
	})
}

func TestParseSubject(t *testing.T) {
	for _, s := range []string{"", "a", "a.b", "a.b.c", "a.0.j.5", "a.-1.j.5", "a.07.j.5", "a.7.j.x", "a.7.j.", "a.9007199254740993.j.5", "a.7.j.99999999999999999999"} {
		if e, slot, ok := parseSubject(s); ok {
			t.Errorf("%q: %v, %d", s, e, slot)
		}
	}
	l := newLayout("p", "s", "n")
	for _, s := range []string{"", "s.n.7.*", "s.n.>", "s.n.x.*.*", "s.m.7.*.*", "s.n.7.7.*.*", "s.n.007.*.*"} {
		if e, ok := l.ofAll(s); ok {
			t.Errorf("%q: %v", s, e)
		}
	}
}
