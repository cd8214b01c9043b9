//go:build cgo

package sqlitestore

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// margin is how much later than asked a busy machine may answer.
const margin = 10 * time.Second

// TestLockedFile: a claim waits for another's write transaction as long as the
// busy timeout, its own deadline or its caller allows, and then surely did
// nothing.
func TestLockedFile(t *testing.T) {
	set := testSettings(t)
	set.busy = 200 * time.Millisecond
	b := open(t, set)
	patient := set
	patient.busy = time.Minute
	waiting := open(t, patient)
	db := raw(t, set.path)
	q := claimOf("j", time.Now().UnixMilli())

	refused := func(t *testing.T, b *Backend, ctx context.Context, least time.Duration) error {
		t.Helper()
		begin := time.Now()
		_, err := b.Claim(ctx, q)
		if !errors.Is(err, store.ErrNotApplied) {
			t.Fatalf("got %v; want surely not applied", err)
		}
		if took := time.Since(begin); took < least || took > least+margin {
			t.Errorf("took %v; want %v", took, least)
		}
		return err
	}
	mustExec(t, db, "BEGIN IMMEDIATE")
	t.Run("busy timeout", func(t *testing.T) {
		if err := refused(t, b, t.Context(), set.busy); !strings.Contains(err.Error(), "busyTimeout") {
			t.Errorf("%v names no remedy", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		refused(t, waiting, ctx, 300*time.Millisecond) // it answers a little before
	})
	t.Run("cancelled in the queue and at the lock", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		answers := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := waiting.Claim(ctx, q)
				answers <- err
			}()
		}
		time.AfterFunc(20*time.Millisecond, cancel)
		for range 2 {
			select {
			case err := <-answers:
				if !errors.Is(err, store.ErrNotApplied) {
					t.Errorf("got %v; want surely not applied", err)
				}
			case <-time.After(margin):
				t.Fatal("cancelled, and still waiting")
			}
		}
	})
	t.Run("unlocked in time", func(t *testing.T) {
		answer := make(chan error, 1)
		go func() {
			a, err := waiting.Claim(t.Context(), q)
			if err == nil && a.Verdict != store.VerdictWon {
				err = errors.New(a.Verdict.String())
			}
			answer <- err
		}()
		mustExec(t, db, "ROLLBACK")
		if err := <-answer; err != nil {
			t.Error(err)
		}
	})
	mustClaim(t, b, q, store.VerdictWon)
}

// TestCallOverBefore: a call that is over before it begins does nothing.
func TestCallOverBefore(t *testing.T) {
	b := open(t, testSettings(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := claimOf("j", time.Now().UnixMilli())
	_, err1 := b.Claim(ctx, q)
	_, err2 := b.Unfinished(ctx, store.UnfinishedRequest{})
	_, err3 := b.History(ctx, store.HistoryRequest{Job: "j", Limit: 1})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, store.ErrNotApplied) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want surely not applied, cancelled", err)
		}
	}
	if n := len(history(t, b, "j")); n != 0 {
		t.Errorf("%d attempts", n)
	}
}

// TestOverBeforeCommit: a caller that gave up while its claim was judged is
// granted nothing.
func TestOverBeforeCommit(t *testing.T) {
	b := open(t, testSettings(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := b.write.transact(ctx, func(w *writing) error {
		p := &step{sql: w, namespace: []byte(defaultNamespace)}
		q := claimOf("j", time.Now().UnixMilli())
		_, err := p.claim(&q)
		cancel()
		return err
	})
	if !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("got %v; want surely not applied", err)
	}
	if n := len(history(t, b, "j")); n != 0 {
		t.Errorf("%d attempts", n)
	}
}

// TestPanicInStep: a panic, which the SDK turns into an error, leaves the
// writer free and nothing behind.
func TestPanicInStep(t *testing.T) {
	b := open(t, testSettings(t))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = b.write.transact(t.Context(), func(w *writing) error {
			p := &step{sql: w, namespace: []byte(defaultNamespace)}
			q := claimOf("j", time.Now().UnixMilli())
			if _, err := p.claim(&q); err != nil {
				t.Error(err)
			}
			panic("a bug")
		})
	}()
	mustClaim(t, b, claimOf("j", time.Now().UnixMilli()), store.VerdictWon)
}

// TestReplacedFile: a file that was moved away, deleted or replaced under the
// running plugin is not written: other instances would use the other one.
func TestReplacedFile(t *testing.T) {
	set := testSettings(t)
	b := open(t, set)
	q := claimOf("j", time.Now().UnixMilli())
	mustClaim(t, b, q, store.VerdictWon)
	refused := func(want string) {
		t.Helper()
		_, err := b.Claim(t.Context(), q)
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want it refused, %q", err, want)
		}
	}
	if err := os.Rename(set.path, set.path+".away"); err != nil {
		t.Fatal(err)
	}
	refused("is gone")
	// Also a connection that is made anew makes no file.
	if err := b.write.disconnect(); err != nil {
		t.Fatal(err)
	}
	refused("is gone")
	if err := os.WriteFile(set.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("was replaced")
	if err := os.Rename(set.path+".away", set.path); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, q, store.VerdictWon) // the same attempt: the file is back
}

// TestReconnect: a connection in doubt is dropped, and the next call makes
// another.
func TestReconnect(t *testing.T) {
	b := open(t, testSettings(t))
	q := claimOf("j", time.Now().UnixMilli())
	// COMMIT inside of the step ends the transaction under the writer's feet.
	err := b.write.transact(t.Context(), func(w *writing) error { return execute(w.commit) })
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("got %v; want unknown", err)
	}
	if b.write.conn != nil {
		t.Error("the connection was kept")
	}
	mustClaim(t, b, q, store.VerdictWon)
}

// TestCloseWaits: Close waits for the step under way, within its own bound.
func TestCloseWaits(t *testing.T) {
	b := newBackend(testEnv(t))
	if err := b.open(t.Context(), testSettings(t)); err != nil {
		t.Fatal(err)
	}
	in, out, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		done <- b.write.transact(context.Background(), func(*writing) error { close(in); <-out; return nil })
	}()
	<-in
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := b.write.close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want the deadline", err)
	}
	close(out)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := New(testEnv(t)).Close(context.Background()); err != nil {
		t.Errorf("close of what was never configured: %v", err)
	}
}

// TestRestoredBackup: a backup taken while the store is in use is whole; what
// happened after it is forgotten, and still no token comes twice. This is the
// procedure of the README: all instances stopped, and no -wal of the old file
// left, or SQLite would apply it to the new one.
func TestRestoredBackup(t *testing.T) {
	set := testSettings(t)
	now := time.Now().UnixMilli()
	b := newBackend(testEnv(t))
	if err := b.open(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, b, claimOf("j", now), store.VerdictWon)
	backup := set.path + ".backup"
	db := raw(t, set.path)
	mustExec(t, db, "VACUUM INTO ?", backup)
	after := mustClaim(t, b, claimOf("k", now), store.VerdictWon)
	if err := errors.Join(db.Close(), b.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(set.path + "-wal"); err == nil {
		t.Error("a -wal is left after the last one closed the file")
	}
	if err := os.Rename(backup, set.path); err != nil {
		t.Fatal(err)
	}
	restored := open(t, set)
	mustClaim(t, restored, claimOf("j", now), store.VerdictRunning)
	if a := mustClaim(t, restored, claimOf("k", now), store.VerdictWon); a.Token <= after.Token {
		t.Errorf("token %d after %d", a.Token, after.Token)
	}
}
