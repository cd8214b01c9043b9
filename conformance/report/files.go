package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/verdict"
)

// The files that [Report.Write] makes.
const (
	JSONFile  = "conformance.json"
	JUnitFile = "junit.xml"
)

// Write writes the files, and those that checks attached, into a directory, which is
// made if missing.
func (r *Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	j, err := r.JSON()
	if err != nil {
		return err
	}
	x, err := r.JUnit()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, JSONFile), j, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, JUnitFile), x, 0o644); err != nil {
		return err
	}
	for _, res := range r.Results {
		for _, f := range res.Files {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.Name)), f.Data, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

type jsonReport struct {
	Report      int             `json:"report"` // of this layout; fields are only added to it
	Subject     kit.About       `json:"subject"`
	Description jsonDescription `json:"description"`
	Seed        uint64          `json:"seed,string"` // JSON's numbers are too small
	Started     time.Time       `json:"started"`
	Seconds     float64         `json:"seconds"`
	Line        string          `json:"line"`
	Verdict     verdict.Verdict `json:"verdict"`
	Checks      []jsonCheck     `json:"checks"`
	Counts      map[string]int  `json:"counts"`
}

type jsonDescription struct {
	Kind     string        `json:"kind"`
	Strategy string        `json:"strategy,omitempty"`
	Memory   string        `json:"memory"`
	Clock    string        `json:"clock"`
	Fenced   bool          `json:"fenced"`
	History  bool          `json:"history"`
	Product  string        `json:"product"`
	Settings []jsonSetting `json:"settings,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Format   int           `json:"format"`
}

type jsonSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type jsonCheck struct {
	ID       string       `json:"id"`
	Promises []string     `json:"promises"`
	Says     string       `json:"says"`
	Outcome  kit.Outcome  `json:"outcome"`
	Reason   string       `json:"reason,omitempty"`
	Calls    []string     `json:"calls,omitempty"`
	Figures  []kit.Figure `json:"figures,omitempty"`
	Files    []string     `json:"files,omitempty"`
	Seconds  float64      `json:"seconds"`
}

// JSON is the report for machines.
func (r *Report) JSON() ([]byte, error) {
	d := r.Description
	j := jsonReport{
		Report: 1, Subject: r.Subject, Seed: r.Seed, Started: r.Started.UTC(), Seconds: seconds(r.Took),
		Line: r.Line(), Verdict: r.Verdict, Counts: map[string]int{},
		Description: jsonDescription{
			Kind: d.Kind.String(), Strategy: d.Strategy, Memory: d.Memory.String(), Clock: d.Clock.String(), Fenced: d.Fenced,
			History: d.History, Product: d.Product, Warnings: d.Warnings, Format: d.Format,
		},
	}
	for _, x := range d.Settings {
		j.Description.Settings = append(j.Description.Settings, jsonSetting(x))
	}
	for _, o := range kit.Outcomes() {
		j.Counts[o.String()] = 0
	}
	for _, res := range r.Results {
		j.Counts[res.Outcome.String()]++
		var files []string
		for _, f := range res.Files {
			files = append(files, f.Name)
		}
		j.Checks = append(j.Checks, jsonCheck{
			ID: res.Check.ID, Promises: res.Check.Promises, Says: res.Check.Says, Outcome: res.Outcome,
			Reason: res.Reason, Calls: res.Calls, Figures: res.Figures, Files: files, Seconds: seconds(res.Took),
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(j)
	return b.Bytes(), err
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	Failure *junitFault `xml:"failure,omitempty"`
	Error   *junitFault `xml:"error,omitempty"`
	Skipped *junitFault `xml:"skipped,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit is the report for build servers: a suite per family, and one for the
// verdict, so that a missing check fails there too.
func (r *Report) JUnit() ([]byte, error) {
	all := junitSuites{Name: "conformance of " + r.Subject.Plugin + ", variant " + r.Subject.Variant}
	for _, f := range r.families() {
		suite := junitSuite{Name: f.name, Time: fmt.Sprintf("%.3f", f.took.Seconds())}
		for _, res := range r.Results {
			if res.Check.Family() == f.name {
				suite.add(res)
			}
		}
		all.Suites = append(all.Suites, suite)
	}
	v := junitSuite{Name: "verdict", Tests: 1, Time: "0"}
	c := junitCase{Class: "verdict", Name: "expected checks", Time: "0"}
	if !r.Verdict.OK {
		v.Failures = 1
		c.Failure = &junitFault{Message: r.Line(), Text: r.Verdict.String()}
	}
	v.Cases = []junitCase{c}
	all.Suites = append(all.Suites, v)
	b, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

func (s *junitSuite) add(res kit.Result) {
	c := junitCase{Class: res.Check.Family(), Name: res.Check.ID, Time: fmt.Sprintf("%.3f", res.Took.Seconds())}
	fault := &junitFault{Message: firstLine(res.Reason), Text: res.Text()}
	s.Tests++
	switch res.Outcome {
	case kit.Pass:
	case kit.Fail:
		s.Failures++
		c.Failure = fault
	case kit.Error:
		s.Errors++
		c.Error = fault
	default:
		s.Skipped++
		c.Skipped = fault
	}
	s.Cases = append(s.Cases, c)
}
