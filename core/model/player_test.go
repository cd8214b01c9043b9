package model

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/anarchon-go/anarchon/core/store"
)

// player plays the calls of a story:
//
//	at TIME WHO claims SLOT [name=value …]
//	at TIME WHO beats SLOT [name=value …]
//	at TIME WHO finishes SLOT OUTCOME [name=value …]
//	at TIME recall [name=value …]
//	at TIME history [name=value …]
//
// Times, slots and tokens are times of day, hours:minutes:seconds, of the first
// day of 1970; the clock may go back, and hours may be more than 24. A claim's
// id is by default its own for each instance, slot and after; a token the last
// one that the instance was granted for the slot.
type player struct {
	t     *testing.T
	now   int64
	store *Store
	token map[string]store.Token // by job, slot, instance
	id    map[string]store.ClaimID
	next  string // page of history
}

func newPlayer(t *testing.T, words []string, f Fault) *player {
	p := &player{t: t, token: map[string]store.Token{}, id: map[string]store.ClaimID{}}
	o := Options{Fault: f, Now: func() time.Time { return time.UnixMilli(p.now) }}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "claim-only":
			o.ClaimOnly = &ClaimOnly{}
		case "window":
			o.ClaimOnly.Memory.Window, _ = time.ParseDuration(value)
		case "runs":
			o.ClaimOnly.Memory.Runs, _ = strconv.Atoi(value)
		case "no-clock":
			o.ClaimOnly.NoClock = true
		case "no-fence":
			o.ClaimOnly.NoFence = true
		default:
			t.Fatalf("unknown word %q in a store directive", w)
		}
	}
	p.store = New(o)
	return p
}

// do plays one call and returns the lines of its answer.
func (p *player) do(words []string) ([]string, error) {
	plain, args, err := parseArgs(words)
	if err != nil {
		return nil, err
	}
	if len(plain) < 3 {
		return nil, errors.New("too few words")
	}
	if p.now, err = parseClock(plain[1]); err != nil {
		return nil, err
	}
	s := p.store.Namespace(args.text("ns", ""))
	switch {
	case plain[2] == "recall":
		return p.recall(s, args)
	case plain[2] == "history":
		return p.history(s, args)
	case len(plain) < 5:
		return nil, errors.New("too few words")
	}
	who, verb := plain[2], plain[3]
	slot, err := parseClock(plain[4])
	if err != nil {
		return nil, err
	}
	switch {
	case verb == "claims" && len(plain) == 5:
		return p.claim(s, args, who, slot)
	case verb == "beats" && len(plain) == 5:
		return p.beat(s, args, who, slot)
	case verb == "finishes" && len(plain) == 6:
		return p.finish(s, args, who, slot, plain[5])
	}
	return nil, fmt.Errorf("can't read %q", strings.Join(plain, " "))
}

func (p *player) claim(s *Store, args args, who string, slot int64) ([]string, error) {
	job, after := args.text("job", "j"), args.number("after", 0)
	req := store.ClaimRequest{
		Job: job, Slot: slot, Instance: who, After: after,
		ID:          p.claimID(args.text("id", fmt.Sprintf("%s %s %d %d", who, job, slot, after))),
		Reason:      store.ReasonScheduled,
		Lease:       args.duration("lease", 30*time.Second),
		MaxEarly:    args.duration("early", 10*time.Second),
		MaxLate:     args.duration("late", time.Minute),
		Overlap:     store.OverlapSkip,
		MaxAttempts: args.number("max", 3),
		HistorySize: args.number("history", 100),
		Fingerprint: args.text("fingerprint", ""),
	}
	if after > 0 {
		req.Reason = store.ReasonTakeover
	}
	if err := req.Overlap.UnmarshalText([]byte(args.text("overlap", "skip"))); err != nil {
		return nil, err
	}
	if err := args.unused(); err != nil {
		return nil, err
	}
	a, err := s.Claim(p.t.Context(), req)
	if err != nil {
		return refusal(err)
	}
	var b line
	b.add("%v", a.Verdict)
	b.when(a.Attempt != 0, "attempt %d", a.Attempt)
	b.when(a.Token != 0, "token %s", clock(int64(a.Token)))
	b.when(a.Holder != "", "holder %s", a.Holder)
	b.when(a.Slot != 0, "slot %s", clock(a.Slot))
	b.when(a.Status != 0, "%v", a.Status)
	switch a.Verdict {
	case store.VerdictWon, store.VerdictRunning, store.VerdictOverlap:
		b.add("left %v", a.Left)
	default:
		b.when(a.Left != 0, "left %v", a.Left)
	}
	b.when(a.By != 0, "by %v", a.By)
	b.when(a.Fingerprint != "", "fingerprint %s", a.Fingerprint)
	b.now(a.Now, p.now)
	if a.Verdict == store.VerdictWon {
		p.token[tokenKey(job, slot, who)] = a.Token
	}
	return b.lines(), nil
}

func (p *player) beat(s *Store, args args, who string, slot int64) ([]string, error) {
	job := args.text("job", "j")
	req := store.HeartbeatRequest{Job: job, Slot: slot, Token: p.tokenOf(args, job, slot, who), Lease: args.duration("lease", 30*time.Second)}
	if err := args.unused(); err != nil {
		return nil, err
	}
	a, err := s.Heartbeat(p.t.Context(), req)
	if err != nil {
		return refusal(err)
	}
	var b line
	b.when(a.Renewed, "renewed")
	b.when(!a.Renewed, "lost")
	b.now(a.Now, p.now)
	return b.lines(), nil
}

func (p *player) finish(s *Store, args args, who string, slot int64, outcome string) ([]string, error) {
	job := args.text("job", "j")
	req := store.FinishRequest{
		Job: job, Slot: slot, Token: p.tokenOf(args, job, slot, who), Error: args.text("error", ""),
		ID: p.claimID(args.text("id", fmt.Sprintf("%s %s %d 0", who, job, slot))),
	}
	if err := req.Outcome.UnmarshalText([]byte(outcome)); err != nil {
		return nil, err
	}
	if err := args.unused(); err != nil {
		return nil, err
	}
	a, err := s.Finish(p.t.Context(), req)
	if err != nil {
		return refusal(err)
	}
	var b line
	b.when(a.Recorded, "recorded")
	b.when(!a.Recorded, "lost")
	b.now(a.Now, p.now)
	return b.lines(), nil
}

func (p *player) recall(s *Store, args args) ([]string, error) {
	var req store.UnfinishedRequest
	if job := args.text("job", ""); job != "" {
		req.Jobs = []string{job}
	}
	if err := args.unused(); err != nil {
		return nil, err
	}
	a, err := s.Unfinished(p.t.Context(), req)
	if err != nil {
		return refusal(err)
	}
	var all []string
	for _, r := range a.Runs {
		var b line
		b.add("%s %s", r.Job, clock(r.Slot))
		b.add("attempt %d", r.Attempt)
		b.when(!r.Open, "released")
		b.add("holder %s", r.Holder)
		b.add("token %s", clock(int64(r.Token)))
		b.add("left %v", r.Left)
		b.add("counted %d", r.Counted)
		b.add("newest %s", clock(r.Newest))
		all = append(all, b.lines()...)
	}
	var end line
	end.when(len(all) == 0, "nothing")
	end.now(a.Now, p.now)
	return append(all, end.lines()...), nil
}

func (p *player) history(s *Store, args args) ([]string, error) {
	req := store.HistoryRequest{Job: args.text("job", "j"), Limit: args.number("limit", 100), Page: args.text("page", "")}
	if req.Page == "next" {
		req.Page = p.next
	}
	if err := args.unused(); err != nil {
		return nil, err
	}
	a, err := s.History(p.t.Context(), req)
	if err != nil {
		return refusal(err)
	}
	p.next = a.Next
	var all []string
	for _, r := range a.Attempts {
		var b line
		b.add("%s", clock(r.Slot))
		b.add("attempt %d", r.Attempt)
		b.add("token %s", clock(int64(r.Token)))
		b.add("%s", r.Instance)
		b.add("%v", r.Reason)
		b.add("%v", r.Status)
		b.when(r.HandedOver, "handed over")
		b.add("from %s", clock(r.StartedAt))
		b.when(r.EndedAt != 0, "to %s", clock(r.EndedAt))
		b.when(r.Error != "", "error %s", summary(r.Error))
		all = append(all, b.lines()...)
	}
	var end line
	end.when(len(all) == 0, "nothing")
	end.when(a.Next != "", "more")
	end.now(a.Now, p.now)
	return append(all, end.lines()...), nil
}

// claimID numbers the ids of a story.
func (p *player) claimID(name string) store.ClaimID {
	id, ok := p.id[name]
	if !ok {
		n := len(p.id) + 1
		id = store.ClaimID{14: byte(n >> 8), 15: byte(n)}
		p.id[name] = id
	}
	return id
}

func (p *player) tokenOf(args args, job string, slot int64, who string) store.Token {
	if at, given := args["token"]; given {
		delete(args, "token")
		token, err := parseClock(at)
		if err != nil {
			p.t.Fatal(err)
		}
		return store.Token(token)
	}
	return p.token[tokenKey(job, slot, who)]
}

func tokenKey(job string, slot int64, who string) string {
	return fmt.Sprintf("%q %d %s", job, slot, who)
}

func refusal(err error) ([]string, error) {
	return []string{"error: " + err.Error()}, nil
}

// line is the parts of an answer.
type line []string

func (b *line) add(format string, a ...any) { *b = append(*b, fmt.Sprintf(format, a...)) }

func (b *line) when(ok bool, format string, a ...any) {
	if ok {
		b.add(format, a...)
	}
}

// now adds the store's clock, where it is not what the story says.
func (b *line) now(got, want int64) { b.when(got != want, "now %s", clock(got)) }

func (b *line) lines() []string {
	if len(*b) == 0 {
		return nil
	}
	return []string{strings.Join(*b, ", ")}
}

// clock writes a time of day, with milliseconds if there are some.
func clock(at int64) string {
	sign := ""
	if at < 0 {
		sign, at = "-", -at
	}
	s := fmt.Sprintf("%s%02d:%02d:%02d", sign, at/3600_000, at/60_000%60, at/1000%60)
	if at%1000 != 0 {
		s += fmt.Sprintf(".%03d", at%1000)
	}
	return s
}

func parseClock(s string) (int64, error) {
	rest, negative := strings.CutPrefix(s, "-")
	parts := strings.SplitN(rest, ":", 3)
	if len(parts) != 3 {
		return 0, fmt.Errorf("%q is no time of day", s)
	}
	h, err1 := strconv.ParseInt(parts[0], 10, 64)
	m, err2 := strconv.ParseInt(parts[1], 10, 64)
	sec, err3 := time.ParseDuration(parts[2] + "s")
	at := h*3600_000 + m*60_000 + sec.Milliseconds()
	if negative {
		at = -at
	}
	return at, cmp.Or(err1, err2, err3)
}

// summary quotes a text, a long one by its size and beginning.
func summary(s string) string {
	if len(s) < 40 {
		return strconv.Quote(s)
	}
	valid := ""
	if !utf8.ValidString(s) {
		valid = ", not UTF-8"
	}
	return fmt.Sprintf("%.8q… (%d characters, %d bytes%s)", s, utf8.RuneCountInString(s), len(s), valid)
}
