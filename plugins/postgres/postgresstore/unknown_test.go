package postgresstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// TestLostAnswer: a claim whose answer is lost on the way, in whatever part, is
// unknown; asked again with its id it is won, once.
func TestLostAnswer(t *testing.T) {
	for name, f := range map[string]fault{
		"answer": swallowAnswer, "commit": swallowCommit, "request": swallowRequest, "for good": swallowForGood,
	} {
		t.Run(name, func(t *testing.T) {
			set := testSettings(t)
			direct := open(t, set)
			through, p := newProxy(t, set)
			through.poolSize, through.heartbeatPoolSize, through.callTimeout = 1, 1, 3*time.Second
			b := open(t, through)
			q := claimOf("j", time.Now().UnixMilli())
			warm := func() {
				t.Helper()
				// All is prepared before, so that the fault hits the call.
				if _, err := b.Claim(t.Context(), claimOf("warm", q.Slot)); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "warm", Slot: q.Slot, Token: 1, Lease: time.Minute}); err != nil {
					t.Fatal(err)
				}
				mustFinish(t, b, store.FinishRequest{Job: "warm", Slot: q.Slot, Token: 1, Outcome: store.OutcomeFailed}, false)
			}
			lost := func(what string, ask func() error, again func() error) {
				t.Helper()
				for end := time.Now().Add(time.Minute); ; {
					begin := time.Now()
					warm()
					idle := time.Since(begin)
					p.strike(f)
					err := ask()
					// The pool pings connections that were idle for a second. On a machine
					// that stood still so long the fault may hit the ping: once more.
					if !errors.Is(err, store.ErrUnknown) && idle > time.Second/2 && time.Now().Before(end) {
						p.strike(none)
						continue
					}
					if !errors.Is(err, store.ErrUnknown) {
						t.Fatalf("%s whose %s was swallowed: %v; want unknown", what, name, err)
					}
					break
				}
				<-p.struck
				p.strike(none)
				if err := again(); err != nil {
					t.Fatalf("%s again: %v", what, err)
				}
			}

			var token store.Token
			claim := func() error { _, err := b.Claim(t.Context(), q); return err }
			lost("claim", claim, func() error {
				token = mustClaim(t, direct, q, store.VerdictWon).Token
				if again := mustClaim(t, b, q, store.VerdictWon); again.Token != token || again.Attempt != 1 {
					t.Errorf("got %+v; want token %d", again, token)
				}
				return nil
			})
			beat := func() error {
				a, err := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "j", Slot: q.Slot, Token: token, Lease: time.Minute})
				if err == nil && !a.Renewed {
					err = errors.New("lost")
				}
				return err
			}
			lost("heartbeat", beat, beat)
			finish := func() error {
				a, err := b.Finish(t.Context(), store.FinishRequest{Job: "j", Slot: q.Slot, Token: token, Outcome: store.OutcomeSuccess})
				if err == nil && !a.Recorded {
					err = errors.New("lost")
				}
				return err
			}
			lost("finish", finish, finish)
			if h := history(t, direct, "j"); len(h) != 1 || h[0].Status != store.StatusSuccess {
				t.Errorf("history %+v; want one attempt, a success", h)
			}
		})
	}
}

// TestCallOver: a call that is over before it begins, or while it waits for a
// connection, surely did nothing; one that waits for a lock is unknown.
func TestCallOver(t *testing.T) {
	set := testSettings(t)
	set.poolSize = 1
	b := open(t, set)
	a := newAdmin(t, set)
	q := claimOf("j", time.Now().UnixMilli())
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err1 := b.Claim(over, q)
	_, err2 := b.Unfinished(over, store.UnfinishedRequest{})
	_, err3 := b.History(over, store.HistoryRequest{Job: "j", Limit: 1})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want surely not applied, cancelled", err)
		}
	}

	mustClaim(t, b, claimOf("stuck", q.Slot), store.VerdictWon)
	tx, err := a.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "SELECT FROM job FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	stuck := claimOf("stuck", q.Slot+1)
	stuck.Overlap = store.OverlapAllow
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error, 1)
	go func() {
		_, err := b.Claim(ctx, stuck)
		answers <- err
	}()
	awaitBlocked(a, 1)
	short, cancelShort := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelShort()
	if _, err := b.Claim(short, q); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("given up in the queue for a connection: %v; want surely not applied", err)
	}
	cancel()
	if err := <-answers; !errors.Is(err, store.ErrUnknown) {
		t.Errorf("given up at the lock: %v; want unknown", err)
	}
	// The driver has the server's part cancelled too: nothing comes late.
	awaitBlocked(a, 0)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, q, store.VerdictWon)
	for _, h := range history(t, b, "stuck") {
		if h.Slot == stuck.Slot {
			t.Errorf("the claim that was given up was granted: %+v", h)
		}
	}
}

// TestDeadline: a call whose server is silent ends with the call timeout,
// although its caller would wait.
func TestDeadline(t *testing.T) {
	set := testSettings(t)
	through, p := newProxy(t, set)
	through.callTimeout = 2 * time.Second
	b := open(t, through)
	q := claimOf("j", time.Now().UnixMilli())
	mustClaim(t, b, q, store.VerdictWon)
	p.strike(swallowForGood)
	begin := time.Now()
	_, err := b.Claim(t.Context(), q)
	if !errors.Is(err, store.ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want unknown, too late", err)
	}
	if took := time.Since(begin); took < through.callTimeout || took > through.callTimeout+10*time.Second {
		t.Errorf("took %v; want about %v", took, through.callTimeout)
	}
	p.strike(none)
	mustClaim(t, b, q, store.VerdictWon)
}
