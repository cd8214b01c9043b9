package history_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/core/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// story is a lease that was half as long as asked for: the run is taken over while
// its holder renews it, an answer is lost, and a call was cut short by the end.
func story() *history.History {
	const begin = 1_893_456_000_000 // 2030-01-01T00:00:00Z
	claim := func(after int, instance string, id byte) *store.ClaimRequest {
		return &store.ClaimRequest{
			Job: "reports/nightly", Slot: begin, ID: store.ClaimID{id}, After: after, Instance: instance, Reason: store.ReasonScheduled,
			Lease: 20 * time.Millisecond, MaxEarly: time.Hour, MaxLate: time.Hour, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 10,
		}
	}
	at := func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
	won := func(attempt int, token store.Token, now int64) store.ClaimAnswer {
		return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: attempt, Token: token, Left: 20 * time.Millisecond, Now: now}
	}
	beat := func(token store.Token) *store.HeartbeatRequest {
		return &store.HeartbeatRequest{Job: "reports/nightly", Slot: begin, Token: token, Lease: 20 * time.Millisecond}
	}
	return &history.History{About: "a store whose leases are half as long as asked for <&>", Kind: store.KindLease, Ops: []*history.Op{
		{Process: "p1", Call: at(62), Return: at(64.25), Claim: claim(0, "host-1", 1), Class: history.Answered, Claimed: won(1, begin+63, begin+63)},
		{Process: "p10", Call: at(65), Return: at(66), Claim: claim(0, "host-3", 2), Class: history.Answered,
			Claimed: store.ClaimAnswer{Verdict: store.VerdictRunning, Attempt: 1, Holder: "host-1", Left: 18 * time.Millisecond, Now: begin + 65}, Unheard: true},
		{Process: "p1", Call: at(71), Return: at(72.5), Heartbeat: beat(begin + 63), Class: history.Answered, Beaten: store.HeartbeatAnswer{Renewed: true, Now: begin + 71}},
		{Process: "p10", Call: at(73), Return: at(90), Heartbeat: beat(begin + 63), Class: history.Lost, Error: "the connection was cut", Maybe: []history.Effect{}},
		{Process: "p2", Call: at(83), Return: at(84.5), Claim: claim(1, "host-2", 3), Class: history.Answered, Claimed: won(2, begin+83, begin+83)},
		{Process: "p1", Call: at(84), Return: at(86), InFlight: true, Class: history.Answered, Finished: store.FinishAnswer{Now: begin + 85},
			Finish: &store.FinishRequest{Job: "reports/nightly", Slot: begin, Token: begin + 63, Outcome: store.OutcomeSuccess, ID: store.ClaimID{1}}},
	}}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", name, got)
	}
}

func TestLadder(t *testing.T) { golden(t, "ladder.txt", []byte(history.Ladder(story()))) }

func TestHTML(t *testing.T) {
	var page bytes.Buffer
	if err := history.HTML(&page, story()); err != nil {
		t.Fatal(err)
	}
	golden(t, "page.html", page.Bytes())
	// It loads nothing, and runs nothing.
	if found := regexp.MustCompile(`(?i)https?:|<script|<link|<img|url\(|@import`).FindString(page.String()); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// The marks that are there are explained, and no others.
func TestLegend(t *testing.T) {
	h := story()
	h.Ops = h.Ops[:1] // a claim that was won
	if first, _, _ := strings.Cut(history.Ladder(h), "\n"); first != "C claim; + it changed the store" {
		t.Errorf("it says %q", first)
	}
}

// The answer that shows the fault is named, if all before it are right.
func TestTurn(t *testing.T) {
	h := story()
	if got, want := history.Turn(h), "Up to the answer that p2 got at 22.50 ms (C+, called at 21.00 ms) there is an order that follows the rules; with it there is none."; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// With one more call after it, it is not the last one that shows it.
	c := *h.Ops[1]
	c.Call, c.Return = h.Ops[4].Return+time.Millisecond, h.Ops[4].Return+2*time.Millisecond
	h.Ops = append(h.Ops, &c)
	if got := history.Turn(h); got != "" {
		t.Errorf("it says %q", got)
	}
	if got := history.Turn(&history.History{Kind: store.KindLease}); got != "" {
		t.Errorf("of no calls it says %q", got)
	}
}

func TestNothingToDraw(t *testing.T) {
	h := &history.History{Kind: store.KindLease}
	if got := history.Ladder(h); got != "no calls\n" {
		t.Errorf("drawn as %q", got)
	}
	if err := history.HTML(&bytes.Buffer{}, h); err != nil {
		t.Error(err)
	}
}

// What is saved is a format that others read: it does not change by accident.
func TestFileFormat(t *testing.T) {
	var file bytes.Buffer
	if err := story().Write(&file); err != nil {
		t.Fatal(err)
	}
	golden(t, "story.jsonl", file.Bytes())
	_, j, err := history.JudgeFile(&file)
	if err != nil || j.Verdict != history.Illegal || len(j.Stuck) == 0 {
		t.Errorf("it is %v, error %v, stuck %v; want it illegal", j.Verdict, err, j.Stuck)
	}
}

// What can't be told is unknown, not legal.
func TestUnknown(t *testing.T) {
	lost := func() *history.History {
		h := story()
		h.Ops[3].Maybe = nil
		return h
	}
	noNow := story()
	noNow.Ops[0].Claimed.Now = 0
	tooMany := &history.History{Kind: store.KindLease}
	for i := range 60 {
		o := *story().Ops[0]
		c := *o.Claim
		c.ID, c.Instance, c.Overlap, c.Slot = store.ClaimID{byte(i), 1}, fmt.Sprint("i", i), store.OverlapAllow, c.Slot+int64(i)
		o.Claim, o.Claimed.Token = &c, o.Claimed.Token+store.Token((i*37)%60)
		tooMany.Ops = append(tooMany.Ops, &o)
	}
	for name, tc := range map[string]struct {
		h     *history.History
		steps int
		why   string
	}{
		"a lost answer and no reading": {lost(), 0, "whole history was never read"},
		"an answer without a now":      {noNow, 0, "says no now"},
		"too many orders":              {tooMany, 1000, "too many orders"},
		"no kind":                      {&history.History{}, 0, "has no rules"},
	} {
		if j := history.Judge(tc.h, tc.steps); j.Verdict != history.Unknown || !regexp.MustCompile(tc.why).MatchString(j.Reason) {
			t.Errorf("%s: %v, %q; want unknown, %q", name, j.Verdict, j.Reason, tc.why)
		}
	}
}

func ExampleJudge() {
	rec := history.NewRecorder("an example", store.KindLease)
	s := rec.Store("p1", answers{})
	ask := *story().Ops[0].Claim
	s.Claim(context.Background(), ask)
	ask.ID, ask.Instance = store.ClaimID{9}, "another"
	s.Claim(context.Background(), ask)

	j := history.Judge(rec.History(), 0)
	fmt.Println(j.Verdict)
	least, _ := history.Minimise(j.Culprit, 0, time.Now().Add(time.Minute))
	fmt.Println(len(least.Ops), "calls prove it")
	// Output:
	// illegal
	// 2 calls prove it
}

// answers grants everything.
type answers struct{ store.Store }

func (answers) Claim(_ context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 1_893_456_000_001, Left: req.Lease, Now: 1_893_456_000_001}, nil
}
