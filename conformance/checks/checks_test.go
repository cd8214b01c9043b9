package checks

import (
	"regexp"
	"slices"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/promise"
)

func TestChecksAreWellFormed(t *testing.T) {
	id := regexp.MustCompile(`^[a-z]+/[a-z-]+$`)
	seen := map[string]bool{}
	for _, c := range All() {
		if !id.MatchString(c.ID) || seen[c.ID] {
			t.Errorf("%s: an id is family/name in lower case, and unique", c.ID)
		}
		seen[c.ID] = true
		if c.Says == "" || c.Causes == "" || c.Do == nil || len(c.Promises) == 0 {
			t.Errorf("%s: a check says what it does and what usually makes it fail, cites a promise, and does something", c.ID)
		}
		binds := false
		for _, id := range c.Promises {
			p, ok := promise.Get(id)
			if !ok {
				t.Errorf("%s cites %s, which is no promise", c.ID, id)
			}
			// A check of every backend may use what binds some of them only, but
			// needs a promise that binds all.
			binds = binds || p.Applies == promise.All || p.Applies == c.Applies
		}
		if !binds {
			t.Errorf("%s judges backends that none of its promises %q binds", c.ID, c.Promises)
		}
		if got, ok := Get(c.ID); !ok || got.Says != c.Says {
			t.Errorf("%s is not found", c.ID)
		}
	}
	if _, ok := Get("no/such-check"); ok {
		t.Error("a check that is not there is found")
	}
}

func TestEveryPromiseIsCited(t *testing.T) {
	cited := map[string]bool{}
	for _, c := range All() {
		for _, id := range c.Promises {
			cited[id] = true
		}
	}
	for _, p := range promise.List() {
		if !cited[p.ID] {
			t.Errorf("%s: no check is evidence for it", p.ID)
		}
	}
}

func TestNastyNamesDiffer(t *testing.T) {
	names := nastyNames()
	slices.Sort(names)
	for i, n := range names {
		if i > 0 && n == names[i-1] {
			t.Errorf("%+q is there twice", n)
		}
		if len(n) == 0 || len(n) > 200 {
			t.Errorf("%+q has %d bytes", n, len(n))
		}
	}
}
