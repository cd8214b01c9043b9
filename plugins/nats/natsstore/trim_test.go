package natsstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestHistorySize: the answer is cut to the size of the newest slot's claim, what
// is stored to that and some slack, and other jobs' histories are left alone.
func TestHistorySize(t *testing.T) {
	b := open(t, options(t))
	quiet := claimOf("quiet", noon)
	quiet.HistorySize = 1
	mustClaim(t, b, quiet, store.VerdictWon)
	// A new stream takes a moment until copying begins.
	await(t, "the server copies", 10*time.Second, func() bool {
		slots, err := b.api.slots(t.Context(), b.settings.layout.history, b.settings.layout.job("quiet"))
		return err == nil && len(slots) == 1
	})
	run := func(from, to int64, size int) {
		for slot := from; slot < to; slot++ {
			q := claimOf("busy", noon+slot)
			q.HistorySize = size
			w := mustClaim(t, b, q, store.VerdictWon)
			mustFinish(t, b, finishOf(q, w.Token, store.OutcomeSuccess), true)
		}
	}
	newest := func(last int64, n int) {
		t.Helper()
		h := history(t, b, "busy")
		if len(h) != n {
			t.Fatalf("the history has %d runs; want %d", len(h), n)
		}
		for i, a := range h {
			if a.Slot != noon+last-int64(i) {
				t.Fatalf("place %d has slot %d; want %d", i, a.Slot-noon, last-int64(i))
			}
		}
	}
	run(0, 60, 20)
	newest(59, 20)
	kept := func(most int) {
		t.Helper()
		// The trimmer rests after each trim, up to trimTimeout where a trim takes long.
		await(t, fmt.Sprintf("at most %d runs are stored", most), 3*trimTimeout, func() bool {
			slots, err := b.api.slots(t.Context(), b.settings.layout.history, b.settings.layout.job("busy"))
			return err == nil && len(slots) >= 20 && len(slots) <= most
		})
	}
	kept(20 + 2*slack(20)) // twice, since what is being copied is not trimmed
	run(60, 61, 3)
	newest(60, 3)
	run(61, 100, 25)
	newest(99, 25)
	kept(25 + 2*slack(25))
	if h := history(t, b, "quiet"); len(h) != 1 {
		t.Errorf("the quiet job has %+v", h)
	}
	// The memory is not the history.
	for slot := range int64(100) {
		mustClaim(t, b, claimOf("busy", noon+slot), store.VerdictFinished)
	}
}

// Pages name a place: they stay whole while runs come and go.
func TestPages(t *testing.T) {
	b := open(t, options(t))
	claim := func(slot int64) {
		q := claimOf("j", noon+slot)
		q.HistorySize = 50
		mustClaim(t, b, q, store.VerdictWon)
	}
	for slot := range int64(30) {
		claim(slot * 2)
	}
	var got []int64
	q := store.HistoryRequest{Job: "j", Limit: 7}
	for page := int64(0); ; page++ {
		a, err := b.History(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range a.Attempts {
			got = append(got, at.Slot-noon)
		}
		if a.Next == "" {
			break
		}
		q.Page = a.Next
		claim(1000 + page) // newer runs come in between
	}
	want := make([]int64, 30)
	for i := range want {
		want[i] = int64(58 - 2*i)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %d\nwant %d", got, want)
	}
	// A page beyond the size that is asked for now is empty.
	short := claimOf("j", noon+5000)
	short.HistorySize = 2
	mustClaim(t, b, short, store.VerdictWon)
	if a, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 5, Page: formatPage(noon + 20)}); err != nil || len(a.Attempts) != 0 || a.Next != "" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestTrimmer(t *testing.T) {
	var mu sync.Mutex
	var trims []trimJob
	fail := errors.New("no")
	hold := make(chan struct{})
	tr := newTrimmer(testEnv(t).Logger, func(_ context.Context, job string, size int) error {
		<-hold
		mu.Lock()
		defer mu.Unlock()
		trims = append(trims, trimJob{job, size})
		return fail // is tried again with a later grant
	})
	seen := func(want ...trimJob) {
		t.Helper()
		await(t, fmt.Sprint(want), 10*time.Second, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(trims, want)
		})
	}
	tr.granted("a", 5)
	for range 3 * slack(5) { // waits once, however often
		tr.granted("b", 5)
	}
	close(hold)
	seen(trimJob{"a", 5}, trimJob{"b", 5})
	for range slack(5) - 1 {
		tr.granted("a", 5)
	}
	seen(trimJob{"a", 5}, trimJob{"b", 5})
	tr.granted("a", 7)
	seen(trimJob{"a", 5}, trimJob{"b", 5}, trimJob{"a", 7})
	tr.close()
	tr.granted("c", 1) // after the end: no one takes it, and nothing blocks
}

// The longest names and a long history: what the server lists of them is more than
// a message may hold that a client sends.
func TestLongHistory(t *testing.T) {
	o := options(t)
	o["callTimeout"] = "30s"
	o["namespace"] = o["namespace"].(string) + strings.Repeat(".", 150)
	b := open(t, o)
	job := strings.Repeat("*", store.MaxNameBytes)
	const runs = 3000
	for from := int64(0); from < runs; from += 500 {
		var qs []store.ClaimRequest
		for slot := from; slot < from+500; slot++ {
			q := claimOf(job, noon+slot)
			q.HistorySize = store.MaxHistory
			qs = append(qs, q)
		}
		for i, r := range b.ClaimBatch(t.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				t.Fatalf("%d: %+v", i, r)
			}
		}
	}
	q := store.HistoryRequest{Job: job, Limit: store.MaxHistory}
	next := noon + int64(runs)
	for {
		a, err := b.History(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Attempts) > maxPage {
			t.Fatalf("a page of %d", len(a.Attempts))
		}
		for _, at := range a.Attempts {
			if next--; at.Slot != next {
				t.Fatalf("slot %d; want %d", at.Slot-noon, next-noon)
			}
		}
		if a.Next == "" {
			break
		}
		q.Page = a.Next
	}
	if next != noon {
		t.Errorf("%d runs are missing", next-noon)
	}
}
