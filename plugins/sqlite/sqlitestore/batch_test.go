//go:build cgo

package sqlitestore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/anarchon-go/anarchon/core/store"
)

func claims(n int, slot int64) []store.ClaimRequest {
	var qs []store.ClaimRequest
	for i := range n {
		qs = append(qs, claimOf(fmt.Sprint("j", i), slot))
	}
	return qs
}

// TestBadItem: an item that fails half way through its writes leaves nothing
// and fails nobody else.
func TestBadItem(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	db := raw(t, set.path)
	mustExec(t, db, `CREATE TRIGGER bad BEFORE INSERT ON anarchon_attempt
		WHEN (SELECT name FROM anarchon_job WHERE id = NEW.job) = CAST('j2' AS BLOB)
		BEGIN SELECT RAISE(ABORT, 'disturbed'); END`)
	qs := claims(6, time.Now().UnixMilli())
	qs[4].Lease = -1
	want := map[int]error{2: store.ErrNotApplied, 4: store.ErrInvalid}
	for i, r := range b.ClaimBatch(t.Context(), qs) {
		if e := want[i]; !errors.Is(r.Err, e) || e == nil && r.Answer.Verdict != store.VerdictWon {
			t.Errorf("item %d: %+v, %v; want %v", i, r.Answer, r.Err, e)
		}
		if i == 2 && !strings.Contains(r.Err.Error(), "disturbed") {
			t.Errorf("item 2: %v does not say what went wrong", r.Err)
		}
	}
	if n := query[int](t, db, "SELECT count(*) FROM anarchon_job"); n != 4 {
		t.Errorf("%d jobs are kept; want 4: the disturbed one's row was written before it failed", n)
	}
	mustExec(t, db, "DROP TRIGGER bad")
	mustClaim(t, b, qs[2], store.VerdictWon)
}

// TestBadRow: a row that no version writes concerns its job only.
func TestBadRow(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	now := time.Now().UnixMilli()
	b.ClaimBatch(t.Context(), claims(3, now))
	db := raw(t, set.path)
	for _, damage := range []string{
		"status = 'dreaming'", "overlap = ''", "claim = x'00'", "unfinished = 1, status = 'success'", "lease = 0",
	} {
		mustExec(t, db, "UPDATE anarchon_attempt SET "+damage+" WHERE job = 2")
		for i, r := range b.ClaimBatch(t.Context(), claims(3, now+1)) {
			if bad := i == 1; bad != errors.Is(r.Err, store.ErrNotApplied) || bad && !strings.Contains(r.Err.Error(), "none of this plugin's") {
				t.Errorf("%s: item %d: %+v, %v", damage, i, r.Answer, r.Err)
			}
		}
		mustExec(t, db, "UPDATE anarchon_attempt SET status = 'running', overlap = 'skip', claim = randomblob(16), unfinished = 1, lease = 30000 WHERE job = 2")
	}
}

// TestLostTransaction: when SQLite itself gives the transaction up, nothing of
// the batch is there and all of it may be asked again.
func TestLostTransaction(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	db := raw(t, set.path)
	mustExec(t, db, `CREATE TRIGGER bad BEFORE INSERT ON anarchon_attempt
		WHEN (SELECT name FROM anarchon_job WHERE id = NEW.job) = CAST('j2' AS BLOB)
		BEGIN SELECT RAISE(ROLLBACK, 'gone'); END`)
	qs := claims(4, time.Now().UnixMilli())
	qs[0].MaxAttempts = 0 // its own answer stays
	for i, r := range b.ClaimBatch(t.Context(), qs) {
		want := store.ErrNotApplied
		if i == 0 {
			want = store.ErrInvalid
		}
		if !errors.Is(r.Err, want) || r.Answer != (store.ClaimAnswer{}) {
			t.Errorf("item %d: %+v, %v; want %v", i, r.Answer, r.Err, want)
		}
	}
	if n := query[int](t, db, "SELECT count(*) FROM anarchon_job"); n != 0 {
		t.Errorf("%d jobs are kept; want none", n)
	}
	mustExec(t, db, "DROP TRIGGER bad")
	for i, r := range b.ClaimBatch(t.Context(), qs[1:]) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			t.Errorf("asked again: item %d: %+v, %v", i, r.Answer, r.Err)
		}
	}
}

// TestCommitFails: a failed COMMIT is unknown for every item that has no error
// of its own, and the same claim ids ask again.
func TestCommitFails(t *testing.T) {
	b := open(t, testSettings(t))
	var refuse atomic.Int32
	err := b.write.conn.Raw(func(c any) error {
		c.(*sqlite3.SQLiteConn).RegisterCommitHook(func() int { return int(refuse.Load()) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	qs := claims(3, time.Now().UnixMilli())
	qs[1].Slot = store.MaxSlot + 1
	refuse.Store(1)
	for i, r := range b.ClaimBatch(t.Context(), qs) {
		want := store.ErrUnknown
		if i == 1 {
			want = store.ErrInvalid
		}
		if !errors.Is(r.Err, want) || r.Answer != (store.ClaimAnswer{}) {
			t.Errorf("item %d: %+v, %v; want %v", i, r.Answer, r.Err, want)
		}
	}
	refuse.Store(0)
	mustClaim(t, b, qs[0], store.VerdictWon)
	mustClaim(t, b, qs[0], store.VerdictWon)
	mustClaim(t, b, qs[2], store.VerdictWon)
}

// TestBatchesAtOnce: batches of one process that meet are judged one after the
// other.
func TestBatchesAtOnce(t *testing.T) {
	b := open(t, testSettings(t))
	now := time.Now().UnixMilli()
	var wins [20]atomic.Int32
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for i, r := range b.ClaimBatch(t.Context(), claims(len(wins), now)) {
				switch {
				case r.Err != nil:
					t.Error(r.Err)
				case r.Answer.Verdict == store.VerdictWon:
					wins[i].Add(1)
				case r.Answer.Verdict != store.VerdictRunning:
					t.Errorf("job %d: %+v", i, r.Answer)
				}
			}
		})
	}
	wait.Wait()
	for i := range wins {
		if n := wins[i].Load(); n != 1 {
			t.Errorf("job %d was won %d times", i, n)
		}
	}
}

// TestEmptyBatch: no items, no answers, no error.
func TestEmptyBatch(t *testing.T) {
	b := open(t, testSettings(t))
	if r := b.ClaimBatch(t.Context(), nil); len(r) != 0 {
		t.Errorf("got %v", r)
	}
}

// TestSameJobInBatch: a later item sees what an earlier one did.
func TestSameJobInBatch(t *testing.T) {
	b := open(t, testSettings(t))
	now := time.Now().UnixMilli()
	q := claimOf("j", now)
	other := claimOf("j", now)
	r := b.ClaimBatch(t.Context(), []store.ClaimRequest{q, q, other})
	if r[0].Answer.Verdict != store.VerdictWon || r[1].Answer.Token != r[0].Answer.Token || r[2].Answer.Verdict != store.VerdictRunning {
		t.Errorf("got %+v", r)
	}
	token := r[0].Answer.Token
	f := b.FinishBatch(t.Context(), []store.FinishRequest{
		{Job: "j", Slot: now, Token: token, Outcome: store.OutcomeFailed, Error: "x"},
		{Job: "j", Slot: now, Token: token, Outcome: store.OutcomeFailed, Error: "y"},
		{Job: "j", Slot: now, Token: token, Outcome: store.OutcomeSuccess},
	})
	if !f[0].Answer.Recorded || !f[1].Answer.Recorded || f[2].Answer.Recorded {
		t.Errorf("got %+v", f)
	}
	if h := history(t, b, "j"); len(h) != 1 || h[0].Error != "x" {
		t.Errorf("history %+v; want the first finish's error", h)
	}
}
