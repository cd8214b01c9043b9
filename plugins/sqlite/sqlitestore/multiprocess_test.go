//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// openAs opens the file in a child.
func openAs(path string) (*Backend, error) {
	b := newBackend(storekit.Env{Logger: slog.New(slog.DiscardHandler)})
	return b, b.open(context.Background(), settings{path: path, namespace: defaultNamespace, busy: time.Minute})
}

func openRole(me part, ready func()) error {
	ready()
	b, err := openAs(me.path)
	if err != nil {
		return err
	}
	fmt.Println("open")
	return b.Close(context.Background())
}

// TestConcurrentSetUp: any number of processes may make the file at once.
func TestConcurrentSetUp(t *testing.T) {
	for range 3 {
		set := testSettings(t)
		for _, c := range spawnAll(t, 8, "open", set.path) {
			if got := c.rest(); len(got) != 1 || got[0] != "open" {
				t.Errorf("child printed %q", got)
			}
		}
		db := raw(t, set.path)
		if n := query[int](t, db, "SELECT count(*) FROM anarchon_meta"); n != 1 {
			t.Errorf("%d rows in anarchon_meta; want 1", n)
		}
		checkFile(t, db)
	}
}

const raceSlots = 100

func raceClaim(job string, slot int64, name string) store.ClaimRequest {
	q := claimOf(job, slot)
	q.Instance, q.Overlap = name, store.OverlapAllow
	q.MaxLate, q.MaxEarly = store.MaxBound, store.MaxBound
	return q
}

// slotsRole asks for the slots of one job, one after the other.
func slotsRole(me part, ready func()) error {
	b, err := openAs(me.path)
	if err != nil {
		return err
	}
	ready()
	for i := range raceSlots {
		a, err := b.Claim(context.Background(), raceClaim("j", me.slot+int64(i), me.name))
		if err != nil {
			return err
		}
		if a.Verdict == store.VerdictWon {
			fmt.Println(i, a.Token)
		}
	}
	return b.Close(context.Background())
}

// batchRole asks for one slot of as many jobs, in small batches, two at a time.
func batchRole(me part, ready func()) error {
	b, err := openAs(me.path)
	if err != nil {
		return err
	}
	ready()
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- claimInBatches(b, me) }()
	}
	for range 2 {
		if err := <-results; err != nil {
			return err
		}
	}
	return b.Close(context.Background())
}

func claimInBatches(b *Backend, me part) error {
	for batch := range slices.Chunk(rand.Perm(raceSlots), 7) {
		var qs []store.ClaimRequest
		for _, i := range batch {
			qs = append(qs, raceClaim(fmt.Sprint("j", i), me.slot, me.name))
		}
		for k, r := range b.ClaimBatch(context.Background(), qs) {
			if r.Err != nil {
				return r.Err
			}
			if r.Answer.Verdict == store.VerdictWon {
				fmt.Println(batch[k], r.Answer.Token)
			}
		}
	}
	return nil
}

// TestOneWinner: of the claims of many processes for one run exactly one is
// granted.
func TestOneWinner(t *testing.T) {
	for _, role := range []string{"slots", "batch"} {
		t.Run(role, func(t *testing.T) {
			set := testSettings(t)
			wins := make([]int, raceSlots)
			tokens := make([]int64, raceSlots)
			winners := 0
			for _, c := range spawnAll(t, 6, role, set.path) {
				lines := c.rest()
				for _, line := range lines {
					var i int
					var token int64
					if _, err := fmt.Sscan(line, &i, &token); err != nil {
						t.Fatalf("%q: %v", line, err)
					}
					wins[i]++
					tokens[i] = token
				}
				if len(lines) > 0 {
					winners++
				}
			}
			for i, n := range wins {
				if n != 1 {
					t.Errorf("slot %d was won %d times", i, n)
				}
				if role == "slots" && i > 0 && tokens[i] <= tokens[i-1] {
					t.Errorf("tokens %d, %d of slots %d, %d do not rise", tokens[i-1], tokens[i], i-1, i)
				}
			}
			t.Logf("%d of 6 processes won something", winners)
			checkFile(t, raw(t, set.path))
		})
	}
}

// loadRole claims and finishes until it is killed, and prints what was granted
// after it was told.
func loadRole(me part, ready func()) error {
	b, err := openAs(me.path)
	if err != nil {
		return err
	}
	ready()
	ctx := context.Background()
	for i := int64(0); ; i++ {
		var qs []store.ClaimRequest
		for k := range 1 + rand.N(8) {
			q := raceClaim(fmt.Sprint(me.name, "-", k), me.slot+i, me.name)
			q.HistorySize = 5
			qs = append(qs, q)
		}
		var fs []store.FinishRequest
		for k, r := range b.ClaimBatch(ctx, qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				return fmt.Errorf("%+v: %+v, %w", qs[k], r.Answer, r.Err)
			}
			fmt.Println(qs[k].Job, qs[k].Slot, r.Answer.Token)
			fs = append(fs, store.FinishRequest{Job: qs[k].Job, Slot: qs[k].Slot, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
		}
		for _, r := range b.FinishBatch(ctx, fs[:rand.N(len(fs)+1)]) {
			if r.Err != nil || !r.Answer.Recorded {
				return fmt.Errorf("finish: %+v, %w", r.Answer, r.Err)
			}
		}
	}
}

// TestKilled: a process killed in the middle of its writes leaves a file that is
// whole, holds every grant that was told, and serves the others.
func TestKilled(t *testing.T) {
	set := testSettings(t)
	type grant struct{ slot, token int64 }
	told := map[string]grant{} // newest by job
	for round := range 4 {
		name := fmt.Sprint("round", round)
		c, neighbour := spawn(t, "load", set.path, name), spawn(t, "load", set.path, name+"n")
		for _, c := range []*child{c, neighbour} {
			c.expect("ready")
			c.start.Close()
		}
		read := func(c *child, n int) {
			for range n {
				var job string
				var g grant
				line := c.line()
				if _, err := fmt.Sscan(line, &job, &g.slot, &g.token); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				told[job] = g
			}
		}
		read(c, 100+rand.N(100))
		c.kill()
		read(neighbour, 100) // goes on
		neighbour.kill()
	}

	b := open(t, set)
	for job, g := range told {
		attempts := history(t, b, job)
		if len(attempts) == 0 || attempts[0].Slot < g.slot || int64(attempts[0].Token) < g.token {
			t.Errorf("job %s: slot %d was granted with token %d; the store remembers %+v", job, g.slot, g.token, attempts)
		}
		if a := mustClaim(t, b, raceClaim(job, startSlot+1_000_000, "after"), store.VerdictWon); int64(a.Token) <= g.token {
			t.Errorf("job %s: token %d after %d", job, a.Token, g.token)
		}
	}
	checkFile(t, raw(t, set.path))
}

// checkFile compares what is stored twice.
func checkFile(t testing.TB, db *sql.DB) {
	t.Helper()
	if s := query[string](t, db, "PRAGMA integrity_check"); s != "ok" {
		t.Errorf("integrity check: %s", s)
	}
	rows := map[string]string{
		"jobs that miscount their ended runs": `
			SELECT count(*) FROM anarchon_job j WHERE ended <> (
				SELECT count(DISTINCT slot) FROM anarchon_attempt a WHERE a.job = j.id AND NOT EXISTS (
					SELECT 1 FROM anarchon_attempt u WHERE u.job = a.job AND u.slot = a.slot AND u.unfinished = 1))`,
		"jobs with an attempt newer than the newest": `
			SELECT count(*) FROM anarchon_job j WHERE newest < (SELECT max(slot) FROM anarchon_attempt a WHERE a.job = j.id)`,
		"jobs with a greater token than the last": `
			SELECT count(*) FROM anarchon_job j WHERE last_token < (SELECT max(token) FROM anarchon_attempt a WHERE a.job = j.id)`,
		"unfinished attempts that are not their run's last": `
			SELECT count(*) FROM anarchon_attempt a WHERE unfinished = 1 AND EXISTS (
				SELECT 1 FROM anarchon_attempt l WHERE l.job = a.job AND l.slot = a.slot AND l.attempt > a.attempt)`,
		"attempts that end in no way": `
			SELECT count(*) FROM anarchon_attempt WHERE (status = 'running') <> (ended_at = 0)`,
		"attempts without a job": `
			SELECT count(*) FROM anarchon_attempt WHERE job NOT IN (SELECT id FROM anarchon_job)`,
	}
	for what, text := range rows {
		if n := query[int](t, db, text); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
}
