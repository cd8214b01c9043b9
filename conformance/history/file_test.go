package history_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// What was saved is read again, call by call.
func TestSavedIsRead(t *testing.T) {
	all := model.New(model.Options{})
	h := record(t, 5, store.KindLease, 2*time.Second, func() store.Store { return newFlaky(all, 5, false) })
	one := *h.Ops[slices.IndexFunc(h.Ops, func(o *history.Op) bool { return o.Class == history.Lost })]
	one.InFlight, one.Maybe = true, []history.Effect{{At: 0}, {At: 1_893_456_000_123, Token: 7}}
	other := one
	other.Maybe = []history.Effect{} // which is not the same as not known
	h.Ops = append(h.Ops, &one, &other)
	var file bytes.Buffer
	if err := h.Write(&file); err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != h.Kind || got.About != h.About || len(got.Ops) != len(h.Ops) {
		t.Fatalf("read kind %v, about %q, %d calls; want %v, %q, %d", got.Kind, got.About, len(got.Ops), h.Kind, h.About, len(h.Ops))
	}
	seen := map[history.Class]bool{}
	for i, o := range h.Ops {
		seen[o.Class] = true
		if !reflect.DeepEqual(got.Ops[i], o) {
			t.Fatalf("call %d\nread  %+v\nwrote %+v", i, got.Ops[i], o)
		}
	}
	if len(seen) < 3 {
		t.Errorf("only the classes %v were tried", seen)
	}
	var again bytes.Buffer
	if err := got.Write(&again); err != nil || !bytes.Equal(again.Bytes(), file.Bytes()) {
		t.Errorf("written again it differs, error %v", err)
	}
}

const (
	head  = `{"anarchon-history":1,"kind":"lease"}` + "\n"
	claim = `"claim":{"job":"j","slot":1893456000000,"id":"0123456789abcdef0123456789abcdef","instance":"a","reason":"scheduled","lease":"1s","overlap":"skip","maxAttempts":3,"historySize":10}`
)

func line(rest string) string {
	return head + `{"process":"p1","call":"1ms","return":"2ms",` + rest + "}\n"
}

// What is no history is refused, with the line and the reason.
func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":           "the file is empty",
		"\n":         "line 1: it must begin with",
		"PK\x03\x04": "line 1: it must begin with",
		`{"anarchon-history":2,"kind":"lease","new":1}`: "version 2; this program reads version 1",
		`{"anarchon-history":1}`:                        "kind is missing",
		`{"anarchon-history":1,"kind":"odd"}`:           `unknown kind "odd"`,
		`{"anarchon-history":1,"kind":"lease","x":1}`:   `unknown field "x"`,
		head + "{}":                "unknown class",
		head + "null":              "unknown class",
		line(`"class":"answered"`): "it has 0 requests",
		line(claim + `,"history":{"job":"j","limit":1},"class":"lost"`):                               "it has 2 requests",
		line(claim + `,"class":"answered"`):                                                           "has the answer to its request",
		line(claim + `,"class":"lost","claimed":{"verdict":"won"}`):                                   "any other has none",
		line(claim + `,"class":"answered","beaten":{"renewed":true}`):                                 "has the answer to its request",
		line(claim + `,"class":"answered","claimed":{"verdict":"maybe"}`):                             `unknown verdict "maybe"`,
		line(claim + `,"class":"answered","claimed":{"verdict":"won","attempt":-1}`):                  "out of bounds",
		line(claim + `,"class":"answered","claimed":{"verdict":"won","token":9223372036854775807}`):   "out of bounds",
		line(claim + `,"class":"lost","maybe":[{"at":9223372036854775807}]`):                          "out of bounds",
		line(`"heartbeat":{"job":"","slot":1,"token":1,"lease":"1s"},"class":"lost"`):                 "job is empty",
		line(`"finish":{"job":"j","slot":1,"token":1,"outcome":"success","id":"xyz"},"class":"lost"`): `claim id "xyz"`,
		strings.Replace(line(claim+`,"class":"lost"`), `"2ms"`, `"0ms"`, 1):                           "a call returns after it was made",
		strings.Replace(line(claim+`,"class":"lost"`), `"2ms"`, `"2"`, 1):                             "missing unit",
		line(claim+`,"class":"lost"`) + "{} {}":                                                       "line 3: there is more after the object",
	} {
		if _, err := history.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", text, err, want)
		}
	}
}

// Whatever is read is judged and drawn without a panic, within the steps allowed, and
// reads the same when it is written again.
func FuzzRead(f *testing.F) {
	all := model.New(model.Options{})
	var file bytes.Buffer
	h := &history.History{Kind: store.KindLease}
	rec := history.NewRecorder("", store.KindLease)
	s := rec.Store("p1", all)
	req := store.ClaimRequest{Job: "j", Slot: time.Now().UnixMilli(), ID: store.ClaimID{1}, Instance: "a", Reason: store.ReasonScheduled, Lease: time.Second, MaxEarly: time.Minute, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 3, HistorySize: 10}
	a, _ := s.Claim(f.Context(), req)
	s.Heartbeat(f.Context(), store.HeartbeatRequest{Job: "j", Slot: req.Slot, Token: a.Token, Lease: time.Second})
	s.Unfinished(f.Context(), store.UnfinishedRequest{Jobs: []string{"j", "k"}})
	s.Finish(f.Context(), store.FinishRequest{Job: "j", Slot: req.Slot, Token: a.Token, Outcome: store.OutcomeReleased, ID: req.ID})
	s.History(f.Context(), store.HistoryRequest{Job: "j", Limit: 5})
	h = rec.History()
	if err := h.Write(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(strings.Replace(file.String(), `"lease","about"`, `"claim-only","about"`, 1)))
	f.Add([]byte(line(claim + `,"class":"lost","maybe":[{"at":0},{"at":1893456000000,"token":3}]`)))
	f.Add([]byte(line(claim + `,"class":"answered","inFlight":true,"claimed":{"verdict":"won","attempt":1,"token":1893456000000,"left":"1s","now":1893456000000}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := history.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var first, second, page bytes.Buffer
		if err := h.Write(&first); err != nil {
			t.Fatalf("what was read can't be written: %v", err)
		}
		again, err := history.Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("what was written can't be read: %v", err)
		}
		if err := again.Write(&second); err != nil || first.String() != second.String() {
			t.Errorf("written twice it differs, error %v", err)
		}
		if j := history.Judge(h, 2000); j.Verdict == history.Illegal {
			least, _ := history.Minimise(j.Culprit, 2000, time.Now().Add(time.Second))
			h = least
		}
		history.Ladder(h)
		if err := history.HTML(&page, h); err != nil {
			t.Error(err)
		}
	})
}
