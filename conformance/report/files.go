package report

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// The files that [Report.Write] makes.
const (
	JSONFile  = "conformance.json" // the [Certificate]
	JUnitFile = "junit.xml"
	HTMLFile  = "conformance.html"
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
	h, err := r.HTML()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, HTMLFile), h, 0o644); err != nil {
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
