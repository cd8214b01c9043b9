package rabbitmqstore

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestWindow: a slot is remembered for slotTtl whatever the history size, and
// forgotten some time after it; then it has one winner again.
func TestWindow(t *testing.T) {
	t.Parallel()
	const window = 2 * time.Second
	o := fresh(t, brokerURL(t)).with("slotTtl", window.String()).with("historyTtl", "1s")
	b, other := open(t, o), open(t, o)
	ask := func(slot int64) store.ClaimRequest {
		q := claimOf("j", slot)
		q.HistorySize = 1
		return q
	}
	old := ask(1)
	start := time.Now()
	mustClaim(t, b, old, store.VerdictWon)
	mustFinish(t, b, finishOf(old, store.OutcomeSuccess), true)
	mustClaim(t, b, ask(2), store.VerdictWon)
	for asked := 0; ; asked++ {
		a, err := other.Claim(t.Context(), ask(1))
		age := time.Since(start)
		if err != nil {
			t.Fatal(err)
		}
		if a.Verdict == store.VerdictWon {
			if age < window {
				t.Fatalf("a slot was forgotten after %v at most; slotTtl is %v", age, window)
			}
			t.Logf("remembered for %d questions, forgotten after %v at most", asked, age)
			break
		}
		if age > 10*window {
			t.Fatalf("a slot is remembered for %v; slotTtl is %v", age, window)
		}
		time.Sleep(20 * time.Millisecond)
	}
	// Whether b has forgotten it too or not, nobody else wins it now.
	mustClaim(t, b, ask(1), store.VerdictFinished)
	mustClaim(t, other, ask(1), store.VerdictFinished)
}

// TestHistorySize: the history lists as many runs as the last grant asked for,
// and outlives the processes; the memory of slots is not cut with it.
func TestHistorySize(t *testing.T) {
	t.Parallel()
	o := fresh(t, brokerURL(t))
	b := open(t, o)
	for slot := range int64(30) {
		q := claimOf("j", slot)
		q.HistorySize = 3
		mustClaim(t, b, q, store.VerdictWon)
	}
	for _, b := range []*Backend{b, open(t, o)} {
		a, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 10})
		if err != nil || len(a.Attempts) != 3 || a.Attempts[0].Slot != 29 || a.Attempts[2].Slot != 27 {
			t.Errorf("history is %+v, %v", a, err)
		}
		mustClaim(t, b, claimOf("j", 0), store.VerdictFinished)
	}
}

// TestNamespaces: names that a careless store would mix up are apart.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	url := brokerURL(t)
	base := fresh(t, url)["namespace"].(string)
	for _, ns := range []string{base, base + "/j", base + "=2F", base + "\x00", base + "😀"} {
		o := fresh(t, url)
		o["namespace"] = ns
		t.Cleanup(func() { driver(t, url).QueueDelete(logName(ns), false, false, false) })
		b := open(t, o)
		for _, job := range []string{"j", "/j", "j/j", "J", "j\x00"} {
			mustClaim(t, b, claimOf(job, 1), store.VerdictWon)
		}
	}
}
