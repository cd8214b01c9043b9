package natsstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/anarchon-go/anarchon/core/store"
)

// throughProxy opens a backend behind a proxy, and one beside it.
func throughProxy(t *testing.T, change ...func(map[string]any)) (*proxy, *Backend, *Backend) {
	t.Helper()
	o := options(t)
	beside := open(t, o)
	p := newProxy(t, o["url"].(string))
	o["url"] = p.url()
	for _, f := range change {
		f(o)
	}
	return p, open(t, o), beside
}

func awaitConnected(t *testing.T, b *Backend, connected bool) {
	t.Helper()
	await(t, fmt.Sprint("connected ", connected), 10*time.Second, func() bool {
		b.link.mu.Lock()
		defer b.link.mu.Unlock()
		return (b.link.conn.Status() == nats.CONNECTED) == connected
	})
}

// reconnected does what breaks the connection, and waits for the next one.
func reconnected(t *testing.T, b *Backend, breaks func()) {
	t.Helper()
	before := b.link.conn.Stats().Reconnects
	breaks()
	await(t, "connected again", 10*time.Second, func() bool { return b.link.conn.Stats().Reconnects > before })
}

// A server that has no connection left is named as one.
func TestServerWithoutConnections(t *testing.T) {
	s := ownServer(t, &server.Options{MaxConn: 1})
	only, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if _, err := tryOpen(t, map[string]any{"url": s.ClientURL(), "namespace": freshNamespace()}); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "a limit of connections ") {
		t.Errorf("a start on a server that has no connection left: %v", err)
	}
}

// A claim whose answer is lost is unknown; asked again it is the same grant, for
// everybody else the slot is taken.
func TestLostAnswer(t *testing.T) {
	for name, end := range map[string]func(*proxy, context.CancelFunc){
		"the caller gives up":   func(_ *proxy, cancel context.CancelFunc) { cancel() },
		"the connection breaks": func(p *proxy, _ context.CancelFunc) { p.cut() },
	} {
		t.Run(name, func(t *testing.T) {
			p, b, beside := throughProxy(t)
			q := claimOf("j", noon)
			p.mute.Store(true)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			result := make(chan error, 1)
			go func() {
				_, err := b.Claim(ctx, q)
				result <- err
			}()
			// The server has it, and said so.
			await(t, "the claim is stored", 10*time.Second, func() bool { return len(history(t, beside, "j")) == 1 })
			end(p, cancel)
			start := time.Now()
			if err := <-result; !store.IsUnknown(err) || !errors.Is(err, store.ErrUnknown) {
				t.Fatalf("the answer was lost: %v; want unknown", err)
			}
			if took := time.Since(start); took > 5*time.Second { // of the 10 s that a call has
				t.Errorf("it took %v to notice", took)
			}
			p.mute.Store(false)
			reconnected(t, b, p.cut)
			other := claimOf("j", noon)
			mustClaim(t, beside, other, store.VerdictFinished)
			first := mustClaim(t, beside, q, store.VerdictWon)
			again := mustClaim(t, b, q, store.VerdictWon)
			if again != first || again.Token != history(t, b, "j")[0].Token {
				t.Errorf("the same claim is answered %+v and %+v", first, again)
			}
			mustFinish(t, b, finishOf(q, again.Token, store.OutcomeSuccess), true)
		})
	}
}

// A finish whose answer is lost is unknown, and recorded when asked again.
func TestLostFinish(t *testing.T) {
	p, b, beside := throughProxy(t, func(o map[string]any) { o["callTimeout"] = "300ms" })
	q := claimOf("j", noon)
	w := mustClaim(t, b, q, store.VerdictWon)
	f := finishOf(q, w.Token, store.OutcomeFailed)
	// The read goes through, the write's answer does not.
	write, recorded := decideFinish(b.api.last(t.Context(), []find{{b.settings.layout.claims, b.settings.layout.slot(eraOf(b), "j", noon)}})[0].stored, &f)
	if !recorded {
		t.Fatal("the finish is not recorded")
	}
	p.mute.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	r := conditional(b.settings.layout.slot(eraOf(b), "j", noon), uint64(int64(w.Token)-int64(eraOf(b))), b.settings.layout.claims, write.encode())
	if got := b.publish(ctx, []request{r})[0]; !errors.Is(got.err, store.ErrUnknown) {
		t.Fatalf("%+v; want unknown", got)
	}
	if _, err := b.Finish(t.Context(), f); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("a finish that could not read: %v; want not applied", err)
	}
	p.mute.Store(false)
	reconnected(t, b, p.cut)
	mustFinish(t, b, f, true)
	f.Outcome = store.OutcomeSuccess
	mustFinish(t, beside, f, false)
}

// While there is no connection a claim is surely not applied, at once, and it is
// not kept to be sent when there is one again.
func TestNothingIsSentLater(t *testing.T) {
	p, b, beside := throughProxy(t)
	p.away(true)
	awaitConnected(t, b, false)
	var asked []store.ClaimRequest
	for i := range 20 {
		q := claimOf("j", noon+int64(i))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		start := time.Now()
		_, err := b.Claim(ctx, q)
		cancel()
		if !errors.Is(err, store.ErrNotApplied) || time.Since(start) > time.Second {
			t.Fatalf("claim without a connection: %v after %v; want not applied, at once", err, time.Since(start))
		}
		asked = append(asked, q)
	}
	p.away(false)
	awaitConnected(t, b, true)
	mustClaim(t, b, claimOf("another", noon), store.VerdictWon) // what was kept would have gone first
	if h := history(t, beside, "j"); len(h) != 0 {
		t.Fatalf("claims were sent later: %+v", h)
	}
	for _, q := range asked {
		mustClaim(t, beside, q, store.VerdictWon)
	}
}

// What the caller gave up while the network swallowed it is not sent again on
// the next connection.
func TestSwallowedIsNotSentAgain(t *testing.T) {
	p, b, beside := throughProxy(t)
	p.hold.Store(true)
	var qs []store.ClaimRequest
	for i := range 500 { // more than one write
		qs = append(qs, claimOf("j", noon+int64(i)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	for i, r := range b.ClaimBatch(ctx, qs) {
		if r.Err == nil || errors.Is(r.Err, store.ErrInvalid) {
			t.Fatalf("item %d: %+v", i, r)
		}
	}
	reconnected(t, b, func() { p.cut(); p.hold.Store(false) })
	mustClaim(t, b, claimOf("another", noon), store.VerdictWon)
	if h := history(t, beside, "j"); len(h) != 0 {
		t.Fatalf("%d claims were sent again", len(h))
	}
}

// A server that does not read blocks nobody beyond the caller's own deadline, and
// what was not written by then is never sent.
func TestServerThatDoesNotRead(t *testing.T) {
	p, b, _ := throughProxy(t, func(o map[string]any) { o["callTimeout"] = "60s" })
	stuck := make(chan struct{})
	t.Cleanup(func() { close(stuck) })
	// A connection of which nobody reads: the kernel's buffers fill.
	p.stall(stuck)
	var qs []store.ClaimRequest
	for i := range 1024 {
		q := claimOf(strings.Repeat("\x01", store.MaxNameBytes), noon+int64(i))
		q.Instance = strings.Repeat("\x01", store.MaxNameBytes)
		qs = append(qs, q)
	}
	const rounds = 12 // some 25 MB
	unsent := 0
	for round := range rounds {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		rs := b.ClaimBatch(ctx, qs)
		took := time.Since(start)
		cancel()
		for i, r := range rs {
			// What was being read when it stalled still gets through.
			if r.Err == nil && round == rounds-1 || errors.Is(r.Err, store.ErrInvalid) {
				t.Fatalf("round %d, item %d: %+v", round, i, r)
			}
			if errors.Is(r.Err, store.ErrNotApplied) {
				unsent++
			}
		}
		if took > 30*time.Second { // a busy machine, but no wait for the 60 s of a write
			t.Fatalf("round %d: a call with 100 ms took %v", round, took)
		}
	}
	if unsent == 0 {
		t.Error("all was sent; the server read it, or the kernel has larger buffers")
	}
}

// A batch's items that were not sent when the caller's time was over are said to
// be so.
func TestOverBeforeItBegins(t *testing.T) {
	b := open(t, options(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 5 {
		q := claimOf("j", noon+int64(i))
		if _, err := b.Claim(ctx, q); !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("claim: %v; want not applied", err)
		}
	}
	if _, err := b.History(ctx, store.HistoryRequest{Job: "j", Limit: 1}); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("history: %v; want not applied", err)
	}
	if h := history(t, b, "j"); len(h) != 0 {
		t.Errorf("%+v", h)
	}
}

// The library ends a connection for good on an error that it does not know. The
// plugin makes another.
func TestConnectionEndedForGood(t *testing.T) {
	p, b, _ := throughProxy(t)
	mustClaim(t, b, claimOf("j", noon), store.VerdictWon)
	b.link.mu.Lock()
	first := b.link.conn
	b.link.mu.Unlock()
	p.say(t, "-ERR 'Something New'\r\n")
	await(t, "another connection", 10*time.Second, func() bool {
		b.link.mu.Lock()
		defer b.link.mu.Unlock()
		return b.link.conn != first && b.link.conn.Status() == nats.CONNECTED
	})
	if first.Status() != nats.CLOSED {
		t.Fatalf("the first connection is %v; this test proves nothing", first.Status())
	}
	mustClaim(t, b, claimOf("j", noon+1), store.VerdictWon)
	mustClaim(t, b, claimOf("j", noon), store.VerdictFinished)
}

// Close does not wait for a connection that can't be made.
func TestCloseWhileAway(t *testing.T) {
	p, b, _ := throughProxy(t)
	p.away(true)
	awaitConnected(t, b, false)
	start := time.Now()
	if err := b.Close(context.Background()); err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("close: %v after %v", err, time.Since(start))
	}
}
