package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/verdict"
)

// Certificate is what [JSONFile] holds: what was judged, by what, how, and what was
// found. Fields are only added to it.
type Certificate struct {
	Report      int             `json:"report"` // of this layout
	Kit         Kit             `json:"kit"`
	Subject     kit.About       `json:"subject"`
	Description Description     `json:"description"`
	Seed        uint64          `json:"seed,string"` // JSON's numbers are too small
	Started     time.Time       `json:"started"`
	Seconds     float64         `json:"seconds"`
	Line        string          `json:"line"`
	Verdict     verdict.Verdict `json:"verdict"`
	Checks      []Checked       `json:"checks"`
	Counts      map[string]int  `json:"counts"`
	// NotCovered says what no check of this run looked at.
	NotCovered []string `json:"notCovered"`
}

// Kit says which suite judged.
type Kit struct {
	Version  string `json:"version"`  // of the module, as the go command stamped it
	Protocol int    `json:"protocol"` // between host and plugin
	Suite    string `json:"suite"`    // a hash over what the checks are and say
}

// Description is what the plugin declared and observed.
type Description struct {
	Kind     string    `json:"kind"`
	Strategy string    `json:"strategy,omitempty"`
	Memory   string    `json:"memory"`
	Clock    string    `json:"clock"`
	Fenced   bool      `json:"fenced"`
	History  bool      `json:"history"`
	Product  string    `json:"product"`
	Settings []Setting `json:"settings,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Format   int       `json:"format"`
}

// Setting is one that the plugin observed in its store.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Checked is one check and its outcome.
type Checked struct {
	ID       string       `json:"id"`
	Promises []string     `json:"promises"`
	Says     string       `json:"says"`
	Causes   string       `json:"causes,omitempty"` // of a failure: what usually makes it fail
	Outcome  string       `json:"outcome"`
	Reason   string       `json:"reason,omitempty"`
	Calls    []string     `json:"calls,omitempty"`
	Figures  []kit.Figure `json:"figures,omitempty"`
	Files    []string     `json:"files,omitempty"` // beside the certificate
	Seed     uint64       `json:"seed,string,omitempty"`
	Seconds  float64      `json:"seconds"`
}

// Bad reports whether the check found a fault, or could not be made.
func (c Checked) Bad() bool {
	return c.Outcome == kit.Fail.String() || c.Outcome == kit.Error.String()
}

// beyond is what the suite can't look at, on whatever store.
var beyond = []string{
	"the store's machine loses power: what is written must be on its disk (the settings above say what the plugin saw of that)",
	"the store fails over to another node, or its nodes are cut off from one another",
	"the store is restored from a backup",
}

// Certificate returns the report in the form in which it is kept.
func (r *Report) Certificate() Certificate {
	d := r.Description
	c := Certificate{
		Report: 1, Kit: suiteOf(r.Results), Subject: r.Subject, Seed: r.Seed, Started: r.Started.UTC(), Seconds: seconds(r.Took),
		Line: r.Line(), Verdict: r.Verdict, Counts: map[string]int{}, NotCovered: append([]string{}, beyond...),
		Description: Description{
			Kind: d.Kind.String(), Strategy: d.Strategy, Memory: d.Memory.String(), Clock: d.Clock.String(), Fenced: d.Fenced,
			History: d.History, Product: d.Product, Warnings: d.Warnings, Format: d.Format,
		},
	}
	for _, x := range d.Settings {
		c.Description.Settings = append(c.Description.Settings, Setting(x))
	}
	for _, o := range kit.Outcomes() {
		c.Counts[o.String()] = 0
	}
	for _, res := range r.Results {
		c.Counts[res.Outcome.String()]++
		k := Checked{
			ID: res.Check.ID, Promises: res.Check.Promises, Says: res.Check.Says, Outcome: res.Outcome.String(),
			Reason: res.Reason, Calls: res.Calls, Figures: res.Figures, Seed: res.Seed, Seconds: seconds(res.Took),
		}
		if res.Outcome == kit.Fail {
			k.Causes = res.Check.Causes
		}
		for _, f := range res.Files {
			k.Files = append(k.Files, f.Name)
		}
		if res.Outcome == kit.Skip || res.Outcome == kit.Disabled {
			c.NotCovered = append(c.NotCovered, res.Check.ID+": "+res.Reason)
		}
		c.Checks = append(c.Checks, k)
	}
	return c
}

// JSON is the report for machines: the [Certificate].
func (r *Report) JSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(r.Certificate())
	return b.Bytes(), err
}

// ReadCertificate reads a certificate, of this layout or an older one.
func ReadCertificate(path string) (Certificate, error) {
	f, err := os.Open(path)
	if err != nil {
		return Certificate{}, err
	}
	defer f.Close()
	c, err := parseCertificate(f)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// maxCertificate bounds what is read: what is larger is no certificate.
const maxCertificate = 32 << 20

func parseCertificate(r io.Reader) (c Certificate, err error) {
	b, err := io.ReadAll(io.LimitReader(r, maxCertificate+1))
	switch {
	case err != nil:
		return c, err
	case len(b) > maxCertificate:
		return c, fmt.Errorf("larger than %d MB: it is no certificate", maxCertificate>>20)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("it is no certificate of the suite (%s): %w", JSONFile, err)
	}
	switch {
	case c.Report < 1:
		return c, fmt.Errorf("it is no certificate of the suite (%s): it has no field \"report\"", JSONFile)
	case c.Report > 1:
		return c, fmt.Errorf("its layout is %d; this version reads layout 1: use a newer one", c.Report)
	}
	return c, nil
}
