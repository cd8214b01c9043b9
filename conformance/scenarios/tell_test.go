package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// TestExpectationsNameTheirJob: where a scenario has a few jobs, what is told of one must
// not be read as told of another.
func TestExpectationsNameTheirJob(t *testing.T) {
	several := 0
	for _, s := range Scenarios() {
		jobs := s.Jobs(Short)
		if len(jobs) == 1 || len(jobs) == hundred {
			continue // one job, or what is told of a hundred is told of all
		}
		several++
		for _, kind := range []store.Kind{store.KindLease, store.KindClaimOnly} {
			for _, e := range s.Expects(kind) {
				if !slices.ContainsFunc(jobs, func(j hostprog.Job) bool { return strings.HasPrefix(e.Says, j.Name+": ") }) {
					t.Errorf("scenario %d has %d jobs, and %q names none of them", s.ID, len(jobs), e.Says)
				}
			}
		}
	}
	if several == 0 {
		t.Error("no scenario has several jobs")
	}
}

// TestPageSaysWhatTimesCountFrom: a reader of the page alone learns what +0s is.
func TestPageSaysWhatTimesCountFrom(t *testing.T) {
	dir := t.TempDir()
	if err := Report(dir, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil || !strings.Contains(string(b), "told from time zero of their play") {
		t.Errorf("%v\n%s", err, b)
	}
}
