package report

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// TestCertificateComesBack: what was written is read again, whole.
func TestCertificateComesBack(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadCertificate(filepath.Join(dir, JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := r.Certificate(); !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nwant %+v", got, want)
	}
	if n := len(got.NotCovered); n != len(beyond)+2 { // a skipped check and one that was off
		t.Errorf("%d lines are not covered: %q", n, got.NotCovered)
	}
}

func TestCertificateFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "no certificate",
		"{}":                                  `no field "report"`,
		`{"report": 2}`:                       "its layout is 2",
		`{"report": "x"}`:                     "no certificate",
		strings.Repeat(" ", maxCertificate+1): "larger than 32 MB",
	} {
		if _, err := parseCertificate(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v; want %q", text, err, want)
		}
	}
	if _, err := ReadCertificate(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("got %v", err)
	}
}

// TestSuiteHash: another check, or another sentence of one, is another suite; the order
// in which they ran is not.
func TestSuiteHash(t *testing.T) {
	r := sample().Results
	first := suiteOf(r).Suite
	r[0], r[1] = r[1], r[0]
	if got := suiteOf(r).Suite; got != first {
		t.Error("the order counts")
	}
	r[0].Check.Says += "!"
	if got := suiteOf(r).Suite; got == first {
		t.Error("what a check says does not count")
	}
}

// TestHTML: the page has what went wrong, escaped, and the pictures of it; it loads
// nothing.
func TestHTML(t *testing.T) {
	r := sample()
	r.Results[1].Files = append(r.Results[1].Files, kit.File{Name: "claim.bad.html", Data: []byte("<p>picture</p>")})
	got, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"FAIL", "claim/bad", "two &#34;won&#34;", "&lt;at once&gt;", "Of all claims of one attempt", "&lt;many&gt;", "-run 'claim/bad$' -seed 9223372036854775809",
		"srcdoc=\"&lt;p&gt;picture&lt;/p&gt;\"", "the plugin declares no history", "Toy 3", "power",
	} {
		if !bytes.Contains(got, []byte(strings.ReplaceAll(want, "'", "&#39;"))) && !bytes.Contains(got, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"http://", "https://", "<script", "@import", "<at once>"} {
		if bytes.Contains(got, []byte(bad)) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestCompare(t *testing.T) {
	other := sample().Certificate()
	other.Subject.Plugin = "pipe|plugin"
	other.Checks = other.Checks[:2]
	var b bytes.Buffer
	if err := Compare(&b, []Certificate{sample().Certificate(), other}); err != nil {
		t.Fatal(err)
	}
	golden(t, "compare.md", b.Bytes())
}

func TestWindows(t *testing.T) {
	c := Certificate{Description: Description{Memory: "5m0s"}, Checks: []Checked{{Figures: []kit.Figure{
		{Name: "lease of 200ms granted again after", Value: "250ms"}, {Name: "lease of 1s granted again after", Value: "1s"},
		{Name: "remembered for at least", Value: "2s"}, {Name: "examples", Value: "7"}, {Name: "lease of x granted again after", Value: "1s"},
	}}}}
	got := windows(c)
	if len(got) != 3 || got[0].Name != "lease of 200ms" || got[0].WantWide != 10 || got[0].GotWide != 12 || got[2].GotWide != 100 {
		t.Errorf("got %+v", got)
	}
	if windows(Certificate{}) != nil {
		t.Error("windows of nothing")
	}
}
