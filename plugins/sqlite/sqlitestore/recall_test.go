//go:build cgo

package sqlitestore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestHistoryPagesUnderWrites: pages read while runs come go on where the page
// before ended: no attempt twice, none left out that was there at the beginning
// and still is.
func TestHistoryPagesUnderWrites(t *testing.T) {
	set := testSettings(t)
	c := newClock(t, set.path, noon)
	b := open(t, set, c.use)
	run := func() {
		t.Helper()
		c.add(time.Second)
		q := claimOf("j", c.now)
		q.HistorySize = 30
		a := mustClaim(t, b, q, store.VerdictWon)
		mustFinish(t, b, store.FinishRequest{Job: "j", Slot: q.Slot, Token: a.Token, Outcome: store.OutcomeSuccess}, true)
	}
	for range 30 {
		run()
	}
	before := history(t, b, "j")
	var got []store.Attempt
	q := store.HistoryRequest{Job: "j", Limit: 7}
	for {
		page, err := b.History(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Attempts...)
		if page.Next == "" {
			break
		}
		q.Page = page.Next
		run()
	}
	if !slices.IsSortedFunc(got, func(a, b store.Attempt) int { return int(b.Slot - a.Slot) }) {
		t.Error("not newest first")
	}
	// What the runs in between trimmed is gone; the rest must be there, once.
	still := history(t, b, "j")
	want := slices.DeleteFunc(before, func(a store.Attempt) bool { return a.Slot < still[len(still)-1].Slot })
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("read %d attempts; want the %d that were there all the time", len(got), len(want))
	}
}

// TestHistorySizes: the largest history and the largest page, and a size that
// shrinks.
func TestHistorySizes(t *testing.T) {
	set := testSettings(t)
	c := newClock(t, set.path, noon)
	b := open(t, set, c.use)
	size := store.MaxHistory
	if testing.Short() {
		size = 500
	}
	runs := size + 50
	claim := func(from, n, size int) {
		t.Helper()
		var qs []store.ClaimRequest
		for i := range n {
			q := claimOf("j", noon+int64(from+i))
			q.MaxEarly, q.HistorySize, q.Overlap, q.Lease = time.Hour, size, store.OverlapAllow, time.Millisecond
			qs = append(qs, q)
		}
		var fs []store.FinishRequest
		for i, r := range b.ClaimBatch(t.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				t.Fatalf("%d: %+v", from+i, r)
			}
			fs = append(fs, store.FinishRequest{Job: "j", Slot: qs[i].Slot, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
		}
		for _, r := range b.FinishBatch(t.Context(), fs) {
			if r.Err != nil || !r.Answer.Recorded {
				t.Fatalf("%+v", r)
			}
		}
	}
	for i := 0; i < runs; i += 50 { // few unfinished at a time: each claim looks at all of them
		claim(i, 50, size)
	}
	h := history(t, b, "j")
	if len(h) != size || h[0].Slot != noon+int64(runs)-1 || h[len(h)-1].Slot != noon+int64(runs-size) {
		t.Errorf("%d attempts; want the newest %d", len(h), size)
	}
	claim(runs, 1, 2)
	if h := history(t, b, "j"); len(h) != 2 || h[0].Slot != noon+int64(runs) {
		t.Errorf("after a claim that asked for 2: %d attempts", len(h))
	}
	checkFile(t, c.db)
}

// TestUnfinishedByName: asked for some of many jobs, those and no others.
func TestUnfinishedByName(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	set.namespace = "other"
	other := open(t, set)
	now := time.Now().UnixMilli()
	for i, r := range b.ClaimBatch(t.Context(), claims(3000, now)) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			t.Fatalf("%d: %+v", i, r)
		}
	}
	var names []string
	for i := range 2000 {
		names = append(names, fmt.Sprint("j", 2*i)) // half of them exist
	}
	rand.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: append(names, names[:10]...)})
	if err != nil || len(u.Runs) != 1500 {
		t.Errorf("%d runs, %v; want 1500", len(u.Runs), err)
	}
	if !slices.IsSortedFunc(u.Runs, func(a, b store.UnfinishedRun) int { return strings.Compare(a.Job, b.Job) }) {
		t.Error("not by job")
	}
	if u, err := other.Unfinished(t.Context(), store.UnfinishedRequest{}); err != nil || len(u.Runs) != 0 || u.Now == 0 {
		t.Errorf("another namespace: %+v, %v", u, err)
	}
	mustClaim(t, other, claimOf("j0", now), store.VerdictWon)
}

// TestRecallIsInvalid: bad requests name the field.
func TestRecallIsInvalid(t *testing.T) {
	b := open(t, testSettings(t))
	for field, ask := range map[string]func() error{
		"job": func() error {
			_, err := b.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: []string{"a", ""}})
			return err
		},
		"limit": func() error { _, err := b.History(t.Context(), store.HistoryRequest{Job: "j"}); return err },
		"page": func() error {
			_, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1, Page: "1.1; DROP TABLE anarchon_job"})
			return err
		},
	} {
		var invalid *store.InvalidError
		if err := ask(); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// TestRecallBesideLock: recalls don't wait for a write transaction.
func TestRecallBesideLock(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	mustClaim(t, b, claimOf("j", time.Now().UnixMilli()), store.VerdictWon)
	db := raw(t, set.path)
	mustExec(t, db, "BEGIN IMMEDIATE")
	begin := time.Now()
	u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{})
	if err != nil || len(u.Runs) != 1 || len(history(t, b, "j")) != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	if took := time.Since(begin); took >= set.busy {
		t.Errorf("took %v", took)
	}
}

// TestLongReader: a program that reads for long delays no writer, and the log
// that grows behind it shrinks to its bound afterwards.
func TestLongReader(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	now := time.Now().UnixMilli()
	slot := now
	round := func() {
		t.Helper()
		slot++
		for i, r := range b.ClaimBatch(t.Context(), spread(slot)) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				t.Fatalf("job %d: %+v", i, r)
			}
		}
	}
	round()
	reader := raw(t, set.path)
	mustExec(t, reader, "BEGIN")
	n := query[int](t, reader, "SELECT count(*) FROM anarchon_attempt")
	wal := func() int64 { t.Helper(); return fileSize(t, set.path+"-wal") }
	for i := 0; wal() <= 2*walLimit; i++ {
		if i == 2000 {
			t.Fatalf("the log has %d bytes only", wal())
		}
		round()
	}
	if m := query[int](t, reader, "SELECT count(*) FROM anarchon_attempt"); m != n {
		t.Errorf("the reader saw %d attempts, then %d", n, m)
	}
	mustExec(t, reader, "COMMIT")
	round() // its commit copies the log into the file
	round() // the next begins the log anew
	if size := wal(); size > walLimit {
		t.Errorf("the log has %d bytes; want at most %d", size, walLimit)
	}
}

// spread claims many jobs, whose rows lie on many pages.
func spread(slot int64) []store.ClaimRequest {
	var qs []store.ClaimRequest
	for i := range 64 {
		q := claimOf(fmt.Sprint(i, strings.Repeat("-", 150)), slot)
		q.MaxEarly, q.Lease, q.Overlap = time.Hour, time.Millisecond, store.OverlapAllow
		qs = append(qs, q)
	}
	return qs
}

// TestClock: now is the host's clock in milliseconds.
func TestClock(t *testing.T) {
	b := open(t, testSettings(t))
	last := int64(0)
	for range 50 {
		low := time.Now().UnixMilli()
		a, err := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "j", Token: 1, Lease: time.Second})
		high := time.Now().UnixMilli()
		if err != nil || a.Now < low || a.Now > high || a.Now < last {
			t.Fatalf("%+v, %v; want a now from %d to %d, not before %d", a, err, low, high, last)
		}
		last = a.Now
	}
}

// TestClockIsExact: no millisecond is lost on the way through SQLite's float.
func TestClockIsExact(t *testing.T) {
	db := raw(t, testSettings(t).path)
	expr := strings.Replace(storeNow, "'subsec'", "?, 'subsec'", 1)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		want := r.Int64N(store.MaxSlot)
		text := store.Time(want).Format("2006-01-02 15:04:05.000")
		if got := query[int64](t, db, "SELECT "+expr, text); got != want {
			t.Fatalf("%s is %d; want %d", text, got, want)
		}
	}
}

// TestParametersAreCast: see sqlFiles for why.
func TestParametersAreCast(t *testing.T) {
	files, err := sqlFiles.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`(?i)(=|<|>|\bLIMIT|\bIN|\bLIKE)\s*\(?\s*\?\d`)
	for _, f := range files {
		text := sqlText(strings.TrimSuffix(f.Name(), ".sql"), "0")
		if i := strings.Index(text, "WHERE"); i >= 0 {
			if m := bare.FindString(text[i:]); m != "" {
				t.Errorf("%s compares with a bare parameter: %q", f.Name(), m)
			}
		}
		if strings.Contains(text, "JOIN") && bare.MatchString(text) {
			t.Errorf("%s joins by a bare parameter", f.Name())
		}
	}
}
