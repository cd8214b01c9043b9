package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// ways in which an answer gets lost.
var lostWays = []struct {
	name string
	cut  bool
}{{"swallowed", false}, {"cut", true}}

// A claim whose answer is lost is executed once, is unknown, and asked again
// with its id it is won: the same attempt, the same token.
func TestLostAnswers(t *testing.T) {
	for _, strategy := range strategies {
		for _, way := range lostWays {
			t.Run(strategy+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				srv := startServer(t)
				p := newProxy(t, srv.addr())
				loseAnswers(t, srv, p, way.cut, options{"addrs": p.addr(), "strategy": strategy})
			})
		}
	}
}

// The same on a Cluster, where the driver counts redirects instead of retries
// and would send again for that.
func TestLostAnswersOfACluster(t *testing.T) {
	for _, way := range lostWays {
		t.Run(way.name, func(t *testing.T) {
			srv := startServer(t, "--cluster-enabled", "yes")
			p := newProxy(t, srv.addr())
			c := driver(t, srv.url())
			ctx := t.Context()
			// The node tells clients the proxy's address as its own.
			_, port := splitAddr(t, p.addr())
			for name, value := range map[string]string{"cluster-announce-ip": "127.0.0.1", "cluster-announce-port": port, "cluster-require-full-coverage": "no"} {
				if err := c.ConfigSet(ctx, name, value).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
				t.Fatal(err)
			}
			awaitCluster(t, srv)
			o := options{"addrs": p.addr(), "cluster": true}
			loseAnswers(t, srv, p, way.cut, o)

			// And on the way that a call takes which a node sent elsewhere.
			b := open(t, o.with(options{"callTimeout": "20s"}))
			q := claimNow("moved")
			replies := make([]reply, 1)
			before := executions(t, srv.url())
			p.set(true, way.cut)
			sent, cancel := contextIn(t, lostTimeout)
			defer cancel()
			b.pools.claims.follow(sent, []call{b.strategy.claimCall(&q)}, []int{0}, replies)
			if err := classify("claim", replies[0].err); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("a claim that was sent elsewhere and whose answer was lost: %v; want unknown", err)
			}
			awaitExecutions(t, srv.url(), before, 1)
			p.set(false, false)
			mustClaim(t, b, q, store.VerdictWon)
		})
	}
}

// lostTimeout is how long a call waits for an answer that is swallowed. The server
// has that long to execute it.
const lostTimeout = 600 * time.Millisecond

func loseAnswers(t *testing.T, srv *proc, p *proxy, cut bool, o options) {
	patient := open(t, o.with(options{"callTimeout": "20s"}))
	b := patient // whose answers are lost
	if !cut {
		b = open(t, o.with(options{"callTimeout": lostTimeout.String()}))
	}
	ctx := t.Context()
	// The scripts are known and the connections up, so that what is counted are
	// claims.
	warm := claimNow("warm")
	mustFinish(t, patient, finishOf(warm, mustClaim(t, patient, warm, store.VerdictWon), store.OutcomeSuccess), true)
	await(t, "the connections are up", func() bool {
		_, claim := b.Claim(ctx, warm)
		_, finish := b.Finish(ctx, finishOf(warm, store.ClaimAnswer{Token: 1}, store.OutcomeSuccess))
		return claim == nil && finish == nil
	})

	q := claimNow("alone")
	before := executions(t, srv.url())
	p.set(true, cut)
	if a, err := b.Claim(ctx, q); !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotApplied) {
		t.Fatalf("a claim whose answer was lost: %+v, %v; want unknown", a, err)
	}
	awaitExecutions(t, srv.url(), before, 1)
	p.set(false, false)
	a := mustClaim(t, patient, q, store.VerdictWon)
	if again := mustClaim(t, patient, q, store.VerdictWon); a.Attempt != 1 || a.Token != again.Token {
		t.Errorf("asked again: %+v, then %+v; want the same attempt 1 and token", a, again)
	}

	// And so each item of a batch.
	var qs []store.ClaimRequest
	for i := range 10 {
		qs = append(qs, claimNow(fmt.Sprint("j", i)))
	}
	before = executions(t, srv.url())
	p.set(true, cut)
	for i, r := range b.ClaimBatch(ctx, qs) {
		if !errors.Is(r.Err, store.ErrUnknown) {
			t.Errorf("item %d of a batch whose answer was lost: %+v, %v; want unknown", i, r.Answer, r.Err)
		}
	}
	awaitExecutions(t, srv.url(), before, len(qs))
	p.set(false, false)
	for i, r := range patient.ClaimBatch(ctx, qs) {
		if r.Err != nil || r.Answer.Verdict != store.VerdictWon || r.Answer.Attempt != 1 {
			t.Errorf("item %d asked again: %+v, %v; want won, attempt 1", i, r.Answer, r.Err)
		}
	}

	// A finish whose answer was lost is recorded, and so again.
	f := finishOf(q, a, store.OutcomeSuccess)
	before = executions(t, srv.url())
	p.set(true, cut)
	if _, err := b.Finish(ctx, f); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a finish whose answer was lost: %v; want unknown", err)
	}
	awaitExecutions(t, srv.url(), before, 1)
	p.set(false, false)
	mustFinish(t, patient, f, true)
}

// A server that can't be reached has surely done nothing.
func TestGoneServer(t *testing.T) {
	srv := startServer(t)
	b := open(t, options{"url": srv.url()})
	q := claimNow("j")
	mustClaim(t, b, q, store.VerdictWon)
	srv.kill(t)
	// The connections that are up may find out in the middle of a call; then none
	// is.
	var err error
	for range 20 {
		if _, err = b.Claim(t.Context(), q); errors.Is(err, store.ErrNotApplied) {
			break
		}
		if !errors.Is(err, store.ErrUnknown) {
			t.Fatalf("a claim of a server that is gone: %v", err)
		}
	}
	if !errors.Is(err, store.ErrNotApplied) {
		t.Fatalf("a claim that can't be sent: %v; want not applied", err)
	}
	wantWords(t, err.Error(), []string{srv.addr(), "nothing listens"})
	if _, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1}); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("history: %v; want not applied", err)
	}
}

// A stopped server keeps a claim, and a deadline is honoured.
func TestDeadlines(t *testing.T) {
	srv := startServer(t)
	b := open(t, options{"url": srv.url(), "callTimeout": "10s"})
	q := claimNow("j")
	q.Job = "warm"
	mustClaim(t, b, q, store.VerdictWon)
	q = claimNow("j")
	srv.pause(t)
	ctx, cancel := contextIn(t, 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := b.Claim(ctx, q)
	if took := time.Since(begin); took > 5*time.Second || !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a claim of a stopped server: %v after %v; want unknown after 200ms", err, took)
	}
	done, cancel2 := contextIn(t, 0)
	defer cancel2()
	if _, err := b.Claim(done, q); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("a claim that is over before it begins: %v; want not applied", err)
	}
	srv.resume(t)
	mustClaim(t, b, q, store.VerdictWon)
}

// Heartbeats and finishes never wait behind claims, and who waits in vain for a
// connection has sent nothing.
func TestDutiesHaveTheirOwnConnections(t *testing.T) {
	b := open(t, fresh(t).with(options{"poolSize": 1}))
	q := claimNow("j")
	a := mustClaim(t, b, q, store.VerdictWon)
	if _, err := b.pools.claims.acquire(t.Context()); err != nil { // as a claim that hangs
		t.Fatal(err)
	}
	ctx, cancel := contextIn(t, 50*time.Millisecond)
	defer cancel()
	q2 := claimNow("other")
	_, err := b.Claim(ctx, q2)
	if !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("a claim without a free connection: %v; want not applied", err)
	} else {
		wantWords(t, err.Error(), []string{"poolSize", "busy"})
	}
	h, err := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: q.Job, Slot: q.Slot, Token: a.Token, Lease: time.Minute})
	if err != nil || !h.Renewed {
		t.Errorf("heartbeat beside a claim that hangs: %+v, %v", h, err)
	}
	mustFinish(t, b, finishOf(q, a, store.OutcomeSuccess), true)
	b.pools.claims.release()
	mustClaim(t, b, q2, store.VerdictWon)
}
