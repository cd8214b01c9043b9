package natsstore

import (
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/anarchon-go/anarchon/core/store"
)

// Streams that an operator removes under our hands, or that a server comes back
// without: the next verb but one makes them anew, loudly, and tokens rise, also
// those of an instance that noticed nothing.
func TestStreamsRemoved(t *testing.T) {
	js := admin(t, sharedURL(t))
	o := options(t)
	a, b := open(t, o), open(t, o)
	var last store.ClaimAnswer
	for i := range int64(50) {
		last = mustClaim(t, a, claimOf("j", noon+i), store.VerdictWon)
		mustClaim(t, b, claimOf("j", noon+i), store.VerdictFinished)
	}
	l := &a.settings.layout
	remove := func() {
		t.Helper()
		for _, stream := range []string{l.history, l.claims} {
			if err := js.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Each verb that meets it says so, changes nothing, and the next one is served.
	for name, verb := range map[string]func() error{
		"claim": func() error {
			_, err := a.Claim(t.Context(), claimOf("j", noon))
			return err
		},
		"finish": func() error {
			_, err := a.Finish(t.Context(), finishOf(claimOf("j", noon), last.Token, store.OutcomeSuccess))
			return err
		},
		"history": func() error {
			_, err := a.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1})
			return err
		},
	} {
		remove()
		if err := verb(); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%s without streams: %v", name, err)
		}
		w := mustClaim(t, a, claimOf("j", noon), store.VerdictWon)
		if w.Token <= last.Token {
			t.Errorf("%s: token %d after %d", name, w.Token, last.Token)
		}
		last = w
		// b has noticed nothing, and can't be granted an old token.
		_, err := b.Claim(t.Context(), claimOf("j", noon+1))
		if !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("%s: a claim of an instance that noticed nothing: %v", name, err)
		}
		mustClaim(t, b, claimOf("j", noon), store.VerdictFinished)
		w = mustClaim(t, b, claimOf("j", noon+1), store.VerdictWon)
		if w.Token <= last.Token {
			t.Errorf("%s: token %d after %d, by the other instance", name, w.Token, last.Token)
		}
		last = w
	}
	// The history alone is filled again from what is remembered.
	if err := js.DeleteStream(t.Context(), l.history); err != nil {
		t.Fatal(err)
	}
	if _, err := a.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1}); !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("history without its stream: %v", err)
	}
	if h := history(t, a, "j"); len(h) != 2 || h[0].Token != last.Token {
		t.Errorf("%+v", h)
	}
	// The claims alone can't be: the server would not copy the first of the new ones.
	if err := js.DeleteStream(t.Context(), l.claims); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := a.Claim(t.Context(), claimOf("j", noon))
		if !errors.Is(err, store.ErrNotApplied) {
			t.Errorf("claim without its stream: %v", err)
		}
	}
	refusedWith(t, o, store.ErrNotApplied, l.claims, l.history, "remove that too")
}

// A server that had the streams in memory comes back without them.
func TestMemoryIsLost(t *testing.T) {
	so := &server.Options{JetStream: true, StoreDir: t.TempDir()}
	s, err := startServer(so)
	if err != nil {
		t.Fatal(err)
	}
	o := map[string]any{"url": s.ClientURL(), "storage": "memory"}
	b := open(t, o)
	first := mustClaim(t, b, claimOf("j", noon), store.VerdictWon)
	so.Port = s.Addr().(*net.TCPAddr).Port
	reconnected(t, b, func() {
		s.Shutdown()
		s.WaitForShutdown()
		ownServer(t, so)
	})
	awaitClaim(t, b, claimOf("k", noon))
	if again := mustClaim(t, b, claimOf("j", noon), store.VerdictWon); again.Token <= first.Token {
		t.Errorf("token %d after %d", again.Token, first.Token)
	}
}

// Another stream that takes our subjects is not ours: its acknowledgement is no
// grant.
func TestSubjectsTakenOver(t *testing.T) {
	fakes := ownServer(t, &server.Options{JetStream: true})
	js := admin(t, fakes.ClientURL())
	b := open(t, map[string]any{"url": fakes.ClientURL()})
	if err := js.DeleteStream(t.Context(), b.settings.layout.claims); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(fakes.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r, err := nc.Request("$JS.API.STREAM.CREATE.other", []byte(`{"name":"other","subjects":["anarchon.>"]}`), 5*time.Second)
	if err != nil || strings.Contains(string(r.Data), `"error"`) {
		t.Fatal(r, err)
	}
	_, err = b.Claim(t.Context(), claimOf("j", noon))
	if err == nil || errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v", err)
	}
	// It is noticed, and not worked around.
	_, err = b.Claim(t.Context(), claimOf("j", noon))
	if !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("%v", err)
	}
}

// TestUnknownFields: what a newer version wrote into a record is still there after
// this version ran every verb on it.
func TestUnknownFields(t *testing.T) {
	o := options(t)
	b := open(t, o)
	q := claimOf("j", noon)
	r := claimRecord(&q)
	r.all = map[string]json.RawMessage{"priority": json.RawMessage(`{"level":9007199254740993}`), "note": json.RawMessage(`"kept"`)}
	p := b.publish(t.Context(), []request{conditional(b.settings.layout.slot(eraOf(b), "j", noon), 0, b.settings.layout.claims, r.encode())})[0]
	if p.err != nil || p.refusal != nil {
		t.Fatalf("%+v", p)
	}
	w := mustClaim(t, b, q, store.VerdictWon)
	mustClaim(t, b, claimOf("j", noon), store.VerdictFinished)
	if h := history(t, b, "j"); len(h) != 1 || h[0].Token != w.Token {
		t.Errorf("%+v", h)
	}
	f := finishOf(q, w.Token, store.OutcomeFailed)
	f.Error = "why"
	mustFinish(t, b, f, true)
	for _, stream := range []string{b.settings.layout.claims, b.settings.layout.history} {
		var last found
		await(t, "the outcome is in "+stream, 10*time.Second, func() bool {
			last = b.api.last(t.Context(), []find{{stream, b.settings.layout.slot(eraOf(b), "j", noon)}})[0]
			return last.err == nil && last.stored != nil && last.Status == store.StatusFailed
		})
		if got := string(last.all["priority"]) + string(last.all["note"]); got != `{"level":9007199254740993}"kept"` {
			t.Errorf("stream %s keeps %s", stream, got)
		}
	}
}

// TestPaused: a server that hangs makes a claim unknown within the call's time, and
// when it goes on the same claim id finds out.
func TestPaused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a container")
	}
	c := startContainer(t, "nats-2.15")
	o := map[string]any{"url": "nats://" + c.Addr(), "callTimeout": "1s"}
	b := open(t, o)
	if err := c.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	qs := []store.ClaimRequest{claimOf("j", noon), claimOf("j", noon+1)}
	start := time.Now()
	for i, r := range b.ClaimBatch(t.Context(), qs) {
		if !errors.Is(r.Err, store.ErrUnknown) {
			t.Errorf("item %d: %+v; want unknown", i, r)
		}
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("a call of 1 s took %v", took)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, q := range qs {
		awaitClaim(t, b, q)
		mustClaim(t, b, q, store.VerdictWon)
	}
	if h := history(t, b, "j"); len(h) != 2 {
		t.Errorf("%+v", h)
	}
}
