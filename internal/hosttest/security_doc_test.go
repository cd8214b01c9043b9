package hosttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/security.md names exists.
func TestSecurityPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, dir := range []string{".", "../../storekit"} {
		files, err := filepath.Glob(dir + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			source.Write(b)
		}
	}
	names := regexp.MustCompile("`((Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(names) < 20 {
		t.Errorf("%d tests are named; the threats have more", len(names))
	}
	for _, n := range names {
		if !strings.Contains(source.String(), "func "+n[1]+"(") {
			t.Errorf("there is no %s", n[1])
		}
	}
}
