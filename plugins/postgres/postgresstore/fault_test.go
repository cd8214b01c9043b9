package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
)

// insist asks for a run with the same claim id until it is answered. A pool may
// hold connections of a server that is gone: each costs an unknown answer.
func insist(t testing.TB, b *Backend, q store.ClaimRequest) store.ClaimAnswer {
	t.Helper()
	return untilAnswered(t, fmt.Sprintf("claim %q %d", q.Job, q.Slot), func() (store.ClaimAnswer, error) { return b.Claim(t.Context(), q) })
}

// insistFinish repeats a finish until it is answered.
func insistFinish(t testing.TB, b *Backend, q store.FinishRequest) store.FinishAnswer {
	t.Helper()
	return untilAnswered(t, fmt.Sprintf("finish %q %d", q.Job, q.Slot), func() (store.FinishAnswer, error) { return b.Finish(t.Context(), q) })
}

func untilAnswered[A any](t testing.TB, what string, ask func() (A, error)) A {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for {
		a, err := ask()
		switch {
		case err == nil:
			return a
		case !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrNotApplied), time.Now().After(end):
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestTerminated: a claim whose server process is ended while it waits is never
// said to be won or lost, and was not applied.
func TestTerminated(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	q := raceClaim("j", time.Now().UnixMilli())
	mustClaim(t, b, raceClaim("j", q.Slot-1), store.VerdictWon)
	tx, err := a.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "SELECT FROM job FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		answer := make(chan error, 1)
		go func() {
			_, err := b.Claim(t.Context(), q)
			answer <- err
		}()
		awaitBlocked(a, 1)
		if !get[bool](a, "SELECT "+function+"($1)", blocked(a)[0]) {
			t.Fatal("not sent")
		}
		err := <-answer
		want := map[string]error{"pg_cancel_backend": store.ErrNotApplied, "pg_terminate_backend": store.ErrUnknown}[function]
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v; want %v", function, err, want)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, q, store.VerdictWon)
	if h := history(t, b, "j"); len(h) != 2 || h[0].Attempt != 1 {
		t.Errorf("history %+v; want one attempt of each slot", h)
	}
}

// TestTerminatedAtRandom: while somebody ends server processes all the time,
// every run is won once, by who asks until it is answered.
func TestTerminatedAtRandom(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	b := open(t, set)
	const workers, slots = 3, 40
	ctx, stop := context.WithCancel(t.Context())
	var killer, wait sync.WaitGroup
	killed := 0
	killer.Go(func() {
		for ctx.Err() == nil {
			n := 0
			err := a.pool.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE application_name = 'anarchon' AND query LIKE '%' || current_schema() || '%' AND random() < 0.5`).Scan(&n)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			killed += n
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		}
	})
	first := time.Now().UnixMilli()
	for worker := range workers {
		wait.Go(func() {
			job := fmt.Sprint("j", worker)
			for slot := first; slot < first+slots; slot++ {
				if r := insist(t, b, raceClaim(job, slot)); r.Verdict != store.VerdictWon || r.Attempt != 1 {
					t.Errorf("%s %d: %+v; want attempt 1, won", job, slot, r)
				}
			}
		})
	}
	wait.Wait()
	stop()
	killer.Wait()
	if killed < workers {
		t.Errorf("%d server processes were ended; the test proves little", killed)
	}
	for worker := range workers {
		if n := get[int](a, "SELECT count(*) FROM attempt JOIN job ON id = job WHERE convert_from(name, 'UTF8') = $1", fmt.Sprint("j", worker)); n != slots {
			t.Errorf("job %d has %d attempts; want %d", worker, n, slots)
		}
	}
	t.Logf("%d server processes were ended", killed)
	checkTables(a)
}

// TestBrokenServer breaks a server of its own.
func TestBrokenServer(t *testing.T) {
	// Commits are not waited for, and what is not waited for is lost for sure: the
	// plugin's own must be.
	c := privateServer(t, "postgres-18", "-c", "synchronous_commit=off", "-c", "wal_writer_delay=10s", "-c", "wal_writer_flush_after=1GB")
	set := settingsOn(t, serverURL(c))
	set.callTimeout = 2 * time.Second
	b := open(t, set)
	if got := setting(b.about, "synchronous_commit"); !strings.HasPrefix(got, "off (on") {
		t.Errorf("synchronous_commit is %q", got)
	}
	slot := time.Now().UnixMilli()
	signal := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, _ = c.Exec(ctx, "sh", "-c", "kill -"+name+" 1") // ends the command with the container
			return nil
		}
	}
	for _, fault := range []struct {
		name string
		end  func(context.Context) error
	}{
		{"stopped at once", signal("QUIT")}, // as pg_ctl stop -m immediate
		{"killed", c.Kill},
	} {
		t.Run(fault.name, func(t *testing.T) {
			slot += 1000
			won := map[int]store.ClaimAnswer{}
			ask := func(i int) store.ClaimRequest {
				q := raceClaim(fmt.Sprint("j", i), slot)
				q.ID = store.ClaimID{byte(i), byte(slot), byte(slot >> 8), 1}
				return q
			}
			for i := range 20 {
				if won[i] = insist(t, b, ask(i)); won[i].Verdict != store.VerdictWon {
					t.Fatalf("job %d: %+v; want it won", i, won[i])
				}
			}
			end := store.FinishRequest{Job: "j0", Slot: slot, Token: won[0].Token, Outcome: store.OutcomeSuccess}
			if r := insistFinish(t, b, end); !r.Recorded {
				t.Fatalf("finish: %+v; want it recorded", r)
			}
			restart(t, c, fault.end)
			if r := insist(t, b, ask(0)); r.Verdict != store.VerdictFinished || r.Status != store.StatusSuccess {
				t.Errorf("a finished run: %+v", r)
			}
			for i := 1; i < 20; i++ {
				if r := insist(t, b, ask(i)); r.Verdict != store.VerdictWon || r.Token != won[i].Token {
					t.Errorf("job %d: %+v after the restart; it was won with token %d", i, r, won[i].Token)
				}
			}
		})
	}
	t.Run("paused", func(t *testing.T) { paused(t, c, b) })
	t.Run("commit without its standby", func(t *testing.T) { unreplicated(t, set) })
	t.Run("standby", func(t *testing.T) {
		if _, err := c.Exec(t.Context(), "sh", "-c", "touch $PGDATA/standby.signal && chown postgres $PGDATA/standby.signal"); err != nil {
			t.Fatal(err)
		}
		restart(t, c, signal("INT")) // as pg_ctl stop -m fast
		begin := time.Now()
		if err := tryOpen(t, set); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "standby") || !strings.Contains(err.Error(), "target_session_attrs") {
			t.Errorf("got %v; want a standby refused", err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		// And one that became a standby under the plugin's feet.
		await(t, "an answer of the standby", func() bool {
			_, err := b.Claim(t.Context(), raceClaim("late", time.Now().UnixMilli()))
			if err == nil {
				t.Fatal("a standby granted a run")
			}
			return errors.Is(err, store.ErrNotApplied) && sqlState(err) == readOnly && strings.Contains(err.Error(), "read-only")
		})
	})
}

// restart ends the server, starts it again and waits until it serves.
func restart(t *testing.T, c *containers.Container, end func(context.Context) error) {
	t.Helper()
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "the server's end", func() bool {
		conn, err := pgx.Connect(t.Context(), serverURL(c))
		if err == nil {
			_ = conn.Close(t.Context())
		}
		return err != nil
	})
	var err error
	await(t, "the server's start", func() bool { err = c.Again(t.Context()); return err == nil })
	if err := awaitServer(t.Context(), serverURL(c)); err != nil {
		t.Fatal(err)
	}
}

// paused: a server that hangs makes calls unknown in time; when it goes on, they
// are settled by their claim ids.
func paused(t *testing.T, c *containers.Container, b *Backend) {
	slot := time.Now().UnixMilli()
	for i := range 2 {
		insist(t, b, raceClaim(fmt.Sprint("p", i), slot-1)) // connections that live
	}
	if err := c.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	asks := make([]store.ClaimRequest, 3)
	for i := range asks {
		asks[i] = raceClaim(fmt.Sprint("p", i), slot)
		wait.Go(func() {
			begin := time.Now()
			_, err := b.Claim(t.Context(), asks[i])
			if !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrNotApplied) {
				t.Errorf("claim of a paused server: %v; want unknown, or not applied", err)
			}
			if took := time.Since(begin); took > b.set.callTimeout+10*time.Second {
				t.Errorf("took %v; want about %v", took, b.set.callTimeout)
			}
		})
	}
	wait.Wait()
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range asks {
		if r := insist(t, b, q); r.Verdict != store.VerdictWon || r.Attempt != 1 {
			t.Errorf("%s: %+v; want attempt 1, won", q.Job, r)
		}
		if h := history(t, b, q.Job); h[0].Slot != slot || len(h) > 2 {
			t.Errorf("%s: history %+v; want one attempt of the slot", q.Job, h)
		}
	}
}

// unreplicated: a commit that stops waiting for its synchronous standby is
// there, and may be undone by a failover: unknown. Asked again, it waits again.
func unreplicated(t *testing.T, set settings) {
	set.callTimeout = time.Minute
	b := open(t, set)
	a := newAdmin(t, set.withURL(t, func(u *url.URL) { u.RawQuery = "synchronous_commit=local" }))
	q := claimOf("replicated", time.Now().UnixMilli())
	mustClaim(t, b, claimOf("warm", q.Slot), store.VerdictWon)
	names := func(s string) {
		a.exec("ALTER SYSTEM SET synchronous_standby_names = '" + s + "'")
		a.exec("SELECT pg_reload_conf()")
		await(t, "the new setting", func() bool { return get[string](a, "SHOW synchronous_standby_names") == s })
	}
	ask := func() chan store.Result[store.ClaimAnswer] {
		answer := make(chan store.Result[store.ClaimAnswer], 1)
		go func() {
			r, err := b.Claim(t.Context(), q)
			answer <- store.Result[store.ClaimAnswer]{Answer: r, Err: err}
		}()
		return answer
	}
	names("nowhere")
	defer names("")
	awaitSynchronous(t, set, a)
	for _, function := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		answer := ask()
		await(t, "a commit that waits for its standby", func() bool { return len(unreplicatedCommits(a)) == 1 })
		if !get[bool](a, "SELECT "+function+"($1)", unreplicatedCommits(a)[0]) {
			t.Fatal("not sent")
		}
		r := <-answer
		if !errors.Is(r.Err, store.ErrUnknown) || r.Answer != (store.ClaimAnswer{}) {
			t.Errorf("%s: got %+v, %v; want unknown", function, r.Answer, r.Err)
		}
		if function == "pg_cancel_backend" && !strings.Contains(r.Err.Error(), "standbys") {
			t.Errorf("%v does not say what happened", r.Err)
		}
	}
	// A refusal promises nothing, and does not wait; the repeat of what is there
	// already does.
	if r := mustClaim(t, b, claimOf("replicated", q.Slot), store.VerdictRunning); r.Attempt != 1 {
		t.Errorf("another claim: %+v", r)
	}
	answer := ask()
	await(t, "a commit that waits for its standby", func() bool { return len(unreplicatedCommits(a)) == 1 })
	names("")
	if r := <-answer; r.Err != nil || r.Answer.Verdict != store.VerdictWon || r.Answer.Attempt != 1 {
		t.Errorf("got %+v, %v; want attempt 1, won", r.Answer, r.Err)
	}
}

// unreplicatedCommits are the server processes that wait for a synchronous
// standby.
func unreplicatedCommits(a *admin) []int {
	a.t.Helper()
	return get[[]int](a, "SELECT coalesce(array_agg(pid), '{}') FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
}

// awaitSynchronous waits until commits wait for their standbys: not when a session
// shows the new setting, but when the checkpointer has told it to all. It commits
// again and again until a commit waits, and lets that one go.
func awaitSynchronous(t *testing.T, set settings, a *admin) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), set.withURL(t, func(u *url.URL) { u.RawQuery = "synchronous_commit=on" }).url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	pid := int(conn.PgConn().PID())
	ctx, cancel := context.WithCancel(t.Context())
	var seen atomic.Bool
	var commits sync.WaitGroup
	defer commits.Wait()
	defer cancel()
	commits.Go(func() {
		for !seen.Load() {
			if _, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(true, 'test', '')"); err != nil {
				if ctx.Err() == nil {
					t.Errorf("a commit: %v", err)
				}
				return
			}
		}
	})
	await(t, "a commit that waits for its standby", func() bool { return slices.Contains(unreplicatedCommits(a), pid) })
	seen.Store(true)
	if !get[bool](a, "SELECT pg_cancel_backend($1)", pid) {
		t.Fatal("not sent")
	}
	commits.Wait()
}
