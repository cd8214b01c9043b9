package core

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// allEvents has each event type at least once, with all fields, and with those
// left out that may be.
func allEvents() []Event {
	run := Run{Job: "invoices/nightly", Slot: 1767225600000, ScheduledAt: store.Time(1767225600000), Attempt: 2, Token: 77, Reason: store.ReasonTakeover, Instance: "a"}
	err := errors.New("no space left")
	return []Event{
		Started{Run: run, At: store.Time(1767225601500)},
		Succeeded{Run: run, Took: 1500 * time.Millisecond},
		Succeeded{Run: run, Took: 1500 * time.Millisecond, Unproven: true},
		Failed{Run: run, Err: err, Took: time.Second},
		Interrupted{Run: run, HandedOver: true, Err: ErrStopped, Took: time.Second},
		Interrupted{Run: run, Took: time.Second, Unproven: true},
		Lost{Run: run, During: "heartbeat"},
		Unconfirmed{Run: run, Err: err, Cancelled: true},
		Unconfirmed{Run: run},
		Confirmed{Run: run},
		Unrecorded{Run: run, Outcome: store.OutcomeReleased, Err: err},
		Stuck{Run: run, Cause: ErrTimeout},
		Backup{Job: "a", Slot: 1767225600250, Holder: "b", Left: 20 * time.Second},
		Skipped{Job: "a", Slot: 1767225600000, Last: 1767225600000, Reason: SkipOverlap, Holder: "b"},
		Skipped{Job: "a", Slot: 1767225600000, Last: 1767225900000, Reason: SkipLate, By: 6 * time.Minute},
		Skipped{Job: "a", Slot: 1767225600000, Last: 1767225600000, Reason: SkipUnreachable, Err: err},
		Skipped{Job: "a", Slot: 1767225600000, Last: 1767225600000, Reason: SkipStopped},
		ClockJump{By: -time.Hour},
		ClockSkew{By: 2 * time.Second},
		ClockSkew{By: time.Hour, Severe: true},
		Paused{For: 11 * time.Second, Lease: 30 * time.Second},
		StoreError{During: "claim", Err: err},
		StoreBack{Down: time.Minute},
		ScheduleMismatch{Job: "a", Ours: "every 10s", Theirs: "every 15s"},
		ScheduleBroken{Job: "a", Panic: "index out of range"},
		Warning{Job: "a", Text: "the interval is short"},
		Warning{Text: "eviction is on"},
		EventsDropped{Count: 12},
		schedulerRuns{on: store.Description{Product: "SQLite 3.53.4", Kind: store.KindLease}, jobs: 3},
	}
}

// TestEventLines: what operators read, and what their filters look for.
func TestEventLines(t *testing.T) {
	var got bytes.Buffer
	log := slog.New(slog.NewTextHandler(&got, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	for _, e := range allEvents() {
		logEvent(log, e)
	}
	const file = "testdata/eventlog.golden"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the lines are not those of %s (-update accepts them):\n%s", file, firstDifference(string(want), got.String()))
	}
}

// TestEveryEventHasALine: an event type that is added must get a line, and a
// place in allEvents.
func TestEveryEventHasALine(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range allEvents() {
		msg, _ := line(e)
		name := reflect.TypeOf(e).Name()
		seen[name] = true
		if strings.Contains(msg, name) {
			t.Errorf("%s has no line of its own: %q", name, msg)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Name.Name == "event" && !seen[f.Recv.List[0].Type.(*ast.Ident).Name] {
			t.Errorf("allEvents lacks %s", f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
}
