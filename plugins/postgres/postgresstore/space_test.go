package postgresstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestHeartbeatsStayInTheirPage: an update of a lease touches no index (HOT),
// and the table does not grow by it.
func TestHeartbeatsStayInTheirPage(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	const jobs, rounds = 300, 30
	now := time.Now().UnixMilli()
	var beats []store.HeartbeatRequest
	for i, r := range b.ClaimBatch(t.Context(), claims(jobs, now)) {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		beats = append(beats, store.HeartbeatRequest{Job: fmt.Sprint("j", i), Slot: now, Token: r.Answer.Token, Lease: time.Minute})
	}
	size := func() int { return get[int](a, "SELECT pg_relation_size('attempt')") }
	before := size()
	for round := range rounds {
		for i := range beats {
			beats[i].Lease += time.Second
		}
		// As an instance does: now all in one call, now in small ones.
		for chunk := range slices.Chunk(beats, []int{jobs, 25}[round%2]) {
			for _, r := range b.HeartbeatBatch(t.Context(), chunk) {
				if r.Err != nil || !r.Answer.Renewed {
					t.Fatalf("%+v, %v", r.Answer, r.Err)
				}
			}
		}
	}
	flushStats(t, a, b)
	updates := get[int](a, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = 'attempt'::regclass")
	hot := get[int](a, "SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'attempt'::regclass")
	if updates != jobs*rounds {
		t.Fatalf("%d updates are counted; want %d", updates, jobs*rounds)
	}
	if share := float64(hot) / float64(updates); share < 0.95 {
		t.Errorf("%.1f %% of the updates stayed in their page; want 95 %%", 100*share)
	} else {
		t.Logf("%.1f %% of the updates stayed in their page; the table grew from %d to %d bytes", 100*share, before, size())
	}
	if after := size(); after > 3*before {
		t.Errorf("the table grew from %d to %d bytes", before, after)
	}
}

// TestRetention: a job's history takes as many rows as were asked for, and with
// the server's usual cleaning the tables stop growing.
func TestRetention(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	const jobs, history, rounds = 50, 3, 20
	slot := time.Now().UnixMilli()
	run := func() {
		for range rounds {
			slot++
			qs := claims(jobs, slot)
			for i := range qs {
				qs[i].Overlap, qs[i].HistorySize, qs[i].MaxEarly = store.OverlapAllow, history, store.MaxBound
			}
			var ends []store.FinishRequest
			for i, r := range b.ClaimBatch(t.Context(), qs) {
				if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
					t.Fatalf("%+v, %v", r.Answer, r.Err)
				}
				ends = append(ends, store.FinishRequest{Job: qs[i].Job, Slot: slot, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
			}
			for _, r := range b.FinishBatch(t.Context(), ends) {
				if r.Err != nil || !r.Answer.Recorded {
					t.Fatalf("%+v, %v", r.Answer, r.Err)
				}
			}
		}
		a.exec("VACUUM ANALYZE job")
		a.exec("VACUUM ANALYZE attempt")
	}
	run()
	run()
	size := func() int {
		return get[int](a, "SELECT pg_total_relation_size('attempt') + pg_total_relation_size('job')")
	}
	before := size()
	for range 3 {
		run()
	}
	if n := get[int](a, "SELECT count(*) FROM attempt"); n != jobs*history {
		t.Errorf("%d attempts are kept; want %d", n, jobs*history)
	}
	if after := size(); after > before*3/2 {
		t.Errorf("the tables grew from %d to %d bytes", before, after)
	}
	checkTables(a)
}

// TestTrimIsBounded: what a much smaller history leaves is dropped by several
// calls, so that none takes long.
func TestTrimIsBounded(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	slot := time.Now().UnixMilli()
	q := claimOf("j", slot)
	q.HistorySize = store.MaxHistory
	won := mustClaim(t, b, q, store.VerdictWon)
	mustFinish(t, b, store.FinishRequest{Job: "j", Slot: slot, Token: won.Token, Outcome: store.OutcomeSuccess}, true)
	const more = 2500
	a.exec(`INSERT INTO attempt SELECT job, slot - g, token - g, lease, lease_end, started_at, ended_at, attempt, max_attempts,
		counted, unfinished, handed_over, reason, overlap, status, claim, instance, error FROM attempt, generate_series(1, $1::int) g`, more)
	a.exec("UPDATE job SET ended = ended + $1, oldest = oldest - $1", more)
	checkTables(a)
	for _, want := range []int{more + 1 - 1000, more + 1 - 2000, 2, 2} {
		q := claimOf("j", slot) // refused, and judged
		q.HistorySize = 2
		mustClaim(t, b, q, store.VerdictFinished)
		if n := len(history(t, b, "j")); n != want {
			t.Errorf("%d attempts are left; want %d", n, want)
		}
		checkTables(a)
	}
}

// TestNoTableIsWalked: with many jobs and long histories, and without any
// statistics of the tables, no call reads more than what it is about.
func TestNoTableIsWalked(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	for _, table := range []string{"job", "attempt"} {
		a.exec("ALTER TABLE " + table + " SET (autovacuum_enabled = off)")
	}
	daily(t, b, b) // plans are made for tables that are almost empty
	for range 8 {  // and kept
		daily2(t, b)
	}
	// Many others, of which no call is.
	a.exec(`INSERT INTO job (namespace, name, newest, last_token, history, ended, oldest)
		SELECT 'default', convert_to('job ' || g, 'UTF8'), 40, 40, 100, 40, 1 FROM generate_series(1, 1000) g`)
	a.exec(`INSERT INTO attempt SELECT j.id, s, s, 1000, 1000, 1, 2, 1, 3, 1, false, false, 'scheduled', 'skip', 'success', decode(repeat('00', 16), 'hex'), 'i', ''
		FROM job j, generate_series(1, 40) s WHERE name LIKE 'job %'::bytea`)
	flushStats(t, a, b)
	read := func(what string) int {
		return get[int](a, "SELECT coalesce(sum("+what+"), 0)::int FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname IN ('job', 'attempt')")
	}
	index := func() int {
		return get[int](a, "SELECT coalesce(sum(idx_tup_read), 0)::int FROM pg_stat_user_indexes WHERE schemaname = current_schema()")
	}
	scans, entries := read("seq_tup_read"), index()
	const n = 20
	for range n {
		daily2(t, b)
	}
	flushStats(t, a, b)
	if got := read("seq_tup_read") - scans; got != 0 {
		t.Errorf("%d rows were read in walks through whole tables", got)
	}
	if got := (index() - entries) / n; got > 400 {
		t.Errorf("%d index entries were read per day of a job; want few", got)
	}
}

// daily2 is a short day of a job of its own: two runs, each verb twice.
func daily2(t *testing.T, b *Backend) {
	t.Helper()
	job := "day " + store.NewClaimID().String()
	now := time.Now().UnixMilli()
	for slot := now; slot < now+2; slot++ {
		won := mustClaim(t, b, raceClaim(job, slot), store.VerdictWon)
		mustClaim(t, b, raceClaim(job, slot), store.VerdictRunning)
		mustRenew(t, b, store.HeartbeatRequest{Job: job, Slot: slot, Token: won.Token, Lease: time.Minute})
		for _, jobs := range [][]string{nil, {job}} {
			if u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: jobs}); err != nil || len(u.Runs) != 1 {
				t.Fatalf("%d unfinished runs, %v; want this one", len(u.Runs), err)
			}
		}
		mustFinish(t, b, store.FinishRequest{Job: job, Slot: slot, Token: won.Token, Outcome: store.OutcomeSuccess}, true)
		if h := history(t, b, job); len(h) != int(slot-now)+1 {
			t.Fatalf("%d attempts", len(h))
		}
	}
}
