package postgresstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func claims(n int, slot int64) []store.ClaimRequest {
	var qs []store.ClaimRequest
	for i := range n {
		qs = append(qs, claimOf(fmt.Sprint("j", i), slot))
	}
	return qs
}

// TestBadItem: an item that the database refuses, in its step or at the end of
// the transaction, leaves nothing and fails nobody else.
func TestBadItem(t *testing.T) {
	for when, trigger := range map[string]string{
		"in its step":   "CREATE TRIGGER bad BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION disturb()",
		"at the commit": "CREATE CONSTRAINT TRIGGER bad AFTER INSERT ON attempt DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION disturb()",
	} {
		t.Run(when, func(t *testing.T) {
			set := testSettings(t)
			b := open(t, set)
			a := newAdmin(t, set)
			a.exec(`CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					IF (SELECT name FROM job WHERE id = NEW.job) = 'j2' THEN
						RAISE EXCEPTION 'disturbed';
					END IF;
					RETURN NEW;
				END $$`)
			a.exec("ALTER FUNCTION disturb SET search_path = " + quoteName(set.schema))
			a.exec(trigger)
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
			if n := get[int](a, "SELECT count(*) FROM attempt"); n != 4 {
				t.Errorf("%d attempts are kept; want 4", n)
			}
			a.exec("DROP TRIGGER bad ON attempt")
			mustClaim(t, b, qs[2], store.VerdictWon)
			checkTables(a)
		})
	}
}

// TestEmptyBatch: no items, no answers, no error.
func TestEmptyBatch(t *testing.T) {
	b := open(t, testSettings(t))
	if r := b.ClaimBatch(t.Context(), nil); len(r) != 0 {
		t.Errorf("got %v", r)
	}
}

// TestLargeBatch: the most that a call carries.
func TestLargeBatch(t *testing.T) {
	b := open(t, testSettings(t))
	now := time.Now().UnixMilli()
	qs := claims(1024, now)
	var beats []store.HeartbeatRequest
	var ends []store.FinishRequest
	for i, r := range b.ClaimBatch(t.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
			t.Fatalf("item %d: %+v, %v", i, r.Answer, r.Err)
		}
		beats = append(beats, store.HeartbeatRequest{Job: qs[i].Job, Slot: now, Token: r.Answer.Token, Lease: time.Minute})
		ends = append(ends, store.FinishRequest{Job: qs[i].Job, Slot: now, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
	}
	for i, r := range b.HeartbeatBatch(t.Context(), beats) {
		if r.Err != nil || !r.Answer.Renewed {
			t.Fatalf("heartbeat %d: %+v, %v", i, r.Answer, r.Err)
		}
	}
	if u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{}); err != nil || len(u.Runs) != len(qs) {
		t.Errorf("%d unfinished runs, %v; want %d", len(u.Runs), err, len(qs))
	}
	for i, r := range b.FinishBatch(t.Context(), ends) {
		if r.Err != nil || !r.Answer.Recorded {
			t.Fatalf("finish %d: %+v, %v", i, r.Answer, r.Err)
		}
	}
}

// TestOneRoundTrip: a call goes to the server and back once, whatever the size of
// its batch, also where the transaction must be begun and committed explicitly.
func TestOneRoundTrip(t *testing.T) {
	for _, level := range []string{"read committed", "serializable"} {
		t.Run(level, func(t *testing.T) {
			through, p := newProxy(t, testSettings(t).with(t, map[string]string{"default_transaction_isolation": level}))
			through.poolSize, through.heartbeatPoolSize = 1, 1
			b := open(t, through)
			slot := time.Now().UnixMilli()
			all := func(size int) {
				slot++
				runOfAll(t, b, size, slot, 3, func(do func()) { do() })
			}
			for _, size := range []int{1, 30} {
				// A pool asks connections that were idle for a second whether they live:
				// that must not count.
				await(t, "two runs within a second", func() bool {
					begin := time.Now()
					all(size) // connects and prepares
					before := p.trips.Load()
					all(size)
					got := p.trips.Load() - before
					quick := time.Since(begin) < time.Second
					if quick && got != 4 {
						t.Errorf("batches of %d: four calls took %d round trips", size, got)
					}
					return quick
				})
			}
		})
	}
}

// TestSameJobInBatch: a later item sees what an earlier one did.
func TestSameJobInBatch(t *testing.T) {
	b := open(t, testSettings(t))
	now := time.Now().UnixMilli()
	q, other := claimOf("j", now), claimOf("j", now)
	r := b.ClaimBatch(t.Context(), []store.ClaimRequest{q, q, other})
	if r[0].Answer.Verdict != store.VerdictWon || r[1].Answer.Token != r[0].Answer.Token || r[2].Answer.Verdict != store.VerdictRunning {
		t.Errorf("got %+v", r)
	}
	end := store.FinishRequest{Job: "j", Slot: now, Token: r[0].Answer.Token, Outcome: store.OutcomeFailed, Error: "x"}
	again, late := end, end
	again.Error, late.Outcome = "y", store.OutcomeSuccess
	f := b.FinishBatch(t.Context(), []store.FinishRequest{end, again, late})
	if !f[0].Answer.Recorded || !f[1].Answer.Recorded || f[2].Answer.Recorded {
		t.Errorf("got %+v", f)
	}
	if h := history(t, b, "j"); len(h) != 1 || h[0].Error != "x" {
		t.Errorf("history %+v; want the first finish's error", h)
	}
}

// TestOwnNow: each item is judged by a now of its own.
func TestOwnNow(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	a.exec(`CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END $$`)
	a.exec("CREATE TRIGGER slow BEFORE INSERT ON attempt FOR EACH ROW EXECUTE FUNCTION dawdle()")
	last := int64(0)
	for i, r := range b.ClaimBatch(t.Context(), claims(5, time.Now().UnixMilli())) {
		if r.Err != nil || i > 0 && r.Answer.Now < last+20 {
			t.Errorf("item %d was judged at %d, the one before at %d; want 20 ms between (%v)", i, r.Answer.Now, last, r.Err)
		}
		last = r.Answer.Now
	}
}

// TestClockAfterLock: a claim that waits for the job's lock is judged by the
// time at which it got it: a lease that ends meanwhile is over.
func TestClockAfterLock(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	q := claimOf("j", time.Now().UnixMilli())
	q.Lease = 300 * time.Millisecond
	mustClaim(t, b, q, store.VerdictWon)
	tx, err := a.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "SELECT FROM job FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	next := claimOf("j", q.Slot)
	next.After = 1
	answer := make(chan store.Result[store.ClaimAnswer], 1)
	go func() {
		a, err := b.Claim(t.Context(), next)
		answer <- store.Result[store.ClaimAnswer]{Answer: a, Err: err}
	}()
	awaitBlocked(a, 1)
	time.Sleep(q.Lease) // the lease is over when the lock is free
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-answer; r.Err != nil || r.Answer.Verdict != store.VerdictWon || r.Answer.Attempt != 2 {
		t.Errorf("got %+v, %v; want attempt 2", r.Answer, r.Err)
	}
}

// awaitBlocked waits until so many of the plugins' statements in the schema wait
// for a lock.
func awaitBlocked(a *admin, n int) {
	a.t.Helper()
	await(a.t, fmt.Sprint(n, " statements that wait for a lock"), func() bool { return len(blocked(a)) == n })
}

// blocked are the server processes that run a statement on the admin's schema
// and wait for a lock.
func blocked(a *admin) []int {
	a.t.Helper()
	return get[[]int](a, `SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity
		WHERE application_name <> 'admin' AND wait_event_type = 'Lock' AND query LIKE '%' || current_schema() || '%'`)
}
