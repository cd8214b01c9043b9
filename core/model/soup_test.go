package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// A soup throws claims, heartbeats and finishes at one job: fresh ones, and any
// that was ever sent, at any time, any number of times. It judges the answers by
// what was promised, not by the rules, and looks at the job from outside only.
type soup struct {
	rng  *rand.Rand
	job  *Job
	now  int64
	last store.Token

	overlaps []store.Overlap // that claims of this soup draw from
	history  int
	sent     []store.ClaimRequest
	grants   []grant
	trace    []string
	broken   string // the first promise that was broken
}

// grant is what the runner of an attempt knows.
type grant struct {
	req      store.ClaimRequest
	attempt  int
	token    store.Token
	at       int64         // of the grant
	recorded store.Outcome // of the finish that was recorded
	lost     bool          // a heartbeat was refused
}

const (
	second = int64(1000)
	gap    = 10 * second // between slots

	maxLease = 30 * time.Second // that anybody asks for
)

func newSoup(seed uint64, f Fault) *soup {
	s := &soup{rng: rand.New(rand.NewPCG(seed, 1)), job: NewJob(f), now: 1000 * second}
	s.overlaps = [][]store.Overlap{
		{store.OverlapSkip}, {store.OverlapAllow}, {store.OverlapSkip, store.OverlapAllow},
	}[s.rng.IntN(3)]
	s.history = 1 + s.rng.IntN(3)
	return s
}

func (s *soup) fail(format string, a ...any) {
	if s.broken == "" {
		s.broken = fmt.Sprintf(format, a...)
	}
}

// run takes steps until a promise is broken.
func (s *soup) run(steps int) {
	for range steps {
		s.step()
		if s.broken != "" {
			return
		}
	}
}

func (s *soup) step() {
	switch n := s.rng.IntN(100); {
	case n < 60:
		s.now += s.rng.Int64N(13) * second / 2
	case n < 62:
		s.now -= s.rng.Int64N(60) * second
	}
	before := s.job.Clone()
	open := before.Unfinished(s.now) // which also cuts leases, as any call does
	switch n := s.rng.IntN(10); {
	case n < 4:
		s.claim(before, open, s.fresh())
	case n < 6 && len(s.sent) > 0:
		s.claim(before, open, s.sent[s.rng.IntN(len(s.sent))])
	case n < 8 && len(s.grants) > 0:
		s.heartbeat(before, open, s.draw())
	case n < 9 && len(s.grants) > 0:
		s.finish(before, open, s.draw())
	case n < 10 && len(s.grants) > 0:
		s.stray(before, s.draw())
	}
	s.check(before, open)
}

// draw picks a grant, mostly a recent one.
func (s *soup) draw() *grant {
	n := len(s.grants)
	if s.rng.IntN(3) > 0 {
		return &s.grants[n-1-s.rng.IntN(min(3, n))]
	}
	return &s.grants[s.rng.IntN(n)]
}

func (s *soup) fresh() store.ClaimRequest {
	slot := s.now/gap*gap + gap*(s.rng.Int64N(5)-3)
	after := 0
	for _, g := range s.grants {
		if g.req.Slot == slot {
			after = g.attempt
		}
	}
	if s.rng.IntN(10) == 0 {
		after = s.rng.IntN(3)
	}
	n := len(s.sent) + 1
	req := store.ClaimRequest{
		Job: "j", Slot: slot, ID: store.ClaimID{byte(n), byte(n >> 8), 1}, After: after,
		Instance: string(rune('A' + s.rng.IntN(3))), Reason: store.ReasonScheduled,
		Lease:    time.Duration(10+s.rng.IntN(40)) * time.Second / 2,
		MaxEarly: 5 * time.Second, MaxLate: time.Duration(s.rng.IntN(15)) * time.Second,
		Overlap: s.overlaps[s.rng.IntN(len(s.overlaps))], MaxAttempts: 1 + s.rng.IntN(3), HistorySize: s.history,
	}
	s.sent = append(s.sent, req)
	return req
}

func (s *soup) claim(before *Job, open []store.UnfinishedRun, req store.ClaimRequest) {
	a, err := s.job.Claim(s.now, req)
	s.trace = append(s.trace, fmt.Sprintf("%d: claim %d id %x after %d lease %v %v max %d -> %v attempt %d token %d left %v",
		s.now, req.Slot, req.ID[:2], req.After, req.Lease, req.Overlap, req.MaxAttempts, a.Verdict, a.Attempt, a.Token, a.Left))
	if err != nil {
		s.fail("a claim with its own id is invalid: %v", err)
		return
	}
	own := slices.IndexFunc(s.grants, func(g grant) bool { return g.req.ID == req.ID })
	mine := s.ofSlot(req.Slot)
	held := find1(open, req.Slot)
	switch a.Verdict {
	case store.VerdictWon:
		if own >= 0 {
			g := s.grants[own]
			if !isOpen(open, &g) {
				s.fail("won again, though the attempt is over")
			}
			if g.attempt != a.Attempt || g.token != a.Token || held == nil || held.Left != a.Left || !s.job.Equal(before) {
				s.fail("a repeated claim is answered otherwise, or changes something")
			}
			return
		}
		s.checkGrant(before, open, req, a, mine)
		s.grants = append(s.grants, grant{req: req, attempt: a.Attempt, token: a.Token, at: s.now})
		s.last = max(s.last, a.Token)
	case store.VerdictRunning:
		live := held != nil && held.Left > 0
		if !live && req.After == len(mine) || live && (held.Left != a.Left || held.Holder != a.Holder) {
			s.fail("running is not true")
		}
	case store.VerdictOverlap:
		other := find1(open, a.Slot)
		if other == nil || other.Left != a.Left || other.Left <= 0 || a.Slot == req.Slot || req.Overlap != store.OverlapSkip && !s.saidSkip(other) {
			s.fail("overlap is not true")
		}
	case store.VerdictFinished:
		if held != nil || len(mine) == 0 {
			s.fail("finished is not true")
		} else if last := mine[len(mine)-1].recorded; last != 0 && last.Status() != a.Status {
			s.fail("a run that ended with %v is finished with %v", last, a.Status)
		}
	case store.VerdictSuperseded:
		if newest, ok := before.Newest(); !ok || newest <= req.Slot || a.Slot != newest || find1(s.job.Unfinished(s.now), req.Slot) != nil {
			s.fail("superseded is not true, or leaves the run unfinished")
		}
	case store.VerdictExhausted:
		if len(mine) == 0 || s.counted(mine) < mine[0].req.MaxAttempts || find1(s.job.Unfinished(s.now), req.Slot) != nil {
			s.fail("exhausted is not true, or leaves the run unfinished")
		}
	case store.VerdictLate:
		if len(mine) > 0 || s.now-req.Slot <= ms(req.MaxLate+store.LateTolerance) {
			s.fail("late is not true")
		}
	case store.VerdictEarly:
		if len(mine) > 0 || req.Slot-s.now <= ms(req.MaxEarly) {
			s.fail("early is not true")
		}
	}
	if own >= 0 && isOpen(open, &s.grants[own]) && a.Verdict != store.VerdictWon {
		s.fail("the holder's repeat is answered %v", a.Verdict)
	}
	if a.Verdict != store.VerdictWon && a.Verdict != store.VerdictSuperseded && a.Verdict != store.VerdictExhausted && !s.job.Equal(before) {
		s.fail("a refused claim changes something")
	}
}

// checkGrant judges a new grant.
func (s *soup) checkGrant(before *Job, open []store.UnfinishedRun, req store.ClaimRequest, a store.ClaimAnswer, mine []grant) {
	if a.Attempt != len(mine)+1 {
		s.fail("attempt %d granted after %d others", a.Attempt, len(mine))
	}
	if a.Token <= s.last || a.Token < store.Token(s.now) {
		s.fail("token %d after %d at %d", a.Token, s.last, s.now)
	}
	if a.Left != req.Lease {
		s.fail("a grant for %v leaves %v", req.Lease, a.Left)
	}
	if newest, granted := before.Newest(); granted && req.Slot < newest {
		s.fail("granted after a newer slot")
	}
	if late := s.now - req.Slot; len(mine) == 0 && (late > ms(req.MaxLate+store.LateTolerance) || -late > ms(req.MaxEarly)) {
		s.fail("granted %d ms after its slot", late)
	}
	for _, r := range open {
		switch {
		case r.Left <= 0:
		case r.Slot == req.Slot:
			s.fail("a live runner is replaced")
		case req.Overlap == store.OverlapSkip || s.saidSkip(&r):
			s.fail("granted beside a live run, though one of them said skip")
		}
	}
	if len(mine) > 0 && s.counted(mine) >= mine[0].req.MaxAttempts {
		s.fail("granted more attempts than the first claim allowed")
	}
	for _, r := range s.job.Unfinished(s.now) {
		if r.Slot < req.Slot && r.Left == 0 {
			s.fail("a grant leaves an older run unfinished that nobody holds")
		}
	}
	for _, g := range mine {
		if g.recorded != 0 && g.recorded != store.OutcomeReleased {
			s.fail("a run that ended is granted again")
		}
	}
}

func (s *soup) heartbeat(before *Job, open []store.UnfinishedRun, g *grant) {
	lease := time.Duration(1+s.rng.IntN(30)) * time.Second
	a := s.job.Heartbeat(s.now, store.HeartbeatRequest{Job: "j", Slot: g.req.Slot, Token: g.token, Lease: lease})
	s.trace = append(s.trace, fmt.Sprintf("%d: heartbeat %d token %d lease %v -> %v", s.now, g.req.Slot, g.token, lease, a.Renewed))
	if a.Renewed != isOpen(open, g) {
		s.fail("a heartbeat of an attempt that is open=%v is renewed=%v", !a.Renewed, a.Renewed)
		return
	}
	if a.Renewed && g.lost {
		s.fail("renewed after lost")
	}
	g.lost = !a.Renewed
	if !a.Renewed {
		if !s.job.Equal(before) {
			s.fail("a heartbeat that is lost changes something")
		}
		return
	}
	want := max(lease, find1(open, g.req.Slot).Left)
	if now := find1(s.job.Unfinished(s.now), g.req.Slot); now == nil || now.Left != want {
		s.fail("a renewed lease has not %v left", want)
	}
}

func (s *soup) finish(before *Job, open []store.UnfinishedRun, g *grant) {
	o := []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeReleased}[s.rng.IntN(3)]
	if g.recorded != 0 && s.rng.IntN(4) > 0 {
		o = g.recorded // a runner repeats itself
	}
	a := s.job.Finish(s.now, store.FinishRequest{Job: "j", Slot: g.req.Slot, Token: g.token, Outcome: o})
	s.trace = append(s.trace, fmt.Sprintf("%d: finish %d token %d %v -> %v", s.now, g.req.Slot, g.token, o, a.Recorded))
	switch {
	case isOpen(open, g):
		if !a.Recorded {
			s.fail("the finish of an open attempt is lost")
		}
		if isOpen(s.job.Unfinished(s.now), g) {
			s.fail("a recorded finish leaves the attempt open")
		}
		g.recorded = o
	case !s.job.Equal(before):
		s.fail("the finish of an attempt that is over changes something")
	case a.Recorded && g.recorded != o:
		s.fail("%v is recorded after the attempt ended otherwise", o)
	case !a.Recorded && g.recorded == o && s.remembered(g):
		s.fail("a repeated finish is lost, though its record is there")
	}
}

// stray sends what no runner has: a token that is one off, or of another slot.
func (s *soup) stray(before *Job, g *grant) {
	slot, token := g.req.Slot, g.token+store.Token(s.rng.IntN(3)-1)
	if token == g.token {
		slot += gap
	}
	for _, other := range s.grants {
		if other.req.Slot == slot && other.token == token {
			return
		}
	}
	s.trace = append(s.trace, fmt.Sprintf("%d: heartbeat and finish %d with stray token %d", s.now, slot, token))
	beat := s.job.Heartbeat(s.now, store.HeartbeatRequest{Job: "j", Slot: slot, Token: token, Lease: time.Minute})
	end := s.job.Finish(s.now, store.FinishRequest{Job: "j", Slot: slot, Token: token, Outcome: store.OutcomeSuccess})
	if beat.Renewed || end.Recorded || !s.job.Equal(before) {
		s.fail("a token that was never granted for the slot is accepted, or changes something")
	}
}

// TestSoup: no soup breaks a promise.
func TestSoup(t *testing.T) {
	won := 0
	for seed := range uint64(300) {
		s := newSoup(seed, NoFault)
		s.run(150)
		won += len(s.grants)
		if s.broken != "" {
			t.Fatalf("seed %d: %s\n%s\n%v", seed, s.broken, s.story(), s.job)
		}
	}
	if won < 2000 {
		t.Errorf("only %d grants: the soup is too thin to prove much", won)
	}
}

// TestSoupFindsFaults: the soup is no formality. It finds each fault of the
// rules, but for those named below.
func TestSoupFindsFaults(t *testing.T) {
	const ids, oneSize, text = "each claim has its own id", "each soup has one history size", "no errors, and no pages but its own"
	invisible := map[Fault]string{
		FaultIDAnyInstance: ids, FaultIDAnySlot: ids, FaultHistorySizeFirst: oneSize,
		FaultErrorLost: text, FaultErrorUncut: text, FaultErrorBytes: text, FaultHistoryPageAny: text,
	}
	for _, f := range Faults(store.KindLease) {
		if faults[f].job == nil {
			continue // the soup has one job and no store
		}
		why, unseen := invisible[f]
		seeds := uint64(400)
		if unseen {
			seeds = 10
		}
		found := false
		for seed := range seeds {
			s := newSoup(seed, f)
			s.run(150)
			if s.broken != "" {
				found = true
				if testing.Verbose() {
					t.Logf("%v: seed %d, %d calls: %s", f, seed, len(s.trace), s.broken)
				}
				break
			}
		}
		if found == unseen {
			t.Errorf("fault %v (%s): found=%v; it can't be seen because %q", f, f.Doc(), found, why)
		}
	}
}

// story is the last calls, for a failure's report.
func (s *soup) story() string {
	text := ""
	for _, line := range s.trace[max(0, len(s.trace)-30):] {
		text += line + "\n"
	}
	return text
}
