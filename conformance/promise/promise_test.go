package promise_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/promise"
)

const document = "../../docs/protocol.md"

var (
	headingPattern = regexp.MustCompile(`(?m)^### (R-[A-Z]+-[0-9]+)$`)
	anyIDPattern   = regexp.MustCompile(`\bR-[A-Z]+-[0-9]+\b`)
	formPattern    = regexp.MustCompile(`^R-[A-Z]+-([1-9][0-9]*)$`)
)

// section is what the document says of one promise.
type section struct{ id, sentence, binds string }

// sections reads the promises of the document, in its order.
func sections(text string) []section {
	var found []section
	at := headingPattern.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		s := section{id: text[m[2]:m[3]]}
		for line := range strings.Lines(text[m[1]:end]) {
			line = strings.TrimSpace(line)
			if rest, ok := strings.CutPrefix(line, "> "); ok && s.sentence == "" {
				s.sentence = rest
			}
			if rest, ok := strings.CutPrefix(line, "Binds "); ok && s.binds == "" {
				s.binds, _, _ = strings.Cut(rest, ".")
			}
		}
		found = append(found, s)
	}
	return found
}

var binds = map[promise.Applies]string{
	promise.All:       "every backend",
	promise.Lease:     "lease backends",
	promise.ClaimOnly: "claim-only backends",
}

// differences says how the document and the list disagree.
func differences(text string, list []promise.Promise) []string {
	var diffs []string
	diff := func(format string, args ...any) { diffs = append(diffs, fmt.Sprintf(format, args...)) }
	found := sections(text)
	for _, p := range list {
		i := slices.IndexFunc(found, func(s section) bool { return s.id == p.ID })
		switch {
		case i < 0:
			diff("%s has no section", p.ID)
			continue
		case found[i].sentence != p.Sentence:
			diff("%s reads %q in the document and %q in the code", p.ID, found[i].sentence, p.Sentence)
		case found[i].binds != binds[p.Applies]:
			diff("%s binds %q in the document and %q in the code", p.ID, found[i].binds, binds[p.Applies])
		}
	}
	for _, id := range anyIDPattern.FindAllString(text, -1) {
		if !slices.ContainsFunc(list, func(p promise.Promise) bool { return p.ID == id }) {
			diff("%s is not in the code", id)
		}
	}
	ids := func(yield func(string) bool) {
		for _, p := range list {
			if !yield(p.ID) {
				return
			}
		}
	}
	order := make([]string, len(found))
	for i, s := range found {
		order[i] = s.id
	}
	if len(diffs) == 0 && !slices.Equal(order, slices.Collect(ids)) {
		diff("the document has the sections in the order %q", order)
	}
	return diffs
}

func TestDocumentHoldsEveryPromise(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences(string(text), promise.List()) {
		t.Errorf("%s: %s", document, d)
	}
}

func TestDifferences(t *testing.T) {
	list := []promise.Promise{{ID: "R-A-1", Sentence: "One.", Applies: promise.All}, {ID: "R-A-2", Sentence: "Two.", Applies: promise.Lease}}
	const one, two = "### R-A-1\n\n> One.\n\nBinds every backend. Why.\n\n", "### R-A-2\n\n> Two.\n\nBinds lease backends. Why.\n"
	tests := []struct{ name, text, want string }{
		{"in step", "See R-A-2.\n\n" + one + two, ""},
		{"missing", one, "R-A-2 has no section"},
		{"other sentence", one + strings.Replace(two, "Two.", "Too.", 1), `reads "Too."`},
		{"other binding", one + strings.Replace(two, "lease backends", "every backend", 1), `binds "every backend"`},
		{"unknown", one + two + "R-A-3", "R-A-3 is not in the code"},
		{"twice", one + two + two, "in the order"},
		{"other order", two + one, "in the order"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(differences(tt.text, list), "; ")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("differences = %q, want one with %q", got, tt.want)
			}
		})
	}
}

func TestListIsWellFormed(t *testing.T) {
	next := map[string]int{}
	for _, p := range promise.List() {
		m := formPattern.FindStringSubmatch(p.ID)
		if m == nil {
			t.Errorf("id %q does not read R-FAMILY-n", p.ID)
			continue
		}
		family := strings.TrimSuffix(p.ID, m[1])
		next[family]++
		if want := fmt.Sprint(next[family]); m[1] != want {
			t.Errorf("%s follows as number %s of its family", p.ID, want)
		}
		if !strings.HasSuffix(p.Sentence, ".") || strings.ContainsAny(p.Sentence, "\n`*_") {
			t.Errorf("%s: %q must be one line of plain text that ends with a full stop", p.ID, p.Sentence)
		}
	}
}

func TestGet(t *testing.T) {
	for _, want := range promise.List() {
		if got, ok := promise.Get(want.ID); !ok || got != want {
			t.Errorf("Get(%q) = %v, %v", want.ID, got, ok)
		}
	}
	if got, ok := promise.Get("R-NONE-1"); ok {
		t.Errorf("Get of an unknown id = %v", got)
	}
}

func ExampleGet() {
	p, ok := promise.Get("R-LEASE-5")
	fmt.Println(ok, p.Sentence)
	// Output: true A heartbeat never shortens a lease.
}
