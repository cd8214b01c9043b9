package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNamedTestsExist: what docs/guarantees.md names as the proof of a line is there:
// tests, checks of the conformance suite, golden scripts.
func TestNamedTestsExist(t *testing.T) {
	page, err := os.ReadFile(at("docs/guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	checks := ""
	for _, list := range []string{"lease.txt", "claim-only.txt"} {
		b, err := os.ReadFile(at("conformance/verdict/" + list))
		if err != nil {
			t.Fatal(err)
		}
		checks += "\n" + string(b)
	}
	tests := testNames(t)
	_, table, _ := strings.Cut(string(page), "## How each is shown")
	table, _, _ = strings.Cut(table, "\n## ")
	named := 0
	for line := range strings.Lines(table) {
		_, proof, ok := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if !ok {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(proof, -1) {
			name := m[1]
			named++
			_, err := os.Stat(at("core/testdata/" + name + ".txt"))
			if !tests[name] && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(name)+`( |$)`).MatchString(checks) && err != nil {
				t.Errorf("docs/guarantees.md names %q, which is no test, check or script", name)
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d names were found", named)
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	decl := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range decl.FindAllSubmatch(b, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
