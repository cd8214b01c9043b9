package natsstore

import (
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestRun(t *testing.T) {
	o := options(t)
	a, b := open(t, o), open(t, o)
	q := claimOf("invoices/nightly", noon)
	w := mustClaim(t, a, q, store.VerdictWon)
	t.Logf("%+v", w)
	again := mustClaim(t, b, q, store.VerdictWon)
	if again != w {
		t.Errorf("again: %+v, want %+v", again, w)
	}
	other := claimOf("invoices/nightly", noon)
	other.Instance = "b"
	t.Logf("%+v", mustClaim(t, b, other, store.VerdictFinished))
	t.Logf("%+v", history(t, b, q.Job))
	mustFinish(t, a, finishOf(q, w.Token, store.OutcomeSuccess), true)
	mustFinish(t, a, finishOf(q, w.Token, store.OutcomeSuccess), true)
	mustFinish(t, a, finishOf(q, w.Token, store.OutcomeFailed), false)
	t.Logf("%+v", history(t, b, q.Job))
	d, _ := a.Describe(t.Context())
	t.Logf("%+v", d)
}
