package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/mutants"
	"github.com/anarchon-go/anarchon/conformance/session"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

func open(t *testing.T, kind store.Kind) *session.Session {
	t.Helper()
	s, err := session.Open(t.Context(), &kit.Suite{Subject: mutants.Model(store.KindLease, model.NoFault, mutants.Setting{})}, kind)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSelectionIsPartial(t *testing.T) {
	s := open(t, store.KindLease)
	c, _ := checks.Get("claim/follows")
	if res := s.Run(t.Context(), c); res.Outcome != kit.Pass || s.Done() != 1 {
		t.Errorf("%v; %d done", res.Text(), s.Done())
	}
	r, err := s.Close()
	if err != nil || r.Verdict.Word() != "PARTIAL" || r.Verdict.Passed != 1 || len(r.Results) != len(s.Checks()) {
		t.Errorf("error %v, %s, %d results", err, r.Line(), len(r.Results))
	}
}

func TestRunOfNothingIsPartial(t *testing.T) {
	r, err := open(t, 0).Close()
	if err != nil || r.Verdict.Word() != "PARTIAL" || r.Verdict.Passed != 0 {
		t.Errorf("error %v, %s", err, r.Line())
	}
}

func TestAnotherKindThanTheSettingsSay(t *testing.T) {
	r, err := open(t, store.KindClaimOnly).Close()
	if err != nil || r.Verdict.OK || !strings.Contains(r.Verdict.String(), "of kind claim-only; it declares lease") {
		t.Errorf("error %v, %v", err, r.Verdict)
	}
}

// nobody is a subject that declares no kind.
type nobody struct{ kit.Subject }

func (n nobody) Open(ctx context.Context, namespace string) (kit.Process, error) {
	p, err := n.Subject.Open(ctx, namespace)
	return undeclared{p}, err
}

type undeclared struct{ kit.Process }

func (undeclared) Describe(context.Context) (store.Description, error) {
	return store.Description{}, nil
}

func TestKindThatNoBackendIs(t *testing.T) {
	good := mutants.Model(store.KindLease, model.NoFault, mutants.Setting{})
	_, err := session.Open(t.Context(), &kit.Suite{Subject: nobody{good}}, 0)
	if err == nil || !strings.Contains(err.Error(), "which no backend is") {
		t.Errorf("error %v", err)
	}
}
