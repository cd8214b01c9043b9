package natsstore

import (
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

func storedOf(q store.ClaimRequest, status store.Status) *stored {
	r := claimRecord(&q)
	r.Status = status
	return &stored{record: r, seq: 42, tok: 42, time: noon}
}

func TestDecideClaim(t *testing.T) {
	q := claimOf("j", noon)
	q.Fingerprint = "before"
	otherID, otherInstance := q, q
	otherID.ID = store.NewClaimID()
	otherInstance.Instance = "b"
	again := store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 42}
	taken := func(s store.Status) store.ClaimAnswer {
		return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: s, Fingerprint: "before"}
	}
	for _, c := range []struct {
		name   string
		status store.Status
		q      store.ClaimRequest
		want   store.ClaimAnswer
	}{
		{"the winner again", store.StatusRunning, q, again},
		{"the winner again, after its end", store.StatusSuccess, q, taken(store.StatusSuccess)},
		{"another claim", store.StatusRunning, otherID, taken(store.StatusRunning)},
		{"another claim, after the end", store.StatusFailed, otherID, taken(store.StatusFailed)},
		{"the id with another instance", store.StatusRunning, otherInstance, taken(store.StatusRunning)},
	} {
		if got := decideClaim(storedOf(q, c.status), &c.q); got != c.want {
			t.Errorf("%s: %+v; want %+v", c.name, got, c.want)
		}
	}
}

func TestDecideFinish(t *testing.T) {
	q := claimOf("j", noon)
	for _, c := range []struct {
		name            string
		s               *stored
		token           store.Token
		outcome         store.Outcome
		write, recorded bool
	}{
		{"nothing known", nil, 42, store.OutcomeSuccess, false, false},
		{"the winner", storedOf(q, store.StatusRunning), 42, store.OutcomeFailed, true, true},
		{"a stranger", storedOf(q, store.StatusRunning), 43, store.OutcomeSuccess, false, false},
		{"no token", storedOf(q, store.StatusRunning), 0, store.OutcomeSuccess, false, false},
		{"the winner again", storedOf(q, store.StatusFailed), 42, store.OutcomeFailed, false, true},
		{"the winner, otherwise", storedOf(q, store.StatusFailed), 42, store.OutcomeSuccess, false, false},
		{"a stranger, the same", storedOf(q, store.StatusFailed), 41, store.OutcomeFailed, false, false},
	} {
		f := finishOf(q, c.token, c.outcome)
		w, recorded := decideFinish(c.s, &f)
		if (w != nil) != c.write || recorded != c.recorded {
			t.Errorf("%s: writes %v, recorded %v; want %v, %v", c.name, w != nil, recorded, c.write, c.recorded)
		}
		if w != nil && (w.Token != 42 || w.StartedAt != noon || w.Status != c.outcome.Status()) {
			t.Errorf("%s: writes %+v", c.name, w)
		}
		if c.s != nil && c.s.Status != store.StatusRunning && c.s.Token != 0 {
			t.Errorf("%s: the record that was read changed", c.name)
		}
	}
}
