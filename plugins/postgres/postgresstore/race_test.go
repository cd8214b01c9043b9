package postgresstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// raceClaim is one that only loses because another won.
func raceClaim(job string, slot int64) store.ClaimRequest {
	q := claimOf(job, slot)
	q.Overlap, q.MaxLate, q.MaxEarly = store.OverlapAllow, store.MaxBound, store.MaxBound
	return q
}

// TestOneWinner: of the claims of many instances for one run exactly one is
// granted, one by one and in batches; tokens rise.
func TestOneWinner(t *testing.T) {
	set := testSettings(t)
	oneWinner(t, newAdmin(t, set), func() *Backend { return open(t, set) }, 60)
}

func oneWinner(t *testing.T, a *admin, open func() *Backend, slots int) {
	var instances []*Backend
	for range 6 {
		instances = append(instances, open())
	}
	first := time.Now().UnixMilli()
	t.Run("one by one", func(t *testing.T) {
		wins := make([][]store.Token, slots)
		var lock sync.Mutex
		var wait sync.WaitGroup
		for _, b := range instances {
			wait.Go(func() {
				for i := range slots {
					answer, err := b.Claim(t.Context(), raceClaim("j", first+int64(i)))
					if err != nil {
						t.Error(err)
					}
					if answer.Verdict == store.VerdictWon {
						lock.Lock()
						wins[i] = append(wins[i], answer.Token)
						lock.Unlock()
					}
				}
			})
		}
		wait.Wait()
		for i, w := range wins {
			// A slot may go unclaimed only if a newer one was granted first.
			if len(w) > 1 || len(w) == 0 && i == slots-1 {
				t.Errorf("slot %d was won %d times", i, len(w))
			}
		}
		if tokens := slices.Concat(wins...); !slices.IsSorted(tokens) || len(slices.Compact(tokens)) != len(tokens) {
			t.Errorf("tokens %v do not rise with the slots", tokens)
		}
	})
	t.Run("in batches", func(t *testing.T) {
		wins := make([]atomic.Int32, slots)
		var wait sync.WaitGroup
		for _, b := range instances {
			wait.Go(func() {
				for batch := range slices.Chunk(rand.Perm(slots), 7) {
					var qs []store.ClaimRequest
					for _, i := range batch {
						qs = append(qs, raceClaim(fmt.Sprint("j", i), first))
					}
					for k, r := range b.ClaimBatch(t.Context(), qs) {
						if r.Err != nil {
							t.Error(r.Err)
						}
						if r.Answer.Verdict == store.VerdictWon {
							wins[batch[k]].Add(1)
						}
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
	})
	checkTables(a)
}

// TestNoCircle: batches over the same jobs in any order, of all verbs at once,
// with jobs that are known and jobs that are made on the way, never block each
// other in a circle: PostgreSQL would end one of them after a second, with an
// error.
func TestNoCircle(t *testing.T) {
	set := testSettings(t)
	a := newAdmin(t, set)
	const jobs = 12
	now := time.Now().UnixMilli()
	var known sync.Map // job and round → what was won
	var wait sync.WaitGroup
	for worker := range 4 {
		b := open(t, set)
		wait.Go(func() {
			for round := range 40 {
				order := rand.Perm(jobs)
				var qs []store.ClaimRequest
				for _, i := range order {
					// Half of the jobs are new in every fourth round.
					qs = append(qs, raceClaim(fmt.Sprint("j", i, "-", i%2*(round/4)), now+int64(round)))
				}
				for i, r := range b.ClaimBatch(t.Context(), qs) {
					switch {
					case r.Err != nil:
						t.Errorf("worker %d, round %d: %v", worker, round, r.Err)
					case r.Answer.Verdict == store.VerdictWon:
						known.Store(qs[i].Job, store.FinishRequest{Job: qs[i].Job, Slot: qs[i].Slot, Token: r.Answer.Token, Outcome: store.OutcomeSuccess})
					}
				}
				renewAndFinish(t, b, &known)
			}
		})
	}
	wait.Wait()
	checkTables(a)
}

// renewAndFinish renews what is known, and finishes a half of it, in no order.
func renewAndFinish(t *testing.T, b *Backend, known *sync.Map) {
	var beats []store.HeartbeatRequest
	var ends []store.FinishRequest
	known.Range(func(_, v any) bool {
		f := v.(store.FinishRequest)
		beats = append(beats, store.HeartbeatRequest{Job: f.Job, Slot: f.Slot, Token: f.Token, Lease: time.Minute})
		if rand.IntN(2) == 0 {
			ends = append(ends, f)
		}
		return true
	})
	rand.Shuffle(len(beats), func(i, k int) { beats[i], beats[k] = beats[k], beats[i] })
	rand.Shuffle(len(ends), func(i, k int) { ends[i], ends[k] = ends[k], ends[i] })
	for _, r := range b.HeartbeatBatch(t.Context(), beats) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
	for _, r := range b.FinishBatch(t.Context(), ends) {
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
}

// TestHeartbeatsDontWaitForClaims: while every connection for claims waits for
// a lock, heartbeats and finishes of other jobs go on.
func TestHeartbeatsDontWaitForClaims(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	a := newAdmin(t, set)
	now := time.Now().UnixMilli()
	q := claimOf("free", now)
	won := mustClaim(t, b, q, store.VerdictWon)
	mustClaim(t, b, claimOf("stuck", now), store.VerdictWon)

	tx, err := a.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "SELECT FROM job WHERE name = 'stuck' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 2 * set.poolSize {
		wait.Go(func() {
			if r, err := b.Claim(t.Context(), claimOf("stuck", now)); err != nil || r.Verdict != store.VerdictRunning {
				t.Errorf("stuck claim: %+v, %v", r, err)
			}
		})
	}
	awaitBlocked(a, set.poolSize)
	for range 10 {
		mustRenew(t, b, store.HeartbeatRequest{Job: "free", Slot: now, Token: won.Token, Lease: time.Minute})
	}
	mustFinish(t, b, store.FinishRequest{Job: "free", Slot: now, Token: won.Token, Outcome: store.OutcomeSuccess}, true)
	if n := len(blocked(a)); n != set.poolSize {
		t.Errorf("%d claims are still stuck; want %d", n, set.poolSize)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
}
