package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/anarchon-go/anarchon/core/store"
)

// with adds parameters of the session to the settings' url.
func (s settings) with(t testing.TB, parameters map[string]string) settings {
	t.Helper()
	return s.withURL(t, func(u *url.URL) {
		q := u.Query()
		for k, v := range parameters {
			q.Set(k, v)
		}
		u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	})
}

// TestEnvironments: whatever the session's defaults are, every verb answers the
// same.
func TestEnvironments(t *testing.T) {
	for name, parameters := range map[string]map[string]string{
		"time zone with daylight saving": {"timezone": "America/New_York"},
		"time zone of a half hour":       {"timezone": "Asia/Kolkata", "datestyle": "German", "intervalstyle": "iso_8601"},
		"repeatable read":                {"default_transaction_isolation": "repeatable read"},
		"serializable":                   {"default_transaction_isolation": "serializable", "default_transaction_deferrable": "on"},
		"asynchronous commit":            {"synchronous_commit": "off"},
		"idle in transaction":            {"idle_in_transaction_session_timeout": "50"},
		"idle in serializable":           {"idle_in_transaction_session_timeout": "50", "default_transaction_isolation": "serializable"},
		"another encoding":               {"client_encoding": "LATIN1", "bytea_output": "escape"},
		"odd planner":                    {"enable_indexscan": "off", "plan_cache_mode": "force_generic_plan", "jit_above_cost": "0"},
		"odd syntax":                     {"search_path": "pg_catalog", "transform_null_equals": "on", "array_nulls": "off"},
		"no statement cache":             {"default_query_exec_mode": "exec"},
		"cached descriptions":            {"default_query_exec_mode": "cache_describe"},
		"exec mode, serializable":        {"default_query_exec_mode": "exec", "default_transaction_isolation": "serializable"},
	} {
		t.Run(name, func(t *testing.T) {
			set := testSettings(t)
			daily(t, open(t, set.with(t, parameters)), open(t, set))
			checkTables(newAdmin(t, set))
		})
	}
}

// daily is a job's day through two instances: every verb, most verdicts.
func daily(t *testing.T, b, other *Backend) {
	t.Helper()
	job, text := "é😀\x00j", "bad 😀\x00"
	now := time.Now().UnixMilli()
	q := claimOf(job, now)
	q.Instance, q.Fingerprint = "i\x00ñ", "f"
	won := mustClaim(t, b, q, store.VerdictWon)
	if d := time.Duration(won.Now-time.Now().UnixMilli()) * time.Millisecond; d.Abs() > 5*time.Second {
		t.Errorf("the store's clock is %v ahead of this machine's", d)
	}
	if again := mustClaim(t, b, q, store.VerdictWon); again.Token != won.Token {
		t.Errorf("asked again: %+v; want token %d", again, won.Token)
	}
	if r := mustClaim(t, other, claimOf(job, now), store.VerdictRunning); r.Holder != q.Instance || r.Fingerprint != "f" {
		t.Errorf("running: %+v", r)
	}
	mustClaim(t, b, claimOf(job, now+1), store.VerdictOverlap)
	mustClaim(t, b, claimOf("late", now-1e6), store.VerdictLate)
	mustClaim(t, b, claimOf("early", now+1e6), store.VerdictEarly)
	mustRenew(t, b, store.HeartbeatRequest{Job: job, Slot: now, Token: won.Token, Lease: time.Minute})
	u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: []string{"x", job}})
	if err != nil || len(u.Runs) != 1 || u.Runs[0].Job != job || u.Runs[0].Left > time.Minute || u.Runs[0].Left < 30*time.Second {
		t.Errorf("unfinished: %+v, %v", u, err)
	}
	end := store.FinishRequest{Job: job, Slot: now, Token: won.Token, Outcome: store.OutcomeReleased, Error: "bye"}
	mustFinish(t, b, end, true)
	mustFinish(t, b, end, true)
	next := claimOf(job, now)
	next.After, next.Reason = 1, store.ReasonTakeover
	second := mustClaim(t, other, next, store.VerdictWon)
	if second.Attempt != 2 || second.Token <= won.Token {
		t.Errorf("second attempt: %+v after %+v", second, won)
	}
	mustFinish(t, b, store.FinishRequest{Job: job, Slot: now, Token: second.Token, Outcome: store.OutcomeFailed, Error: text}, true)
	mustClaim(t, b, claimOf(job, now), store.VerdictFinished)
	mustClaim(t, b, claimOf(job, now-1), store.VerdictSuperseded)
	h := history(t, b, job)
	if len(h) != 2 || h[0].Status != store.StatusFailed || h[0].Error != store.CutError(text) || !h[1].HandedOver || h[1].Instance != q.Instance {
		t.Errorf("history %+v", h)
	}
}

// TestIsolation: also where transactions are serializable by default, claims of
// one run at once get their verdicts and no error.
func TestIsolation(t *testing.T) {
	for _, level := range []string{"serializable", "repeatable read"} {
		t.Run(level, func(t *testing.T) {
			set := testSettings(t)
			strict := set.with(t, map[string]string{"default_transaction_isolation": level})
			oneWinner(t, newAdmin(t, set), func() *Backend { return open(t, strict) }, 30)
		})
	}
}

// TestFunctionsRefuseIsolation: who calls them otherwise is refused, not
// answered wrongly.
func TestFunctionsRefuseIsolation(t *testing.T) {
	set := testSettings(t)
	open(t, set)
	a := newAdmin(t, set)
	_, err := a.pool.Exec(t.Context(), "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT begin_v1('n', '{j}', true)")
	if sqlState(err) != wrongIsolation {
		t.Errorf("got %v; want SQLSTATE %s", err, wrongIsolation)
	}
}

// TestTimeouts: a statement that the server cuts short surely did nothing, and
// the error says which setting it was.
func TestTimeouts(t *testing.T) {
	for _, setting := range []string{"statement_timeout", "lock_timeout"} {
		t.Run(setting, func(t *testing.T) {
			set := testSettings(t)
			b := open(t, set.with(t, map[string]string{setting: "2000"}))
			a := newAdmin(t, set)
			q := claimOf("j", time.Now().UnixMilli())
			mustClaim(t, b, claimOf("j", q.Slot-1), store.VerdictWon)
			tx, err := a.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(context.Background())
			if _, err := tx.Exec(t.Context(), "SELECT FROM job FOR UPDATE"); err != nil {
				t.Fatal(err)
			}
			q.Overlap = store.OverlapAllow
			if _, err = b.Claim(t.Context(), q); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), setting) {
				t.Errorf("got %v; want it surely not applied, and %s named", err, setting)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(history(t, b, "j")); n != 1 {
				t.Errorf("%d attempts after a claim that was cut; want 1", n)
			}
			mustClaim(t, b, q, store.VerdictOverlap)
		})
	}
}

// TestShortLivedConnections: connections that are replaced all the time cut no
// call.
func TestShortLivedConnections(t *testing.T) {
	set := testSettings(t)
	set.maxConnLifetime = 2 * time.Second
	b := open(t, set)
	begin := b.claims.pool.Stat().NewConnsCount()
	now := time.Now().UnixMilli()
	var wait sync.WaitGroup
	for worker := range 3 {
		wait.Go(func() {
			job := fmt.Sprint("j", worker)
			for slot := now; time.Since(time.UnixMilli(now)) < 5*time.Second; slot++ {
				a := mustClaim(t, b, raceClaim(job, slot), store.VerdictWon)
				mustFinish(t, b, store.FinishRequest{Job: job, Slot: slot, Token: a.Token, Outcome: store.OutcomeSuccess}, true)
			}
		})
	}
	wait.Wait()
	if n := b.claims.pool.Stat().NewConnsCount() - begin; n < 2 {
		t.Errorf("%d connections were made; the test proves nothing", n)
	}
}

// TestLongTransactionElsewhere: while somebody's transaction keeps the server
// from cleaning up, calls don't get slower and slower by what is left behind.
func TestLongTransactionElsewhere(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	tx, err := a.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM job"); err != nil {
		t.Fatal(err)
	}
	slot := time.Now().UnixMilli()
	runs := func(n int) {
		for range n {
			slot++
			q := raceClaim("j", slot)
			q.HistorySize = 3
			won := mustClaim(t, b, q, store.VerdictWon)
			mustRenew(t, b, store.HeartbeatRequest{Job: "j", Slot: slot, Token: won.Token, Lease: time.Minute})
			mustFinish(t, b, store.FinishRequest{Job: "j", Slot: slot, Token: won.Token, Outcome: store.OutcomeSuccess}, true)
		}
	}
	read := func() int {
		a.exec("SELECT pg_stat_clear_snapshot()")
		return get[int](a, `SELECT coalesce(sum(idx_tup_read), 0)::int FROM pg_stat_user_indexes
			WHERE schemaname = current_schema() AND relname = 'attempt'`)
	}
	const n = 150
	runs(n) // what these leave behind
	flushStats(t, a, b)
	before := read()
	runs(n)
	flushStats(t, a, b)
	if per := float64(read()-before) / n; per > 40 {
		t.Errorf("a run reads %.0f index entries after %d runs that could not be cleaned up; want few", per, n)
	} else {
		t.Logf("%.1f index entries per run", per)
	}
}

// flushStats makes the server processes of all tell their statistics: they do at
// their end.
func flushStats(t testing.TB, a *admin, b *Backend) {
	t.Helper()
	pools := []*pgxpool.Pool{b.claims.pool, b.renewals.pool, a.pool}
	var pids []uint32
	for _, pool := range pools {
		for _, c := range pool.AcquireAllIdle(t.Context()) {
			pids = append(pids, c.Conn().PgConn().PID())
			c.Release()
		}
		pool.Reset()
	}
	await(t, "the end of server processes", func() bool {
		return get[int](a, "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ($1)", pids) == 0
	})
}
