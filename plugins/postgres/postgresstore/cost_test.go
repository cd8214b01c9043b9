package postgresstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestCost measures what each verb writes to the write-ahead log, which is what
// replication and archiving carry, and what a kept attempt takes on the disk. The
// bounds are about twice of what was measured; docs/postgres.md has the figures.
func TestCost(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	const history = 10
	per := func(table string) int {
		return get[int](a, fmt.Sprintf("SELECT pg_total_relation_size('%[1]s') / (SELECT count(*) FROM %[1]s)", table))
	}
	for _, size := range []int{64, 1} {
		slot := time.Now().UnixMilli()
		var wal [4][]int // of claims, refused claims, heartbeats, finishes: bytes per item, in each round
		for round := range 2 * history {
			slot++
			verb := 0
			step := func(do func()) {
				before := get[string](a, "SELECT pg_current_wal_insert_lsn()::text")
				do()
				n := get[int](a, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::int", before)
				if round >= history { // histories are full
					wal[verb] = append(wal[verb], n/size)
				}
				verb++
			}
			runOfAll(t, b, size, slot, history, step)
			if size > 1 && round == history-1 {
				t.Logf("an attempt takes %d bytes with its indexes while the table grows", per("attempt"))
			}
		}
		// The least of the rounds: the server's own writes (first changes of a page
		// after a checkpoint, cleaning) come on top in some of them.
		for verb, c := range []struct {
			name string
			most int
		}{{"claim", 1300}, {"refused claim", 200}, {"heartbeat", 800}, {"finish", 900}} {
			least, typical := leastAndMedian(wal[verb])
			t.Logf("batch of %d: a %s writes %d bytes of log (median %d)", size, c.name, least, typical)
			if size > 1 && least > c.most {
				t.Errorf("a %s in a batch of %d writes %d bytes of log; want at most %d", c.name, size, least, c.most)
			}
		}
	}
	a.exec("VACUUM ANALYZE attempt")
	t.Logf("an attempt takes %d bytes with its indexes after as many were trimmed as are kept", per("attempt"))
	if n := per("attempt"); n > 2500 {
		t.Errorf("an attempt takes %d bytes with its indexes; want at most 2500", n)
	}
}

// runOfAll claims, claims in vain, renews and finishes a run of each of so many
// jobs, as four batches.
func runOfAll(t *testing.T, b *Backend, jobs int, slot int64, history int, step func(do func())) {
	t.Helper()
	qs := claims(jobs, slot)
	var beats []store.HeartbeatRequest
	var ends []store.FinishRequest
	for i := range qs {
		qs[i].Job = fmt.Sprintf("reports/customer-%d", i)
		qs[i].Instance, qs[i].Fingerprint = "billing-7d4b9c6f5-x2x9q/1/3f9a", "fingerprint"
		qs[i].HistorySize, qs[i].MaxEarly = history, store.MaxBound
	}
	step(func() {
		for i, r := range b.ClaimBatch(t.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				t.Fatalf("%+v, %v", r.Answer, r.Err)
			}
			beats = append(beats, store.HeartbeatRequest{Job: qs[i].Job, Slot: slot, Token: r.Answer.Token, Lease: time.Minute})
			ends = append(ends, store.FinishRequest{Job: qs[i].Job, Slot: slot, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
		}
	})
	for i := range qs {
		qs[i].ID, qs[i].Instance = store.NewClaimID(), "another"
	}
	step(func() {
		for _, r := range b.ClaimBatch(t.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictRunning {
				t.Fatalf("%+v, %v", r.Answer, r.Err)
			}
		}
	})
	step(func() {
		for _, r := range b.HeartbeatBatch(t.Context(), beats) {
			if r.Err != nil || !r.Answer.Renewed {
				t.Fatalf("%+v, %v", r.Answer, r.Err)
			}
		}
	})
	step(func() {
		for _, r := range b.FinishBatch(t.Context(), ends) {
			if r.Err != nil || !r.Answer.Recorded {
				t.Fatalf("%+v, %v", r.Answer, r.Err)
			}
		}
	})
}

func leastAndMedian(v []int) (least, median int) {
	s := slices.Sorted(slices.Values(v))
	return s[0], s[len(s)/2]
}
