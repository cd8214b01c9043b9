package hosttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that the pages about plugins name exists.
func TestPagesNameTests(t *testing.T) {
	var pages strings.Builder
	for _, name := range []string{"security", "plugin-hosting"} {
		page, err := os.ReadFile("../../docs/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(page)
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
	names := regexp.MustCompile("`((Test|Fuzz)[A-Za-z]+)`").FindAllStringSubmatch(pages.String(), -1)
	if len(names) < 60 {
		t.Errorf("%d tests are named; the threats and traps have more", len(names))
	}
	for _, n := range names {
		if !strings.Contains(source.String(), "func "+n[1]+"(") {
			t.Errorf("there is no %s", n[1])
		}
	}
}
