package rabbitmqstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func claimRecord(id string, slot int64) *entry {
	return &entry{Kind: kindClaim, Job: "j", Slot: slot, ID: id, Instance: "i" + id, Reason: "scheduled", HistorySize: 1}
}

// TestForgets: a run is remembered until every claim that may still come is
// younger than it by more than the memory, and in the history even longer.
func TestForgets(t *testing.T) {
	const memory = time.Minute
	b := newBook(memory, time.Hour)
	at := func(d time.Duration) { b.cameBack(d); b.forget() }
	won := func(now time.Duration, id string, slot int64, want store.Verdict) {
		t.Helper()
		if a := b.claim(now, claimRecord(id, slot)); a.Verdict != want {
			t.Errorf("at %v claim %s of slot %d is answered %v; want %v", now, id, slot, a.Verdict, want)
		}
	}
	won(0, "1", 10, store.VerdictWon)
	won(time.Second, "2", 20, store.VerdictWon) // the history keeps one run, the newest
	at(memory)
	won(memory, "3", 10, store.VerdictFinished) // starts the memory anew
	at(2 * memory)
	won(2*memory, "4", 10, store.VerdictFinished)
	// What is read is old, whatever the time: nothing of ours came back.
	b.forget()
	won(9*memory, "5", 10, store.VerdictFinished)
	at(10*memory + time.Millisecond)
	won(10*memory+time.Millisecond, "6", 10, store.VerdictWon)
	won(10*memory+time.Millisecond, "7", 20, store.VerdictFinished)
	at(time.Hour + 11*memory)
	if len(b.jobs) != 0 {
		t.Errorf("after the history's time %d jobs are kept", len(b.jobs))
	}
}

// TestLongestMemoryCounts: an instance that declares a longer memory relies on
// what all the others remember.
func TestLongestMemoryCounts(t *testing.T) {
	b := newBook(time.Minute, 0)
	b.apply(0, &record{Format: 1, Writer: "w", SlotTTL: time.Hour.Milliseconds(), Entries: []entry{*claimRecord("1", 10), *claimRecord("2", 20)}})
	b.cameBack(30 * time.Minute)
	b.forget()
	if len(b.jobs["j"].runs) != 2 {
		t.Error("a run was forgotten within the memory that another instance declares")
	}
	b.cameBack(61 * time.Minute)
	b.forget()
	if len(b.jobs) != 0 {
		t.Error("a run is remembered after the memory of all")
	}
}

func TestClaimsThatFollow(t *testing.T) {
	b := newBook(time.Minute, time.Hour)
	e := claimRecord("1", 10)
	e.After = 1
	if a := b.claim(0, e); a.Verdict != store.VerdictFinished || len(b.jobs) != 0 {
		t.Errorf("a claim that follows an attempt nobody knows: %+v, %d jobs", a, len(b.jobs))
	}
}

// TestRecordsOfOthers: what this version does not know costs nothing, and what
// it can't read is told apart.
func TestRecordsOfOthers(t *testing.T) {
	r, err := decode([]byte(`{"format":1,"writer":"w","new":{"a":1},"entries":[{"kind":"pause","job":"j"},{"kind":"claim","job":"j","slot":1,"id":"x","instance":"i","reason":"whim","historySize":3,"why":[]},{"kind":"finish","job":"j","slot":1,"id":"x","outcome":"abandoned"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	b := newBook(time.Minute, time.Hour)
	answers := b.apply(0, r)
	if answers[1].claim.Verdict != store.VerdictWon || !answers[2].finish.Recorded {
		t.Errorf("answers are %+v", answers)
	}
	got := b.list("j", firstPage, 10).Attempts
	if len(got) != 1 || got[0].Status != store.StatusInterrupted || got[0].Reason != store.ReasonScheduled {
		t.Errorf("history is %+v", got)
	}
	for _, text := range []string{"", "hello", "{}", `{"format":0,"writer":"w"}`, `{"format":1}`, `[1]`, `{"format":1,"writer":"w","entries":7}`} {
		if _, err := decode([]byte(text)); err != errForeign {
			t.Errorf("%q: %v", text, err)
		}
	}
	if r, err := decode([]byte(`{"format":2,"writer":"w","entries":7}`)); err != nil || r.Format != 2 {
		t.Errorf("a newer format: %+v, %v", r, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add((&record{Format: 1, Writer: "w", Entries: []entry{*claimRecord("1", 2)}}).encode())
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(body)
		if err == nil && r.Format <= Format {
			b := newBook(time.Minute, time.Hour)
			b.apply(0, r)
			b.cameBack(time.Hour)
			b.forget()
		}
	})
}

// TestOneWinnerInEveryView lets readers of one log disagree as they may: they
// begin at different places, read late and in bursts, and forget at different
// moments. No slot may be granted twice within the memory.
func TestOneWinnerInEveryView(t *testing.T) {
	total := 0
	for seed := range uint64(300) {
		grants, err := manyViews(seed, false)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		total += grants
	}
	t.Logf("%d grants", total)
	// The test must be able to fail: a book that takes the time of reading for the
	// time of writing forgets too early.
	for seed := range uint64(300) {
		if _, err := manyViews(seed, true); err != nil {
			return
		}
	}
	t.Error("a book that trusts arrival times is not found out")
}

// view is one reader of the log.
type view struct {
	book *book
	next int // to read
}

func manyViews(seed uint64, trusting bool) (grants int, err error) {
	const memory, keep = 60 * time.Second, 180 * time.Second
	r := rand.New(rand.NewPCG(seed, 5))
	type written struct {
		at     time.Duration
		writer int
		e      *entry
	}
	var log []written
	views := make([]view, 3)
	start := func(now time.Duration) view {
		v := view{book: newBook(memory, keep)}
		for v.next < len(log) && now-log[v.next].at > keep {
			v.next++
		}
		return v
	}
	for i := range views {
		views[i] = start(0)
	}
	last := map[int64]time.Duration{} // grant of a slot
	now := time.Duration(0)
	// catchUp reads some of the log, as if it arrived now; sent is when the
	// reader's own record at the end was sent.
	catchUp := func(i, to int, sent time.Duration) (a store.ClaimAnswer) {
		v := &views[i]
		for ; v.next < to; v.next++ {
			if trusting {
				v.book.cameBack(now)
				v.book.forget()
			}
			a = v.book.claim(now, log[v.next].e)
		}
		if sent >= 0 {
			v.book.cameBack(sent)
		}
		if r.IntN(2) == 0 {
			v.book.forget()
		}
		return a
	}
	for n := range 400 {
		now += time.Duration(r.Int64N(int64(15 * time.Second)))
		i := r.IntN(len(views))
		switch r.IntN(10) {
		case 0:
			views[i] = start(now)
			catchUp(i, len(log), now)
		case 1, 2, 3: // it reads what has arrived so far
			if left := len(log) - views[i].next; left > 0 {
				catchUp(i, views[i].next+r.IntN(left+1), -1)
			}
		default:
			sent := now
			now += time.Duration(r.Int64N(int64(2 * time.Second)))
			slot := int64(r.IntN(3))
			log = append(log, written{now, i, claimRecord(fmt.Sprint(n), slot)})
			written := now
			if r.IntN(6) == 0 { // and its answer is late
				now += time.Duration(r.Int64N(int64(90 * time.Second)))
			}
			if a := catchUp(i, len(log), sent); a.Verdict == store.VerdictWon {
				grants++
				if before, ok := last[slot]; ok && written-before < memory {
					return grants, fmt.Errorf("slot %d was granted at %v and again at %v", slot, before, written)
				}
				last[slot] = written
			}
		}
	}
	return grants, nil
}

func TestLogNames(t *testing.T) {
	seen := map[string]string{}
	long := string(slices.Repeat([]byte("\x00"), 200))
	for _, ns := range []string{"default", "Default", "a.b", "a=2Eb", "a/b", "", " ", "é", "😀", long, long[1:], "hashed", "log.x"} {
		name := logName(ns)
		if other, ok := seen[name]; ok || len(name) > 255 {
			t.Errorf("%q and %q have the same log %q of %d bytes", ns, other, name, len(name))
		}
		seen[name] = ns
	}
	if got := logName("team-a.jobs"); got != "anarchon.log.team-a=2Ejobs" {
		t.Error(got)
	}
}
