package natsstore

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// inTime runs a test within a window of the store's memory, and again within one
// twice as long if it says that the machine was too slow for that.
func inTime(t *testing.T, window time.Duration, test func(*testing.T, time.Duration) bool) {
	t.Helper()
	for w := window; !test(t, w); w *= 2 {
		if w > 8*window {
			t.Fatalf("the machine is too slow for a window of %v", w)
		}
		t.Logf("the machine is too slow for a window of %v", w)
	}
}

// TestWindowEdges: a slot is taken for the whole window and is forgotten some time
// after it, whatever the history size; the history does not forget it.
func TestWindowEdges(t *testing.T) {
	t.Parallel()
	inTime(t, 4*time.Second, windowEdges)
}

func windowEdges(t *testing.T, window time.Duration) bool {
	o := options(t)
	o["duplicateWindow"] = window.String()
	a, b := open(t, o), open(t, o)
	ask := func(slot int64) store.ClaimRequest {
		q := claimOf("j", noon+slot)
		q.HistorySize = 1 // must not matter
		return q
	}
	called := time.Now()
	first := ask(0)
	w := mustClaim(t, a, first, store.VerdictWon)
	for slot := range int64(50) {
		q := ask(1 + slot)
		w := mustClaim(t, a, q, store.VerdictWon)
		mustFinish(t, a, finishOf(q, w.Token, store.OutcomeSuccess), true)
	}
	time.Sleep(time.Until(called.Add(window - window/4)))
	refused := b.ClaimBatch(t.Context(), []store.ClaimRequest{ask(0), ask(1), ask(50)})
	again, err := b.Claim(t.Context(), first)
	if time.Since(called) > window {
		return false
	}
	for i, r := range refused {
		if r.Err != nil || r.Answer.Verdict != store.VerdictFinished {
			t.Errorf("before the window ends, slot %d: %+v", i, r)
		}
	}
	if err != nil || again != w {
		t.Errorf("the winner again: %+v, %v; want %+v", again, err, w)
	}
	// It must not be for ever either, or Describe is wrong: the server drops what is
	// too old when it looks for it.
	var second store.ClaimAnswer
	await(t, "the slot is forgotten", window+30*time.Second, func() bool {
		var err error
		second, err = b.Claim(t.Context(), ask(0))
		return err == nil && second.Verdict == store.VerdictWon
	})
	passed := time.Since(called)
	if passed < window {
		t.Errorf("forgotten after %v; the window is %v", passed, window)
	}
	if second.Token <= w.Token {
		t.Errorf("token %d after %d", second.Token, w.Token)
	}
	t.Logf("forgotten after %v", passed.Round(time.Millisecond))
	return true
}

// A finish prolongs the memory of its slot, so that it is never shorter than the
// window after the grant, and a run that is longer than the window can be
// finished, once, by its winner, unless somebody else was granted the slot.
func TestLongRuns(t *testing.T) {
	t.Parallel()
	o := options(t)
	o["duplicateWindow"] = "3s" // and a second, for the last claim below
	a, b := open(t, o), open(t, o)
	long, failed, taken := claimOf("j", noon), claimOf("j", noon+1), claimOf("j", noon+2)
	wl, wf, wt := mustClaim(t, a, long, store.VerdictWon), mustClaim(t, a, failed, store.VerdictWon), mustClaim(t, a, taken, store.VerdictWon)
	await(t, "the claims stream has forgotten", 30*time.Second, func() bool {
		slots, err := b.api.slots(t.Context(), b.settings.layout.claims, b.settings.layout.job("j"))
		return err == nil && len(slots) == 0
	})
	h := history(t, b, "j")
	if len(h) != 3 || h[0].Token != wt.Token || h[1].Token != wf.Token || h[2].Token != wl.Token || h[2].Status != store.StatusRunning || h[2].StartedAt == 0 {
		t.Fatalf("%+v", h)
	}
	// Somebody is granted a slot that was forgotten: the first runner's finish is lost.
	next := claimOf("j", taken.Slot)
	next.Instance = "b"
	wn := mustClaim(t, b, next, store.VerdictWon)
	mustFinish(t, a, finishOf(taken, wt.Token, store.OutcomeSuccess), false)
	mustFinish(t, b, finishOf(next, wn.Token, store.OutcomeSuccess), true)
	mustFinish(t, a, finishOf(taken, wt.Token, store.OutcomeSuccess), false)

	mustFinish(t, b, finishOf(long, wl.Token+1, store.OutcomeSuccess), false)
	mustFinish(t, b, finishOf(long, wl.Token, store.OutcomeSuccess), true)
	mustFinish(t, a, finishOf(long, wl.Token, store.OutcomeSuccess), true)
	mustFinish(t, a, finishOf(long, wl.Token, store.OutcomeFailed), false)
	mustFinish(t, a, finishOf(failed, wf.Token, store.OutcomeFailed), true)
	h = history(t, b, "j")
	want := []store.Status{store.StatusSuccess, store.StatusFailed, store.StatusSuccess}
	for i, at := range h {
		if at.Status != want[i] || at.EndedAt < at.StartedAt || at.StartedAt == 0 {
			t.Errorf("%+v; want %v", at, want[i])
		}
	}
	if h[0].Instance != "b" || h[0].Token != wn.Token {
		t.Errorf("%+v; want the second runner's", h[0])
	}
	// Finished is finished, for another window.
	mustClaim(t, b, claimOf("j", long.Slot), store.VerdictFinished)
}
