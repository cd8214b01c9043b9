package redisstore

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestParseAttempts(t *testing.T) {
	got, err := parseAttempts(5, "2 90 80 i%202 takeover failed 85 =no%20luck later words\n1 70 60 i1 scheduled released 65 =")
	want := []store.Attempt{
		{Slot: 5, Attempt: 2, Token: 90, StartedAt: 80, Instance: "i 2", Reason: store.ReasonTakeover, Status: store.StatusFailed, EndedAt: 85, Error: "no luck"},
		{Slot: 5, Attempt: 1, Token: 70, StartedAt: 60, Instance: "i1", Reason: store.ReasonScheduled, Status: store.StatusInterrupted, HandedOver: true, EndedAt: 65},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{
		"", "1 2 3", "1 70 60 i1 scheduled success 65", "x 70 60 i1 scheduled success 65 =", "1 70 60 i%1 scheduled success 65 =",
		"1 70 60 i1 sometimes success 65 =", "1 70 60 i1 scheduled done 65 =", "1 70 60 i1 scheduled success 65 text",
		"1 70 60 i1 scheduled success 65 =\n", "1 70 60 i1 scheduled success 99999999999999999999 =",
	} {
		if got, err := parseAttempts(5, bad); err == nil || !strings.Contains(err.Error(), "slot 5") {
			t.Errorf("%q reads as %+v, %v; want an error that names the slot", bad, got, err)
		}
	}
}

// A script's answer that is none must be an error that leaves open what
// happened, and never a panic.
func FuzzAnswers(f *testing.F) {
	f.Add("won\n1\n0\n=\n1\n2\n3")
	f.Add("running\n1\n0\n=f\n1\na%20b\n0")
	f.Add("finished\n1\n10\n=\nsuccess")
	f.Add("invalid\njob\nx")
	f.Add("drift\n1\n2")
	f.Add("5\n6\n7\n8\n9\n1\na\n3\n4")
	s := &script{name: "lease_claim"}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\n")
		if a, err := claimAnswer(&store.ClaimRequest{}, s, words); err != nil && !isClassed(err) || err == nil && a.Verdict == 0 {
			t.Errorf("%q reads as %+v, %v", words, a, err)
		}
		if _, _, err := yes(s, words, "recorded", "lost"); err != nil && !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%q: %v", words, err)
		}
		_, _, _ = unfinishedRuns("j", words)
		_, _ = parseAttempts(1, text)
	})
}

func TestPlace(t *testing.T) {
	for _, p := range []place{{0, 1}, {noon, 100}, {-5, 2}} {
		if got, err := parsePlace(p.String()); err != nil || got != p {
			t.Errorf("%v comes back as %v, %v", p, got, err)
		}
	}
	for _, bad := range []string{"1", "1.", ".1", "1.0", "1.-1", "01.1", "1.1.1", "+1.1", "x", "1/1"} {
		if _, err := parsePlace(bad); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("page %q: %v; want invalid", bad, err)
		}
	}
}
