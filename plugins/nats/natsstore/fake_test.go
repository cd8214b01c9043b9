package natsstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// fake answers as JetStream does, but what a test says: for what a real server
// says seldom, or only in a cluster and a certain moment.
type fake struct {
	t  *testing.T
	nc *nats.Conn

	mu      sync.Mutex
	publish func(n int) string // the answer to publish number n; "" for none
	get     func(n int) string // to look-up number n
	counts  [2]int
}

// newFake opens a backend that talks to a fake.
func newFake(t *testing.T) (*fake, *Backend) {
	t.Helper()
	s := ownServer(t, &server.Options{})
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	f := &fake{t: t, nc: nc}
	o := map[string]any{"url": s.ClientURL(), "callTimeout": "1s"}
	set, err := readSettings(config(t, o))
	if err != nil {
		t.Fatal(err)
	}
	infos := map[string]*jetstream.StreamConfig{set.layout.claims: set.claimsConfig(1000), set.layout.history: set.historyConfig()}
	f.serve("$JS.API.STREAM.INFO.*", func(m *nats.Msg) string {
		b, err := json.Marshal(map[string]any{"config": infos[m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]]})
		if err != nil {
			panic(err)
		}
		return string(b)
	})
	f.serve("$JS.API.STREAM.PURGE.*", func(*nats.Msg) string { return `{"success":true}` })
	f.serve("$JS.API.STREAM.MSG.GET.*", func(m *nats.Msg) string {
		if strings.Contains(string(m.Data), "=probe") {
			return nothing(0)
		}
		return f.next(1)
	})
	f.serve("anarchon.>", func(m *nats.Msg) string {
		if strings.Contains(m.Subject, "=probe") {
			return refusalOf(10071, "wrong last sequence: 0")
		}
		return f.next(0)
	})
	return f, open(t, o)
}

func (f *fake) serve(subject string, answer func(*nats.Msg) string) {
	f.t.Helper()
	_, err := f.nc.Subscribe(subject, func(m *nats.Msg) {
		if a := answer(m); a != "" {
			_ = m.Respond([]byte(a))
		}
	})
	if err == nil {
		err = f.nc.Flush()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) next(which int) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[which]++
	return []func(int) string{f.publish, f.get}[which](f.counts[which])
}

// script says what comes next; the numbers begin with 1.
func (f *fake) script(publish, get func(n int) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish, f.get, f.counts = publish, get, [2]int{}
}

func refusalOf(code int, text string) string {
	return fmt.Sprintf(`{"error":{"code":400,"err_code":%d,"description":%q},"stream":"anarchon_default_claims","seq":0}`, code, text)
}

func always(answer string) func(int) string { return func(int) string { return answer } }

// nothing is the answer about a subject without a message.
func nothing(int) string {
	return `{"error":{"code":404,"err_code":10037,"description":"no message found"}}`
}

// message is the answer about a subject with one.
func message(seq uint64, r *record) string {
	b, err := json.Marshal(map[string]any{"message": map[string]any{"subject": "anarchon.default.1000.j.0", "seq": seq, "data": r.encode(), "time": time.UnixMilli(noon)}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// after answers with nothing n times, then with that.
func after(n int, answer string) func(int) string {
	return func(i int) string {
		if i <= n {
			return nothing(i)
		}
		return answer
	}
}

func TestRefusedClaims(t *testing.T) {
	f, b := newFake(t)
	q := claimOf("j", noon)
	stranger := claimOf("j", noon)
	stranger.Instance = "b"
	const base = 1000 // the era
	own, others := message(7, claimRecord(&q)), message(7, claimRecord(&stranger))
	const constant, inProcess, taken = "wrong last sequence", "duplicate message id is in process", "wrong last sequence: 7"
	const full, disk = "maximum messages per subject exceeded", "write 1.blk: no space left on device"
	won := store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: base + 7}
	lost := store.ClaimAnswer{Verdict: store.VerdictFinished, Status: store.StatusRunning}
	for _, c := range []struct {
		name    string
		publish string
		get     func(int) string
		want    store.ClaimAnswer
		class   error
		text    string
	}{
		{"granted", `{"stream":"anarchon_default_claims","seq":7}`, nothing, won, nil, ""},
		{"10071, another's", refusalOf(10071, taken), always(others), lost, nil, ""},
		{"10071, our own, whose answer was lost", refusalOf(10071, taken), always(own), won, nil, ""},
		{"10071, forgotten just now", refusalOf(10071, taken), nothing, store.ClaimAnswer{}, store.ErrNotApplied, "forgotten just now"},
		{"10071, and the record can't be read", refusalOf(10071, taken), always(""), store.ClaimAnswer{}, store.ErrUnknown, "could not be read"},
		{"10071, and the stream is gone", refusalOf(10071, taken), always(refusalOf(10059, "stream not found")), store.ClaimAnswer{}, store.ErrUnknown, "stream not found"},
		{"10164, another's at last", refusalOf(10164, constant), after(3, others), lost, nil, ""},
		{"10164, our own at last", refusalOf(10164, constant), after(3, own), won, nil, ""},
		{"10164, never seen", refusalOf(10164, constant), nothing, store.ClaimAnswer{}, store.ErrUnknown, "same claim id"},
		{"10158, another's at last", refusalOf(10158, inProcess), after(1, others), lost, nil, ""},
		{"10158, our own at last", refusalOf(10158, inProcess), after(1, own), won, nil, ""},
		{"10158, never seen", refusalOf(10158, inProcess), nothing, store.ClaimAnswer{}, store.ErrUnknown, "10158"},
		{"10077, another's", refusalOf(10077, full), always(others), lost, nil, ""},
		{"10077, our own", refusalOf(10077, full), always(own), won, nil, ""},
		{"10077, a limit", refusalOf(10077, full), nothing, store.ClaimAnswer{}, store.ErrNotApplied, "limit by count or size"},
		{"10077, the disk", refusalOf(10077, disk), nothing, store.ClaimAnswer{}, store.ErrUnknown, "no space left"},
		{"10047, no room", refusalOf(10047, "insufficient storage resources available"), nothing, store.ClaimAnswer{}, store.ErrNotApplied, "raise it"},
		{"another stream took it", refusalOf(10060, "expected stream does not match"), nothing, store.ClaimAnswer{}, store.ErrNotApplied, "another stream"},
		{"a code of a later server", refusalOf(10999, "new"), nothing, store.ClaimAnswer{}, store.ErrUnknown, "new"},
		{"no answer", "", nothing, store.ClaimAnswer{}, store.ErrUnknown, "no answer"},
		{"no JSON", "hello", nothing, store.ClaimAnswer{}, store.ErrUnknown, "JSON"},
		{"an empty answer", "{}", nothing, store.ClaimAnswer{}, store.ErrUnknown, "another program"},
		{"no record of ours", refusalOf(10071, taken), always(`{"message":{"seq":7,"data":"aGVsbG8="}}`), store.ClaimAnswer{}, store.ErrUnknown, "another program wrote it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.script(always(c.publish), c.get)
			a, err := b.Claim(t.Context(), q)
			if a != c.want || (err == nil) != (c.class == nil) || err != nil && (!errors.Is(err, c.class) || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("%+v, %v; want %+v, %v", a, err, c.want, c.class)
			}
			if c.class == store.ErrUnknown && !store.IsUnknown(err) {
				t.Errorf("%v is also of another class", err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.counts[0] != 1 {
				t.Errorf("the claim was sent %d times", f.counts[0])
			}
		})
	}
}

// A batch's items fare each as it must, and one that must wait holds up none.
func TestRefusedBatch(t *testing.T) {
	f, b := newFake(t)
	qs := []store.ClaimRequest{claimOf("a", noon), claimOf("b", noon), claimOf("", noon), claimOf("c", noon), claimOf("d", noon)}
	qs[4].After = 1
	f.script(func(n int) string {
		return []string{refusalOf(10071, "wrong last sequence: 1"), `{"stream":"s","seq":9}`, refusalOf(10164, "wrong last sequence")}[n-1]
	}, func(n int) string {
		switch n {
		case 1: // d, which was not published
			return nothing(n)
		case 2: // a
			return message(1, claimRecord(&qs[0]))
		default: // c
			return after(5, message(3, claimRecord(&qs[3])))(n)
		}
	})
	rs := b.ClaimBatch(t.Context(), qs)
	want := []store.ClaimAnswer{
		{Verdict: store.VerdictWon, Attempt: 1, Token: 1001}, {Verdict: store.VerdictWon, Attempt: 1, Token: 1009}, {},
		{Verdict: store.VerdictWon, Attempt: 1, Token: 1003}, {Verdict: store.VerdictFinished},
	}
	for i, r := range rs {
		if r.Answer != want[i] || (r.Err != nil) != (i == 2) {
			t.Errorf("item %d: %+v; want %+v", i, r, want[i])
		}
	}
	if !errors.Is(rs[2].Err, store.ErrInvalid) {
		t.Errorf("%v", rs[2].Err)
	}
}

func TestRefusedFinishes(t *testing.T) {
	f, b := newFake(t)
	q := claimOf("j", noon)
	running := claimRecord(&q)
	failed := *running
	failed.Status, failed.Token = store.StatusFailed, 1007
	req := finishOf(q, 1007, store.OutcomeSuccess)
	ok := `{"stream":"s","seq":8}`
	for _, c := range []struct {
		name     string
		publish  func(int) string
		get      func(int) string
		recorded bool
		class    error
		text     string
	}{
		{"recorded", always(ok), always(message(7, running)), true, nil, ""},
		{"nothing known", always(ok), nothing, false, nil, ""},
		{"in flight, then free", func(n int) string {
			if n < 3 {
				return refusalOf(10164, "wrong last sequence")
			}
			return ok
		}, always(message(7, running)), true, nil, ""},
		{"somebody was faster", always(refusalOf(10071, "wrong last sequence: 8")), func(n int) string {
			if n == 1 {
				return message(7, running)
			}
			return message(8, &failed)
		}, false, nil, ""},
		{"never free", always(refusalOf(10071, "wrong last sequence: 8")), always(message(7, running)), false, store.ErrNotApplied, "ask again"},
		{"full", always(refusalOf(10077, "maximum messages per subject exceeded")), always(message(7, running)), false, store.ErrNotApplied, "limit"},
		{"the disk", always(refusalOf(10077, "no space left on device")), always(message(7, running)), false, store.ErrUnknown, "space"},
		{"no answer to the read", always(ok), always(""), false, store.ErrNotApplied, "no answer"},
		{"no answer to the write", always(""), always(message(7, running)), false, store.ErrUnknown, "no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.script(c.publish, c.get)
			a, err := b.Finish(t.Context(), req)
			if a.Recorded != c.recorded || (err == nil) != (c.class == nil) || err != nil && (!errors.Is(err, c.class) || !strings.Contains(err.Error(), c.text)) {
				t.Errorf("%+v, %v; want %v, %v", a, err, c.recorded, c.class)
			}
		})
	}
}

// The real server's 10077: an operator put a limit on the stream while we ran. A
// slot that is taken stays taken, and a finish says what is wrong.
func TestLimitWhileRunning(t *testing.T) {
	js := admin(t, sharedURL(t))
	o := options(t)
	b := open(t, o)
	q := claimOf("j", noon)
	w := mustClaim(t, b, q, store.VerdictWon)
	edit(t, js, b.settings.layout.claims, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 1, true })
	mustClaim(t, b, claimOf("j", noon), store.VerdictFinished)
	if again := mustClaim(t, b, q, store.VerdictWon); again != w {
		t.Errorf("%+v; want %+v", again, w)
	}
	_, err := b.Finish(t.Context(), finishOf(q, w.Token, store.OutcomeSuccess))
	if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "10077") || !strings.Contains(err.Error(), "limit") {
		t.Errorf("%v; want not applied, 10077, and the limit named", err)
	}
	refusedWith(t, o, store.ErrNotApplied, "max_msgs_per_subject", "discard_new_per_subject")
}
