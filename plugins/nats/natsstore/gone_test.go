package natsstore

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/anarchon-go/anarchon/core/store"
)

// Streams that an operator removes under our hands: nothing is granted or read by
// mistake, the next start makes them anew, and tokens rise.
func TestStreamsRemoved(t *testing.T) {
	url := sharedURL(t)
	js := admin(t, url)
	o := options(t)
	b := open(t, o)
	q := claimOf("j", noon)
	first := mustClaim(t, b, q, store.VerdictWon)
	for range 50 {
		q.Slot++
		q.ID = store.NewClaimID()
		first = mustClaim(t, b, q, store.VerdictWon)
	}
	for _, stream := range []string{b.history.Name, b.claims.Name} {
		if err := js.DeleteStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
		_, err := b.History(t.Context(), store.HistoryRequest{Job: "j", Limit: 1})
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), stream) {
			t.Errorf("history without stream %s: %v", stream, err)
		}
	}
	_, err := b.Claim(t.Context(), claimOf("j", noon))
	if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "the stream is gone") {
		t.Errorf("claim without a stream: %v", err)
	}
	_, err = b.Finish(t.Context(), finishOf(q, first.Token, store.OutcomeSuccess))
	if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "gone") {
		t.Errorf("finish without a stream: %v", err)
	}
	again := open(t, o)
	if w := mustClaim(t, again, claimOf("j", noon), store.VerdictWon); w.Token <= first.Token {
		t.Errorf("token %d after %d", w.Token, first.Token)
	}
	mustClaim(t, b, claimOf("j", noon), store.VerdictFinished)
}

// Another stream that takes our subjects is not ours: its acknowledgement is no
// grant.
func TestSubjectsTakenOver(t *testing.T) {
	fakes := ownServer(t, &server.Options{JetStream: true})
	js := admin(t, fakes.ClientURL())
	b := open(t, map[string]any{"url": fakes.ClientURL()})
	if err := js.DeleteStream(t.Context(), b.claims.Name); err != nil {
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
	if !store.IsUnknown(err) && !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("%v", err)
	}
	if err == nil || !strings.Contains(err.Error(), "another stream") && !strings.Contains(err.Error(), "stream not found") {
		t.Errorf("%v", err)
	}
}

// TestUnknownFields: what a newer version wrote into a record is still there after
// this version ran every verb on it.
func TestUnknownFields(t *testing.T) {
	o := options(t)
	b := open(t, o)
	q := claimOf("j", noon)
	r := claimRecord(&q, b.tokenBase)
	r.all = map[string]json.RawMessage{"priority": json.RawMessage(`{"level":9007199254740993}`), "note": json.RawMessage(`"kept"`)}
	p := b.publish(t.Context(), []request{conditional(b.settings.layout.slot("j", noon), 0, b.claims.Name, r.encode())})[0]
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
	for _, stream := range []string{b.claims.Name, b.history.Name} {
		var last found
		await(t, "the outcome is in "+stream, 10*time.Second, func() bool {
			last = b.api.last(t.Context(), []find{{stream, b.settings.layout.slot("j", noon)}})[0]
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
