package verdict

import (
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

func result(id string, o kit.Outcome, needs kit.Needs) kit.Result {
	return kit.Result{Check: kit.Check{ID: id, Needs: needs}, Outcome: o, Reason: "because"}
}

func TestJudge(t *testing.T) {
	a, b := Expected{ID: "f/a"}, Expected{ID: "f/b", Needs: kit.NeedHistory}
	passA, passB := result("f/a", kit.Pass, 0), result("f/b", kit.Pass, kit.NeedHistory)
	for _, tc := range []struct {
		name     string
		results  []kit.Result
		word     string
		passed   int
		problems []string
	}{
		{"all pass", []kit.Result{passA, passB}, "PASS", 2, nil},
		{"nothing ran", nil, "FAIL", 0, []string{"f/a: expected, and did not run", "f/b: expected, and did not run"}},
		{"one is missing", []kit.Result{passA}, "FAIL", 1, []string{"f/b: expected, and did not run"}},
		{"one fails", []kit.Result{result("f/a", kit.Fail, 0), passB}, "FAIL", 1, []string{"f/a: fail"}},
		{"one is an error", []kit.Result{result("f/a", kit.Error, 0), passB}, "FAIL", 1, []string{"f/a: error"}},
		{"no outcome", []kit.Result{result("f/a", 0, 0), passB}, "FAIL", 1, []string{"f/a: outcome(0)"}},
		{"one too many", []kit.Result{passA, passB, result("f/c", kit.Pass, 0)}, "FAIL", 2, []string{"f/c: ran, and is not on the list"}},
		{"reported twice", []kit.Result{passA, passA, passB}, "FAIL", 2, []string{"f/a: reported twice"}},
		{"a skip that the list allows", []kit.Result{passA, result("f/b", kit.Skip, kit.NeedHistory)}, "PASS", 1, nil},
		{"a skip for another need", []kit.Result{passA, result("f/b", kit.Skip, kit.NeedKill)}, "FAIL", 1, []string{"f/b: skipped, and the list does not allow that: because"}},
		{"a skip that the list does not know", []kit.Result{result("f/a", kit.Skip, kit.NeedHistory), passB}, "FAIL", 1, []string{"f/a: skipped"}},
		{"a selection", []kit.Result{passA, result("f/b", kit.Disabled, 0)}, "PARTIAL", 1, nil},
		{"a selection that fails", []kit.Result{result("f/a", kit.Fail, 0), result("f/b", kit.Disabled, 0)}, "FAIL", 0, []string{"f/a: fail"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Judge([]Expected{a, b}, tc.results)
			if v.Word() != tc.word || v.Passed != tc.passed || v.Expected != 2 || len(v.Problems) != len(tc.problems) {
				t.Fatalf("%s, %d passed, problems %q; want %s, %d, %q", v.Word(), v.Passed, v.Problems, tc.word, tc.passed, tc.problems)
			}
			for i, p := range tc.problems {
				if !strings.HasPrefix(v.Problems[i], p) {
					t.Errorf("problem %q; want %q", v.Problems[i], p)
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	list, err := parse("# a comment\n\n a/b \nc/d needs history # and another\n")
	if err != nil || len(list) != 2 || list[0] != (Expected{ID: "a/b"}) || list[1] != (Expected{"c/d", kit.NeedHistory}) {
		t.Errorf("got %+v, %v", list, err)
	}
	for text, want := range map[string]string{
		"a/b\na/b":         "line 2: a/b is there twice",
		"a/b needs":        "line 1 is",
		"a/b needs money":  `unknown need "money"; known are ["history" "kill"`,
		"a/b wants kill":   "line 1 is",
		"a/b needs kill x": "line 1 is",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", text, err, want)
		}
	}
}

func TestLists(t *testing.T) {
	for kind, atLeast := range map[store.Kind]int{store.KindLease: 80, store.KindClaimOnly: 35} {
		list, err := For(kind)
		if err != nil || len(list) < atLeast {
			t.Errorf("%v: %d checks, error %v", kind, len(list), err)
		}
		for _, e := range list {
			if kind == store.KindLease && e.Needs&kit.NeedHistory != 0 {
				t.Errorf("%s may be skipped by a lease backend without %v, which every lease backend has", e.ID, e.Needs)
			}
		}
	}
	if _, err := For(0); err == nil {
		t.Error("there is a list for no kind")
	}
}
