package report

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/verdict"
	"github.com/anarchon-go/anarchon/core/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample has every outcome, and texts that XML and JSON can't hold as they are.
func sample() *Report {
	check := func(id string) kit.Check {
		return kit.Check{ID: id, Promises: []string{"R-CLAIM-1"}, Says: "one & only", Causes: "<many>", Needs: kit.NeedHistory}
	}
	results := []kit.Result{
		{Check: check("claim/good"), Outcome: kit.Pass, Took: 1500 * time.Millisecond, Figures: []kit.Figure{{Name: "claims", Value: "50"}}},
		{Check: check("claim/bad"), Outcome: kit.Fail, Reason: "two \"won\"\x00 <at once>\nsecond line", Calls: []string{"[0.00 .. 1.00 ms] p1 claim -> won"}, Took: time.Second, Files: []kit.File{{Name: "claim.bad.story.txt", Data: []byte("a story")}}},
		{Check: check("lease/broken"), Outcome: kit.Error, Reason: "the call has not returned", Took: 20 * time.Second},
		{Check: check("lease/skipped"), Outcome: kit.Skip, Reason: "the plugin declares no history"},
		{Check: check("lease/off"), Outcome: kit.Disabled, Reason: "not selected"},
	}
	expected := []verdict.Expected{{ID: "claim/good"}, {ID: "claim/bad"}, {ID: "lease/broken"}, {ID: "lease/skipped", Needs: kit.NeedHistory}, {ID: "lease/off"}, {ID: "lease/gone"}}
	return &Report{
		Subject:     kit.About{Plugin: "toy", Version: "1.2.3", Variant: "default", Hash: "sha256:00"},
		Description: store.Description{Kind: store.KindLease, Memory: store.Memory{Forever: true}, Clock: store.ClockStore, Fenced: true, Product: "Toy 3", Format: 1, Settings: []store.Setting{{Name: "sync", Value: "on"}}},
		Seed:        1<<63 + 1, Started: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Took: 25 * time.Second,
		Results: results, Verdict: verdict.Judge(expected, results),
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", name, got)
	}
}

func TestTable(t *testing.T) { golden(t, "table.txt", []byte(sample().Table())) }

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for", "it")
	if err := sample().Write(dir); err != nil {
		t.Fatal(err)
	}
	j, err := os.ReadFile(filepath.Join(dir, JSONFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, JSONFile, j)
	if !json.Valid(j) {
		t.Error("the JSON is none")
	}
	x, err := os.ReadFile(filepath.Join(dir, JUnitFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, JUnitFile, x)
	var suites junitSuites
	if err := xml.Unmarshal(x, &suites); err != nil {
		t.Errorf("the XML is none: %v", err)
	}
	if n := len(suites.Suites); n != 3 {
		t.Errorf("%d suites; want two families and the verdict", n)
	}
}

func TestWriteSaysWhatIsInTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sample().Write(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
}
