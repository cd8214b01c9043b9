package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Strategy stream-id never forgets, whatever is trimmed or deleted.
func TestStreamRemembersForEver(t *testing.T) {
	o := fresh(t).with(options{"strategy": strategyStreamID})
	b := open(t, o)
	c := driver(t, o["url"].(string))
	first := claimNow("j")
	first.HistorySize = 1
	ask := func(n int64) store.ClaimRequest {
		q := first
		q.Slot, q.ID, q.Instance = first.Slot-3_000_000+n*1000, store.NewClaimID(), "b"
		return q
	}
	for n := range int64(50) {
		q := ask(2 * n) // every other second
		mustFinish(t, b, finishOf(q, mustClaim(t, b, q, store.VerdictWon), store.OutcomeSuccess), true)
	}
	for n := range int64(50) {
		mustClaim(t, b, ask(2*n), store.VerdictFinished)
	}
	// Between records that are kept it is known that a slot was not granted.
	if a := mustClaim(t, b, ask(97), store.VerdictSuperseded); a.Slot != ask(98).Slot {
		t.Errorf("superseded by slot %d; want %d", a.Slot, ask(98).Slot)
	}
	mustClaim(t, b, ask(1), store.VerdictFinished)
	if h := history(t, b, "j"); len(h) != 1 || h[0].Slot != ask(98).Slot || h[0].Status != store.StatusSuccess {
		t.Errorf("a history of one run is %+v", h)
	}
	keys := b.strategy.keys("j")
	if n := c.XLen(t.Context(), keys[2]).Val(); n != 10 {
		t.Errorf("the stream has %d entries; want 10", n)
	}
	if n := c.HLen(t.Context(), keys[1]).Val(); n != 10 {
		t.Errorf("there are %d records; want 10", n)
	}
	// An operator cleans up thoroughly.
	if err := c.XTrimMaxLen(t.Context(), keys[2], 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Del(t.Context(), keys[1]).Err(); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{0, 97, 98} {
		mustClaim(t, b, ask(n), store.VerdictFinished)
	}
	mustClaim(t, b, ask(99), store.VerdictWon)
}

// One slot of a fast clock must not bar all slots before it.
func TestStreamRefusesTheFarFuture(t *testing.T) {
	b := open(t, fresh(t).with(options{"strategy": strategyStreamID, "maxFuture": "1m"}))
	q := claimNow("j")
	q.MaxEarly = store.MaxBound
	far := q
	far.Slot += 3_600_000
	a := mustClaim(t, b, far, store.VerdictEarly)
	if a.By < 59*time.Minute || a.By > time.Hour {
		t.Errorf("early by %v; want about an hour", a.By)
	}
	near := q
	near.Slot += 30_000
	mustClaim(t, b, near, store.VerdictWon)
	mustClaim(t, b, q, store.VerdictSuperseded)
}

// A winner whose answer was lost finds its claim by the id, also when newer
// slots were granted meanwhile.
func TestTakenFindsItsClaim(t *testing.T) {
	for _, strategy := range []string{strategyStreamID, strategyScript, strategyIDMP} {
		t.Run(strategy, func(t *testing.T) {
			needs(t, strategy)
			b := open(t, fresh(t).with(options{"strategy": strategy}))
			q := claimNow("j")
			q.HistorySize = 1
			a := mustClaim(t, b, q, store.VerdictWon)
			newer := q
			newer.Slot, newer.ID = q.Slot+1000, store.NewClaimID()
			mustClaim(t, b, newer, store.VerdictWon)
			if again := mustClaim(t, b, q, store.VerdictWon); again.Token != a.Token {
				t.Errorf("the same claim again has token %d; the first answer had %d", again.Token, a.Token)
			}
			other := q
			other.ID = store.NewClaimID()
			mustClaim(t, b, other, store.VerdictFinished)
			mustFinish(t, b, finishOf(q, a, store.OutcomeSuccess), true)
			mustClaim(t, b, q, store.VerdictFinished)
		})
	}
}

// Strategy idmp remembers as many slots as maxSize, and forgets the one before.
func TestIDMPForgetsByCount(t *testing.T) {
	needs(t, strategyIDMP)
	o := fresh(t).with(options{"strategy": strategyIDMP, "maxSize": 2})
	b := open(t, o)
	q := claimNow("j")
	q.HistorySize = 1
	ask := func(n int64) store.ClaimRequest {
		r := q
		r.Slot, r.ID = q.Slot+n, store.NewClaimID()
		return r
	}
	for n := range int64(3) {
		mustClaim(t, b, ask(n), store.VerdictWon)
	}
	mustClaim(t, b, ask(1), store.VerdictFinished)
	mustClaim(t, b, ask(2), store.VerdictFinished)
	mustClaim(t, b, ask(0), store.VerdictWon) // forgotten, as declared
	d, err := b.Describe(t.Context())
	if err != nil || d.Memory != (store.Memory{Window: 5 * time.Minute, Runs: 2}) {
		t.Errorf("the memory is declared as %v, %v", d.Memory, err)
	}
}

// Strategies with a window forget when it is over, and not before.
func TestWindowsEnd(t *testing.T) {
	for _, v := range []options{
		{"strategy": strategyScript, "window": "2s"},
		{"strategy": strategyIDMP, "duration": "2s"},
	} {
		t.Run(v["strategy"].(string), func(t *testing.T) {
			needs(t, v["strategy"].(string))
			t.Parallel()
			b := open(t, fresh(t).with(v))
			q := claimNow("j")
			granted := mustClaim(t, b, q, store.VerdictWon).Now
			again := q
			again.Instance = "b"
			await(t, "the window ends", func() bool {
				again.ID = store.NewClaimID()
				a, err := b.Claim(bg, again)
				if err != nil {
					t.Fatal(err)
				}
				if a.Verdict == store.VerdictWon && a.Now-granted < 2000 {
					t.Fatalf("granted again after %d ms; the window is 2s", a.Now-granted)
				}
				return a.Verdict == store.VerdictWon
			})
			if h := history(t, b, "j"); len(h) != 1 || h[0].Instance != "b" {
				t.Errorf("the history is %+v; want the second grant alone", h)
			}
		})
	}
}

// The stream's settings are there before its first claim; who changes them later
// clears its memory, and is found out before anything is granted.
func TestIDMPDrift(t *testing.T) {
	needs(t, strategyIDMP)
	o := fresh(t).with(options{"strategy": strategyIDMP, "duration": "7m", "maxSize": 77})
	b := open(t, o)
	c := driver(t, o["url"].(string))
	q := claimNow("j")
	mustClaim(t, b, q, store.VerdictWon)
	stream := b.strategy.keys("j")[2]
	info, err := c.Do(t.Context(), "xinfo", "stream", stream).Slice()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := 0; i+1 < len(info); i += 2 {
		got[fmt.Sprint(info[i])] = fmt.Sprint(info[i+1])
	}
	if got["idmp-duration"] != "420" || got["idmp-maxsize"] != "77" {
		t.Errorf("the stream has duration %s and maxsize %s; want 420 and 77", got["idmp-duration"], got["idmp-maxsize"])
	}
	if err := c.Do(t.Context(), "xcfgset", stream, "IDMP-DURATION", 60, "IDMP-MAXSIZE", 5).Err(); err != nil {
		t.Fatal(err)
	}
	q.ID, q.Slot = store.NewClaimID(), q.Slot+1
	_, err = b.Claim(t.Context(), q)
	if !errors.Is(err, store.ErrNotApplied) {
		t.Fatalf("a claim on changed settings: %v; want not applied", err)
	}
	wantWords(t, err.Error(), []string{"IDMP-DURATION 60", "IDMP-MAXSIZE 5", "XCFGSET"})
	if h := history(t, b, "j"); len(h) != 1 {
		t.Errorf("the history has %d runs; want 1", len(h))
	}
}

// Many slots leave a bounded number of records.
func TestTakenIsBounded(t *testing.T) {
	for _, v := range []options{
		{"strategy": strategyScript, "historySize": 20},
		{"strategy": strategyIDMP, "maxSize": 20},
		{"strategy": strategyStreamID},
	} {
		strategy := v["strategy"].(string)
		t.Run(strategy, func(t *testing.T) {
			needs(t, strategy)
			o := fresh(t).with(v)
			b := open(t, o)
			c := driver(t, o["url"].(string))
			var qs []store.ClaimRequest
			for n := range int64(200) {
				q := claimNow("j")
				q.Slot, q.HistorySize = q.Slot+n, 20
				qs = append(qs, q)
			}
			for i, r := range b.ClaimBatch(t.Context(), qs) {
				if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
					t.Fatalf("claim %d: %+v, %v", i, r.Answer, r.Err)
				}
			}
			if n := c.HLen(t.Context(), b.strategy.keys("j")[1]).Val(); n != 20 {
				t.Errorf("200 slots left %d records; want 20", n)
			}
			if h := history(t, b, "j"); len(h) != 20 {
				t.Errorf("200 slots left a history of %d; want 20", len(h))
			}
		})
	}
}

// A claim-only backend says what it can't do.
func TestTakenUnsupported(t *testing.T) {
	b := open(t, fresh(t).with(options{"strategy": strategyScript}))
	q := claimNow("j")
	a := mustClaim(t, b, q, store.VerdictWon)
	_, err := b.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "j", Slot: q.Slot, Token: a.Token, Lease: time.Second})
	if !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("heartbeat: %v", err)
	}
	if _, err := b.Unfinished(t.Context(), store.UnfinishedRequest{}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("unfinished: %v", err)
	}
	if _, err := b.Finish(t.Context(), finishOf(q, a, store.OutcomeReleased)); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("release: %v", err)
	}
}
