package model

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestFaultTable(t *testing.T) {
	promise := regexp.MustCompile(`^R-[A-Z]+-\d+$`)
	names := map[string]bool{}
	for f := NoFault + 1; f < faultCount; f++ {
		what := faults[f]
		if what.name == "" || what.doc == "" || names[what.name] {
			t.Errorf("fault %d: name %q, doc %q: want both, and the name once", f, what.name, what.doc)
		}
		names[what.name] = true
		if !promise.MatchString(f.Breaks()) {
			t.Errorf("fault %v breaks %q: want a promise's id", f, f.Breaks())
		}
		if got, err := ParseFault(f.String()); got != f || err != nil {
			t.Errorf("ParseFault(%q) = %v, %v", f, got, err)
		}
		if what.job == nil && what.taken == nil && what.store == nil {
			t.Errorf("fault %v bends nothing", f)
		}
		if what.kinds == 0 || what.taken != nil && what.kinds&claimOnly == 0 {
			t.Errorf("fault %v: wrong kinds", f)
		}
	}
	if _, err := ParseFault("lease-hlaf"); err == nil {
		t.Error("an unknown name is parsed")
	}
	if n := len(Faults(store.KindLease)); n < 80 {
		t.Errorf("%d faults of lease stores", n)
	}
	if Faults(0) != nil {
		t.Error("a kind that does not exist has faults")
	}
	if got := Fault(255).String(); got != "fault(255)" {
		t.Errorf("String of no fault: %q", got)
	}
}

// Every step can be bent: one that no fault bends is needless indirection.
func TestEveryStepIsBent(t *testing.T) {
	bent := map[string]bool{}
	for f := NoFault + 1; f < faultCount; f++ {
		for _, pair := range [][2]any{
			{jobSteps[f], truth}, {takenRules[f], takenTruth}, {storeRules[f], storeTruth},
		} {
			is, was := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
			for i := range is.NumField() {
				if name := is.Type().String() + "." + is.Type().Field(i).Name; is.Field(i).Pointer() != was.Field(i).Pointer() {
					bent[name] = true
				} else if !bent[name] {
					bent[name] = false
				}
			}
		}
	}
	for name, ok := range bent {
		if !ok {
			t.Errorf("no fault bends %s", name)
		}
	}
}

func TestUnknownFaultPanics(t *testing.T) {
	for name, call := range map[string]func(){
		"NewJob": func() { NewJob(faultCount) },
		"New":    func() { New(Options{Fault: faultCount}) },
		"Doc":    func() { _ = faultCount.Doc() },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a made-up fault is taken for the truth")
				}
			}()
			call()
		})
	}
}
