package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// A server that is out of memory grants nothing new; what runs can be renewed,
// handed over and finished.
func TestOutOfMemory(t *testing.T) {
	srv := startServer(t)
	c := driver(t, srv.url())
	ctx := t.Context()
	limit := func(bytes string) {
		t.Helper()
		if err := c.ConfigSet(ctx, "maxmemory", bytes).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, strategy := range strategies {
		o := options{"url": srv.url(), "namespace": strategy, "strategy": strategy}
		limit("0")
		b := open(t, o)
		q, q2, q3 := claimNow("j"), claimNow("j2"), claimNow("j3")
		a, a2 := mustClaim(t, b, q, store.VerdictWon), mustClaim(t, b, q2, store.VerdictWon)

		limit("1")
		_, err := b.Claim(ctx, q3)
		if !errors.Is(err, store.ErrNotApplied) {
			t.Fatalf("%s: a claim without memory: %v; want not applied", strategy, err)
		}
		wantWords(t, err.Error(), []string{"OOM", "maxmemory"})
		restarted := open(t, o) // a service must be able to come back
		mustFinish(t, restarted, finishOf(q, a, store.OutcomeFailed), true)
		if h := history(t, restarted, "j"); len(h) != 1 || h[0].Status != store.StatusFailed {
			t.Errorf("%s: history without memory: %+v", strategy, h)
		}
		if strategy == strategyLease {
			h, err := b.Heartbeat(ctx, store.HeartbeatRequest{Job: "j2", Slot: q2.Slot, Token: a2.Token, Lease: time.Minute})
			if err != nil || !h.Renewed {
				t.Errorf("a heartbeat without memory: %+v, %v", h, err)
			}
			mustFinish(t, b, finishOf(q2, a2, store.OutcomeReleased), true)
			if u, err := b.Unfinished(ctx, store.UnfinishedRequest{}); err != nil || len(u.Runs) != 1 {
				t.Errorf("recall without memory: %+v, %v", u, err)
			}
		}
		limit("0")
		mustClaim(t, b, q3, store.VerdictWon)
	}
}

// A server that forgot the scripts gets them again, alone and in the middle of a
// batch; other's scripts don't matter.
func TestForgottenScripts(t *testing.T) {
	o := fresh(t)
	b := open(t, o)
	c := driver(t, o["url"].(string))
	for round := range 5 {
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		q := claimNow(fmt.Sprint("alone", round))
		a := mustClaim(t, b, q, store.VerdictWon)
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		mustFinish(t, b, finishOf(q, a, store.OutcomeSuccess), true)
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		// In a batch of one job, the order is kept.
		var qs []store.ClaimRequest
		for i := range 20 {
			q := claimNow(fmt.Sprint("batch", round))
			q.Instance = fmt.Sprint("i", i)
			qs = append(qs, q)
		}
		for i, r := range b.ClaimBatch(t.Context(), qs) {
			want := store.VerdictRunning
			if i == 0 {
				want = store.VerdictWon
			}
			if r.Err != nil || r.Answer.Verdict != want {
				t.Errorf("item %d after the scripts were forgotten: %+v, %v; want %v", i, r.Answer, r.Err, want)
			}
		}
	}
}

// acked is what a worker was told before a fault.
type acked struct {
	claim  store.ClaimRequest
	answer store.ClaimAnswer // zero: unknown
	ended  bool              // the finish was recorded
	begun  bool              // a finish was sent
}

// work is what workers do to a backend until they are told to stop.
type work struct {
	b        *Backend
	stop     chan struct{}
	told     [][]acked // by worker, when all have stopped
	wg       sync.WaitGroup
	answered atomic.Int64 // claims
	unknown  atomic.Int64 // claims and finishes
}

func startWork(b *Backend, workers int) *work {
	w := &work{b: b, stop: make(chan struct{}), told: make([][]acked, workers)}
	for i := range w.told {
		w.wg.Go(func() { w.told[i] = w.hammer(fmt.Sprint("w", i)) })
	}
	return w
}

// progress waits until more claims were answered.
func (w *work) progress(t testing.TB) {
	t.Helper()
	const more = 30
	before := w.answered.Load()
	await(t, fmt.Sprint(more, " more claims are answered"), func() bool { return w.answered.Load() >= before+more })
}

// end stops the workers and returns what they were told.
func (w *work) end() []acked {
	close(w.stop)
	w.wg.Wait()
	return slices.Concat(w.told...)
}

// hammer claims runs of fresh jobs and finishes every other one.
func (w *work) hammer(name string) (all []acked) {
	for n := 0; ; n++ {
		select {
		case <-w.stop:
			return all
		default:
		}
		k := acked{claim: claimNow(fmt.Sprint(name, "/", n))}
		k.claim.Lease = time.Hour // longer than the test
		a, err := w.b.Claim(bg, k.claim)
		switch {
		case errors.Is(err, store.ErrNotApplied):
			time.Sleep(time.Millisecond) // the driver dials again
			continue
		case err != nil:
			w.unknown.Add(1)
		default:
			w.answered.Add(1)
			k.answer = a
		}
		if err == nil && n%2 == 0 {
			f, err := w.b.Finish(bg, finishOf(k.claim, a, store.OutcomeSuccess))
			k.ended = err == nil && f.Recorded
			if k.begun = !errors.Is(err, store.ErrNotApplied); k.begun && err != nil {
				w.unknown.Add(1)
			}
		}
		all = append(all, k)
	}
}

// check asks about all that a worker was told.
func (k *acked) check(t *testing.T, b *Backend, lease bool) {
	t.Helper()
	if k.answer.Verdict != 0 && k.answer.Verdict != store.VerdictWon {
		t.Errorf("a fresh job's run was answered %+v", k.answer)
		return
	}
	switch {
	case k.ended:
		mustClaim(t, b, k.claim, store.VerdictFinished)
		if h := history(t, b, k.claim.Job); len(h) != 1 || h[0].Status != store.StatusSuccess || h[0].Token != k.answer.Token {
			t.Errorf("a finish that was recorded reads %+v", h)
		}
	case k.begun: // either, and once
		if h := history(t, b, k.claim.Job); len(h) != 1 || h[0].Token != k.answer.Token {
			t.Errorf("a claim that was granted reads %+v", h)
		}
	default:
		a := mustClaim(t, b, k.claim, store.VerdictWon)
		if a.Attempt != 1 || k.answer.Token != 0 && a.Token != k.answer.Token {
			t.Errorf("a claim was answered %+v, and asked again %+v", k.answer, a)
		}
		if h := history(t, b, k.claim.Job); len(h) != 1 {
			t.Errorf("one claim left %d attempts", len(h))
		}
		other := k.claim
		other.ID, other.Instance, other.After = store.NewClaimID(), "another", 1
		want := store.VerdictFinished
		if lease {
			want = store.VerdictRunning
		}
		mustClaim(t, b, other, want)
	}
}

// A server that is killed, or stopped for a while, in the middle of claims and
// finishes loses nothing that it acknowledged, and grants nothing twice. Its log
// is written before each answer (appendfsync always).
func TestFaultsInTheMiddle(t *testing.T) {
	faults := map[string]func(*testing.T, *proc){
		"killed": func(t *testing.T, p *proc) {
			p.kill(t)
			if err := p.start(); err != nil {
				t.Fatal(err)
			}
		},
		"stopped": func(t *testing.T, p *proc) {
			p.pause(t)
			time.Sleep(600 * time.Millisecond) // longer than a call may take
			p.resume(t)
		},
	}
	for name, fault := range faults {
		for _, strategy := range strategies {
			t.Run(name+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				srv := startServer(t, "--appendonly", "yes", "--appendfsync", "always")
				o := options{"url": srv.url(), "strategy": strategy}
				b := open(t, o.with(options{"callTimeout": "300ms"}))
				w := startWork(b, 8)
				for n := 0; n < 3 || w.unknown.Load() == 0; n++ {
					if n == 30 {
						t.Fatalf("%d faults met no call", n)
					}
					w.progress(t)
					fault(t, srv)
				}
				w.progress(t)
				all := w.end()
				patient := open(t, o)
				ended := 0
				for i := range all {
					if all[i].ended {
						ended++
					}
					all[i].check(t, patient, strategy == strategyLease)
				}
				if ended == 0 {
					t.Error("no run ended")
				}
				t.Logf("%d claims, %d calls unknown, %d runs ended", len(all), w.unknown.Load(), ended)
			})
		}
	}
}

// What is remembered outlasts a rewrite of the server's log and a restart, also
// by strategy idmp, whose server drops from the log what belongs to trimmed
// entries.
func TestMemoryOutlastsARewrite(t *testing.T) {
	for _, strategy := range strategies {
		t.Run(strategy, func(t *testing.T) {
			srv := startServer(t, "--appendonly", "yes", "--appendfsync", "always")
			c := driver(t, srv.url())
			b := open(t, options{"url": srv.url(), "strategy": strategy, "maxSize": 20, "historySize": 20})
			base := claimNow("j")
			var qs []store.ClaimRequest
			for n := range int64(50) {
				q := base
				q.Slot, q.ID, q.HistorySize, q.Overlap = base.Slot+n, store.NewClaimID(), 1, store.OverlapAllow
				qs = append(qs, q)
			}
			for i, r := range b.ClaimBatch(t.Context(), qs) {
				if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
					t.Fatalf("claim %d: %+v, %v", i, r.Answer, r.Err)
				}
			}
			if err := c.BgRewriteAOF(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			await(t, "the log is rewritten", func() bool {
				info, err := c.Info(t.Context(), "persistence").Result()
				p := parseInfo(info)
				return err == nil && p["aof_rewrite_in_progress"] == "0" && p["aof_rewrite_scheduled"] == "0"
			})
			srv.kill(t)
			if err := srv.start(); err != nil {
				t.Fatal(err)
			}
			again := open(t, options{"url": srv.url(), "strategy": strategy, "maxSize": 20, "historySize": 20})
			for _, q := range qs[30:] { // as many as every strategy here remembers
				q.ID, q.Instance = store.NewClaimID(), "another"
				if a, err := again.Claim(t.Context(), q); err != nil || a.Verdict == store.VerdictWon {
					t.Errorf("slot %d after the restart: %+v, %v; it was granted before", q.Slot, a, err)
				}
			}
		})
	}
}
