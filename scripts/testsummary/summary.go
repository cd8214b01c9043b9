package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// event is a line of go test -json, see go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a package that is built, in build-output
	Test       string
	Output     string
	Key, Value string // of an attr
}

// summary is what was seen so far. The zero value is ready to use.
type summary struct {
	passed  int
	failed  []string // package and test
	skipped []string // with reason
	causes  []string // what failing tests said about why
	lines   []string // the closing line of each package that has tests
	output  map[string][]string
	subject map[string]string // by package: what its tests judge, if they say so; see add
}

func (s *summary) read(in io.Reader, out io.Writer) error {
	s.output, s.subject = map[string][]string{}, map[string]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20) // one event can hold a long line of a test
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(out, lines.Text()) // another program's
			continue
		}
		s.add(e, out)
	}
	return lines.Err()
}

func (s *summary) add(e event, out io.Writer) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
		return
	case "attr":
		// The same package may run several times, on different subjects.
		if e.Key == "subject" {
			s.subject[e.Package] = e.Value
		}
		return
	case "build-output":
		fmt.Fprint(out, e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	said := s.output[key]
	delete(s.output, key)
	if e.Test == "" {
		s.endPackage(e, said, out)
		delete(s.subject, e.Package)
		return
	}
	named := key
	if subject := s.subject[e.Package]; subject != "" {
		named = subject + ": " + key
	}
	switch e.Action {
	case "pass":
		s.passed++
	case "fail":
		s.failed = append(s.failed, named)
		fmt.Fprint(out, strings.Join(said, ""))
		s.causes = append(s.causes, causes(said)...)
	case "skip":
		s.skipped = append(s.skipped, named+": "+reason(said))
	}
}

// endPackage shows the package's own closing line, and all that it said if it
// failed without a failing test: it panicked, was killed, or was not built. What it said
// last is then of a test that never ended.
func (s *summary) endPackage(e event, said []string, out io.Writer) {
	for _, key := range slices.Sorted(maps.Keys(s.output)) {
		if !strings.HasPrefix(key, e.Package+" ") {
			continue
		}
		if e.Action == "fail" {
			fmt.Fprint(out, strings.Join(s.output[key], ""))
			s.failed = append(s.failed, key+" (did not end)")
		}
		delete(s.output, key)
	}
	if e.Action == "fail" {
		fmt.Fprint(out, strings.Join(said, ""))
		if !slices.ContainsFunc(s.failed, func(f string) bool { return strings.Contains(f, e.Package+" ") }) {
			s.failed = append(s.failed, e.Package)
		}
	}
	i := slices.IndexFunc(said, func(l string) bool {
		return strings.HasPrefix(l, "ok ") || strings.HasPrefix(l, "FAIL\t") || strings.HasPrefix(l, "---")
	})
	if i < 0 {
		return // no test files
	}
	line := strings.TrimSpace(said[i])
	s.lines = append(s.lines, line)
	if e.Action != "fail" {
		fmt.Fprintln(out, line)
	}
}

// causeMark begins what a test says to be read at the end of a log: what failed
// where, and why, in one line.
const causeMark = ": FAILED "

// causes are the lines of that kind in what a test said.
func causes(said []string) []string {
	var lines []string
	for _, l := range said {
		l = strings.TrimSpace(l)
		if before, _, ok := strings.Cut(l, causeMark); ok && !strings.ContainsAny(before, " \t") {
			lines = append(lines, l)
		}
	}
	return lines
}

// reason is what a skipped test said besides its own name.
func reason(said []string) string {
	var words []string
	for _, l := range said {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "=== ") && !strings.HasPrefix(l, "--- ") {
			words = append(words, l)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}

func (s *summary) close(out io.Writer) {
	for _, l := range s.lines {
		fmt.Fprintln(out, l)
	}
	for _, t := range s.skipped {
		fmt.Fprintln(out, "skipped:", t)
	}
	for _, t := range s.failed {
		fmt.Fprintln(out, "FAILED:", t)
	}
	for _, l := range s.causes {
		fmt.Fprintln(out, l)
	}
	word := "PASS"
	if s.err() != nil {
		word = "FAIL"
	}
	fmt.Fprintf(out, "%s: %d passed, %d failed, %d skipped (tests and subtests), in %d packages\n", word, s.passed, len(s.failed), len(s.skipped), len(s.lines))
}

func (s *summary) err() error {
	switch {
	case len(s.failed) > 0:
		return fmt.Errorf("%d tests or packages failed", len(s.failed))
	case s.passed == 0:
		return errors.New("no test passed: did any run?")
	}
	return nil
}
