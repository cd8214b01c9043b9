package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

func asIs(s string) string { return s }

func TestErrorsCrossTheWire(t *testing.T) {
	all := []error{store.ErrInvalid, store.ErrNotApplied, store.ErrUnknown, store.ErrUnsupported, store.ErrStoreFormat}
	for _, c := range []struct {
		err  error
		want []error // of all
	}{
		{store.ErrInvalid, []error{store.ErrInvalid}},
		{store.ErrNotApplied, []error{store.ErrNotApplied}},
		{store.ErrUnknown, []error{store.ErrUnknown}},
		{store.ErrUnsupported, []error{store.ErrUnsupported, store.ErrInvalid}},
		{store.ErrStoreFormat, []error{store.ErrStoreFormat, store.ErrNotApplied}},
		{fmt.Errorf("dial: %w", store.ErrNotApplied), []error{store.ErrNotApplied}},
		{&store.InvalidError{Field: "f", Value: "v", Rule: "r"}, []error{store.ErrInvalid}},
		{fmt.Errorf("in Redis: %w", &store.InvalidError{Field: "f", Value: "v", Rule: "r"}), []error{store.ErrInvalid}},
		{errors.New("no class"), []error{store.ErrUnknown}},
		{errors.Join(store.ErrNotApplied, store.ErrUnknown), []error{store.ErrUnknown}},
		{errors.Join(store.ErrNotApplied, store.ErrInvalid), []error{store.ErrUnknown}}, // they contradict each other
	} {
		got := ToError(Error(c.err), asIs)
		if got.Error() != c.err.Error() {
			t.Errorf("%q became %q", c.err, got)
		}
		for _, class := range all {
			want := false
			for _, w := range c.want {
				want = want || w == class
			}
			if errors.Is(got, class) != want {
				t.Errorf("%q: errors.Is %v is %v", c.err, class, !want)
			}
		}
		if _, ok := errors.AsType[*store.InvalidError](c.err); ok {
			if invalid, ok := errors.AsType[*store.InvalidError](got); !ok || *invalid != (store.InvalidError{Field: "f", Value: "v", Rule: "r"}) {
				t.Errorf("%q: InvalidError %+v", c.err, invalid)
			}
		}
	}
}

func TestErrorsAreScrubbed(t *testing.T) {
	scrub := func(s string) string { return strings.ReplaceAll(s, "pw", "*") }
	for _, err := range []error{
		ToError(&pb.Error{Message: "pw"}, scrub),
		ToError(&pb.Error{Class: pb.ErrorClass_ERROR_CLASS_INVALID, Field: "pw", Value: "pw", Rule: "pw"}, scrub),
		ToError(&pb.Error{Class: pb.ErrorClass_ERROR_CLASS_INVALID, Field: "a", Message: "pw"}, scrub),
	} {
		if strings.Contains(err.Error(), "pw") {
			t.Errorf("%q", err)
		}
	}
	if err := ToError(&pb.Error{Class: pb.ErrorClass_ERROR_CLASS_NOT_APPLIED}, asIs); err.Error() == "" {
		t.Error("an error without words")
	}
}
