package natsstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// golden is what format 1 looks like; a change of it is a change of the format.
const golden = `{"id":"000102030405060708090a0b0c0d0e0f","instance":"i\u0000<1>","reason":"scheduled","status":"running","historySize":7,"fingerprint":"f"}`

func TestRecordFormat(t *testing.T) {
	q := claimOf("j", noon)
	for i := range q.ID {
		q.ID[i] = byte(i)
	}
	q.Instance, q.HistorySize, q.Fingerprint = "i\x00<1>", 7, "f"
	got := string(claimRecord(&q).encode())
	if want := strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(golden); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r, err := decodeRecord([]byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	if r.ID != q.ID.String() || r.Instance != q.Instance || r.Reason != q.Reason || r.Status != store.StatusRunning || r.HistorySize != 7 || r.Fingerprint != "f" {
		t.Errorf("%+v", r)
	}
}

// A finish writes back the fields that it does not know.
func TestRecordKeepsUnknownFields(t *testing.T) {
	r, err := decodeRecord([]byte(strings.Replace(golden, `{`, `{"later":{"a":[1,2]},"error":"old","big":12345678901234567890,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	s := &stored{record: r, seq: 5, tok: 5, time: 1000}
	w, recorded := decideFinish(s, &store.FinishRequest{Token: 5, Outcome: store.OutcomeFailed, Error: "new"})
	if w == nil || !recorded {
		t.Fatal("the finish writes nothing")
	}
	var got map[string]any
	if err := json.Unmarshal(w.encode(), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(w.encode()), `"big":12345678901234567890`) {
		t.Errorf("a big number changed: %s", w.encode())
	}
	want := map[string]any{"later": map[string]any{"a": []any{1.0, 2.0}}, "error": "new", "status": "failed", "token": 5.0, "startedAt": 1000.0, "instance": "i\x00<1>"}
	for field, value := range want {
		if fmt.Sprint(got[field]) != fmt.Sprint(value) {
			t.Errorf("%s is %v; want %v", field, got[field], value)
		}
	}
}

func TestDecodeRecordRefuses(t *testing.T) {
	for _, s := range []string{
		``, `null`, `[]`, `7`, `{}`, `{"id":"x"}`, `hello`,
		strings.Replace(golden, `"running"`, `"sleeping"`, 1),
		strings.Replace(golden, `"scheduled"`, `"whim"`, 1),
		strings.Replace(golden, `"historySize":7`, `"historySize":"7"`, 1),
	} {
		if r, err := decodeRecord([]byte(s)); err == nil {
			t.Errorf("%s is read as %+v", s, r)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(`{"id":"","token":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil || again.ID != r.ID || again.Instance != r.Instance || again.Status != r.Status || again.Token != r.Token || len(again.all) < len(r.all) {
			t.Errorf("%s\nis written as %s, which reads %+v, %v", b, r.encode(), again, err)
		}
	})
}

func FuzzParseStored(f *testing.F) {
	f.Add([]byte(`{"message":{"subject":"s","seq":7,"data":"eyJpZCI6IngifQ==","time":"2026-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"message":{"hdrs":"TkFUUy8xLjANCk5hdHMtU3RyZWFtLVNvdXJjZTogcyA3DQoNCg=="}}`))
	f.Add([]byte(`{"error":{"code":404,"err_code":10037}}`))
	f.Add([]byte(`{"stream":"s","seq":17}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseStored(b, find{"stream", "subject"})
		if err == nil && s != nil && (s.record == nil || s.Status == 0) {
			t.Errorf("%s is read as %+v", b, s)
		}
		p := parseAck(reply{data: b})
		if seq, ok := plainAck(b); ok && decodeAck(b).seq != seq {
			t.Errorf("%s is read as %d, and as %+v by the decoder", b, seq, decodeAck(b))
		}
		if n := p.outcomes(); n != 1 {
			t.Errorf("%s is read as %d outcomes: %+v", b, n, p)
		}
	})
}

// outcomes counts what an acknowledgement says; it must say one thing.
func (p published) outcomes() (n int) {
	for _, said := range []bool{p.seq > 0, p.refusal != nil, p.err != nil} {
		if said {
			n++
		}
	}
	return n
}

func TestPlainAck(t *testing.T) {
	for _, c := range []struct {
		text string
		seq  uint64 // 0: left to the decoder
	}{
		{`{"stream":"anarchon_x_claims","seq":17}`, 17},
		{`{"stream":"s","seq":18446744073709551615}`, 18446744073709551615},
		{`{"stream":"s","seq":18446744073709551616}`, 0},
		{`{"stream":"s","seq":0}`, 0},
		{`{"stream":"s","seq":017}`, 0},
		{`{"stream":"s","seq":-1}`, 0},
		{`{"stream":"s","seq":}`, 0},
		{`{"stream":"s","seq":1`, 0},
		{`{"stream":"s","seq":1,"duplicate":true}`, 0},
		{`{"stream":"s","domain":"d","seq":1}`, 0},
		{`{"stream":"","seq":1}`, 0},
		{`{"stream":"a\"b","seq":1}`, 0},
		{`{"error":{"code":503},"stream":"s","seq":1}`, 0},
		{``, 0},
	} {
		if seq, ok := plainAck([]byte(c.text)); seq != c.seq && ok || ok != (c.seq > 0) {
			t.Errorf("%s is read as %d, %v; want %d", c.text, seq, ok, c.seq)
		}
	}
}

func TestOriginOf(t *testing.T) {
	headers := func(value string) []byte { return []byte("NATS/1.0\r\n" + value + "\r\n\r\n") }
	for _, c := range []struct {
		headers []byte
		seq     uint64
		copied  bool
	}{
		{nil, 0, false},
		{headers("Other: 1"), 0, false},
		{headers("Nats-Stream-Source: anarchon_x_claims 1796064537798 > > subject"), 1796064537798, true}, // 2.15
		{headers("Nats-Stream-Source: anarchon_x_claims 7 > >"), 7, true},                                 // 2.10
		{headers("Nats-Stream-Source: odd"), 0, true},
		{headers("Nats-Stream-Source: odd seven"), 0, true},
		{[]byte("no headers"), 0, false},
	} {
		if seq, copied := originOf(c.headers); seq != c.seq || copied != c.copied {
			t.Errorf("%q: %d, %v; want %d, %v", c.headers, seq, copied, c.seq, c.copied)
		}
	}
}
