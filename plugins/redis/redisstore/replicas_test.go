package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// replicaOf starts a server that follows another, and waits until it does.
func replicaOf(t testing.TB, primary *proc) *proc {
	t.Helper()
	p := startServer(t, "--replicaof", primary.host(), fmt.Sprint(primary.port))
	c := driver(t, p.url())
	await(t, "the replica follows", func() bool {
		text, err := c.Info(t.Context(), "replication").Result()
		return err == nil && parseInfo(text)["master_link_status"] == "up"
	})
	return p
}

// A grant that fewer replicas have than asked for stands, and the log says so;
// one that enough have is granted in silence.
func TestWaitReplicas(t *testing.T) {
	primary := startServer(t, "--repl-diskless-sync-delay", "0")
	replica := replicaOf(t, primary)
	const says = "fewer replicas have"
	with := func(wait string) (*Backend, *log) {
		t.Helper()
		b, l, err := configure(t, options{"url": primary.url(), "waitReplicas": 1, "waitTimeout": wait, "callTimeout": "1m"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close(bg) })
		return b, l
	}

	b, l := with("50s") // as long as a replica may need
	q := claimNow("j")
	mustClaim(t, b, q, store.VerdictWon)
	if log := l.String(); strings.Contains(log, says) {
		t.Errorf("a grant that the replica has is reported: %s", log)
	}

	b, l = with("300ms")
	replica.pause(t)
	// Nothing to report of a claim that is refused.
	q.ID = store.NewClaimID()
	mustClaim(t, b, q, store.VerdictRunning)
	if log := l.String(); strings.Contains(log, says) {
		t.Errorf("a refused claim is reported: %s", log)
	}
	q = claimNow("j2")
	begin := time.Now()
	a := mustClaim(t, b, q, store.VerdictWon)
	if took := time.Since(begin); took < 250*time.Millisecond {
		t.Errorf("it took %v; want it to wait for 300ms", took)
	}
	wantWords(t, l.String(), []string{says, "wanted=1", "have=0", "grants=1"})
	mustFinish(t, b, finishOf(q, a, store.OutcomeSuccess), true)

	// The report is not repeated for each batch.
	mustClaim(t, b, claimNow("j3"), store.VerdictWon)
	if n := strings.Count(l.String(), says); n != 1 && time.Since(begin) < reportEvery {
		t.Errorf("reported %d times within seconds; want once", n)
	}
}

func TestWaitReplicasWarning(t *testing.T) {
	srv := startServer(t)
	b, l, err := configure(t, options{"url": srv.url(), "waitReplicas": 2})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(bg)
	d, err := b.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantWords(t, strings.Join(d.Warnings, "\n"), []string{"waitReplicas is 2", "0 replicas"})
	if log := l.String(); strings.Contains(log, "waitReplicas") { // the host tells it
		t.Errorf("the warning is told twice: %s", log)
	}
}

// Behind Sentinel the plugin follows a failover: what was acknowledged by the
// replica is still there, and tokens go on rising.
func TestSentinel(t *testing.T) {
	primary := startServer(t, "--repl-diskless-sync-delay", "0")
	replica := replicaOf(t, primary)
	sentinel := startServer(t, housed(t, fmt.Sprintf(`
		sentinel monitor main %s %d 1
		sentinel down-after-milliseconds main 2000
		sentinel failover-timeout main 3000
	`, primary.host(), primary.port)), "--sentinel")
	s := driver(t, sentinel.url())
	await(t, "the Sentinel knows the replica", func() bool {
		n, err := s.Do(t.Context(), "sentinel", "replicas", "main").Slice()
		return err == nil && len(n) == 1
	})

	o := options{"addrs": sentinel.addr(), "sentinelMaster": "main", "waitReplicas": 1}
	b := open(t, o)
	q := claimNow("j")
	first := mustClaim(t, b, q, store.VerdictWon)
	mustRefuse(t, o.with(options{"sentinelMaster": "other"}), store.ErrNotApplied, `"other"`)
	mustRefuse(t, options{"url": sentinel.url()}, store.ErrNotApplied, "is a Sentinel", "sentinelMaster")

	primary.kill(t)
	await(t, "claims are answered after the failover", func() bool {
		_, err := b.Claim(bg, claimNow("probe"))
		return err == nil
	})
	if a := mustClaim(t, b, q, store.VerdictWon); a.Token != first.Token {
		t.Errorf("after the failover the claim has token %d; before it %d", a.Token, first.Token)
	}
	mustFinish(t, b, finishOf(q, first, store.OutcomeSuccess), true)
	next := q
	next.Slot, next.ID = q.Slot+1, store.NewClaimID()
	if a := mustClaim(t, b, next, store.VerdictWon); a.Token <= first.Token {
		t.Errorf("after the failover the token is %d; before it %d", a.Token, first.Token)
	}
	// With nobody left to say who the primary is, nothing can be sent.
	sentinel.kill(t)
	replica.kill(t)
	await(t, "claims are surely not sent", func() bool {
		_, err := b.Claim(bg, claimNow("gone"))
		return errors.Is(err, store.ErrNotApplied)
	})
}
