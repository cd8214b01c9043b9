package core

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

var update = flag.Bool("update", false, "write what the machine does into the golden files under testdata")

// TestScripts tells the machine the stories of testdata/*.txt. A story is a list
// of inputs; below each stand, marked with >, the actions that it must give.
// testdata/README.md has the words.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tellScript(string(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if got == string(text) {
				return
			}
			if !*update {
				t.Fatalf("%s: the machine does something else (-update accepts it):\n%s", file, firstDifference(string(text), got))
			}
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// tellScript runs a script and returns it with the actions that the machine
// gave. The error is about the script: a word that nobody knows, an answer that
// nobody asked for, a question without an answer.
func tellScript(text string) (string, error) {
	s := &script{instant: instant{mono: int64(time.Hour)}, kind: store.KindLease, seed: 1}
	var told []string
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, ">") {
			continue // what it gave when the script was written
		}
		told = append(told, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var more []string
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ") {
			i++
			told = append(told, lines[i])
			more = append(more, strings.TrimSpace(lines[i]))
		}
		s.out = nil
		if err := s.do(line, more); err != nil {
			return "", fmt.Errorf("line %d: %q: %w\nbefore it:\n%s", i+1, line, err, strings.Join(told[max(0, len(told)-15):], "\n"))
		}
		told = append(told, s.out...)
	}
	if err := s.end(); err != nil {
		return "", fmt.Errorf("at the end: %w\nbefore it:\n%s", err, strings.Join(told[max(0, len(told)-15):], "\n"))
	}
	return strings.Join(told, "\n") + "\n", nil
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			from := max(0, i-5)
			return fmt.Sprintf("line %d:\n   %s\nwant %s\ngot  %s\n     %s", i+1, strings.Join(w[min(from, len(w)):min(i, len(w))], "\n   "), a, b, strings.Join(g[min(i+1, len(g)):min(i+6, len(g))], "\n     "))
		}
	}
	return "no difference"
}

// script is a machine with the world around it: two clocks, a driver's timer,
// and the questions that wait for an answer.
type script struct {
	instant // now

	m       *machine
	kind    store.Kind
	seed    uint64
	maxRuns int
	grace   time.Duration
	jobs    []Job // added before the start

	timer int64 // monotonic: when the driver's timer fires
	day   string
	ids   byte
	skew  time.Duration // the store's clock − this instance's
	clockless,
	noRecalls, // recalls are answered at once: nothing is unfinished
	renewAll, // heartbeats are answered at once: renewed
	down, // connections are refused: every call fails at once, surely not applied
	locked, // so do claims, heartbeats and finishes
	idle bool

	open []*openCall
	out  []string
}

// openCall is a call to the store, or a handler, that has not come back.
type openCall struct {
	action
	what string // "claim", "heartbeat", "finish", "recall", "history", "handler"
	left bool   // the script says that it may stay open
}

func (c *openCall) String() string {
	switch {
	case c.run != nil:
		return fmt.Sprintf("%s %s %s", c.what, c.run.job.spec.Name, slotText(c.run.slot))
	case c.job != nil:
		return c.what + " " + c.job.spec.Name
	default:
		return c.what
	}
}

func (s *script) begin(at time.Time) {
	s.wall, s.day = at.UnixNano(), at.Format(time.DateOnly)
	s.m = newMachine(machineConfig{
		instance: "A", kind: s.kind, maxRuns: s.maxRuns, grace: s.grace,
		rand: rand.New(rand.NewPCG(1, s.seed)),
		newID: func() store.ClaimID {
			s.ids++
			return store.ClaimID{15: s.ids}
		},
	})
	for _, j := range s.jobs {
		s.m.add(s.instant, j)
	}
	s.turn()
}

// turn is what the driver does after each input: it lets the machine look at the
// clocks, does the actions, and sets its timer.
func (s *script) turn() {
	s.m.tick(s.instant)
	for {
		actions := slices.Clone(s.m.take())
		for _, a := range actions {
			s.act(a)
		}
		if len(actions) == 0 {
			break
		}
	}
	if s.m.idle() && !s.idle {
		s.idle = true
		line := "idle"
		for _, r := range s.m.stuckRuns() {
			line += fmt.Sprintf(", stuck: %s %s attempt=%d", r.Job, s.slot(r.Slot), r.Attempt)
		}
		s.say("%s", line)
	}
	s.timer = s.mono + int64(s.m.wake(s.instant))
}

// wait lets time pass, timer by timer.
func (s *script) wait(d time.Duration) error {
	until := s.mono + int64(d)
	for spins := 0; s.timer <= until; spins++ {
		if step := s.timer - s.mono; step > 0 {
			s.wall, s.mono, spins = s.wall+step, s.mono+step, 0
		}
		if spins == 100 {
			return fmt.Errorf("the machine spins: its timer fired %d times at %s", spins, s.clock())
		}
		s.turn()
	}
	s.wall, s.mono = s.wall+until-s.mono, until
	return nil
}

// act does an action: it is said, and what must be answered is kept.
func (s *script) act(a action) {
	c := &openCall{action: a}
	switch a.kind {
	case doEvent:
		s.say("event %s", s.eventText(a.event))
		return
	case doCancel:
		s.say("cancel %s %s cause=%s", a.run.job.spec.Name, s.slot(a.run.slot), causeText(a.cause))
		return
	case doClaim:
		c.what = "claim"
		q := s.m.claimRequest(a.run)
		s.say("claim %s %s after=%d %v id=%d", q.Job, s.slot(q.Slot), q.After, q.Reason, q.ID[15])
	case doBeat:
		c.what = "heartbeat"
		if s.renewAll && !s.down && !s.locked {
			s.m.beatAnswered(s.instant, a.run, store.HeartbeatAnswer{Renewed: true, Now: s.storeNow()}, nil)
			return
		}
		q := s.m.heartbeatRequest(a.run)
		s.say("heartbeat %s %s token=%d", q.Job, s.slot(q.Slot), q.Token)
	case doFinish:
		c.what = "finish"
		q := s.m.finishRequest(a.run)
		s.say("finish %s %s token=%d %v%s", q.Job, s.slot(q.Slot), q.Token, q.Outcome, quoted(" error=", q.Error))
	case doRecall:
		c.what = "recall"
		if s.noRecalls && !s.down {
			s.m.recallAnswered(s.instant, store.UnfinishedAnswer{Now: s.storeNow()}, nil)
			return
		}
		names := strings.Join(a.names, " ")
		if a.names == nil {
			names = "all"
		}
		s.say("recall %s", names)
	case doHistory:
		c.what = "history"
		s.say("history %s", a.job.spec.Name)
	case doStart:
		c.what = "handler"
		r := s.m.describe(a.run)
		s.say("start %s %s attempt=%d token=%d %v", r.Job, s.slot(r.Slot), r.Attempt, r.Token, r.Reason)
	}
	writes := a.kind == doClaim || a.kind == doBeat || a.kind == doFinish
	if s.down && a.kind != doStart || s.locked && writes {
		s.refuse(a)
		return
	}
	s.open = append(s.open, c)
}

// refuse answers a call to a store that is down.
func (s *script) refuse(a action) {
	err := failures["not-applied"]
	switch a.kind {
	case doClaim:
		s.m.claimAnswered(s.instant, a.run, store.ClaimAnswer{}, err)
	case doBeat:
		s.m.beatAnswered(s.instant, a.run, store.HeartbeatAnswer{}, err)
	case doFinish:
		s.m.finishAnswered(s.instant, a.run, store.FinishAnswer{}, err)
	case doRecall:
		s.m.recallAnswered(s.instant, store.UnfinishedAnswer{}, err)
	case doHistory:
		s.m.historyAnswered(s.instant, a.job, store.HistoryAnswer{}, err)
	}
}

func (s *script) storeNow() int64 {
	if s.clockless {
		return 0
	}
	return s.ms() + s.skew.Milliseconds()
}

// end says what was left without an answer.
func (s *script) end() error {
	if s.m == nil {
		return fmt.Errorf("the script never starts")
	}
	var open []string
	for _, c := range s.open {
		if !c.left {
			open = append(open, c.String())
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("not answered, and no leave line says that this is meant: %s", strings.Join(open, "; "))
	}
	return s.checkCounts()
}

// checkCounts compares the machine's counters with what they count.
func (s *script) checkCounts() error {
	var watched, waiting, occupied, repeated int
	for _, j := range s.m.jobs {
		for _, r := range j.runs {
			switch r.state {
			case ended:
				return fmt.Errorf("the ended run %s is still listed", slotText(r.slot))
			case watching:
				watched++
			case asking, confirming, finishing:
				waiting++
			}
			if r.repeats {
				repeated++
			}
			if r.occupies && !r.live {
				occupied++
			}
		}
	}
	occupied += len(s.m.handlers)
	if n := s.m.health.repeated; n < repeated || n > 0 && s.m.pending == 0 && len(s.m.handlers) == 0 {
		return fmt.Errorf("the machine counts %d writes that are repeated; it lists %d", n, repeated)
	}
	if watched != s.m.recall.watched || occupied != s.m.occupied || waiting > s.m.pending {
		return fmt.Errorf("the machine counts %d watched, %d occupied, %d pending; it has %d, %d, %d", s.m.recall.watched, s.m.occupied, s.m.pending, watched, occupied, waiting)
	}
	return nil
}

// TestScriptRunnerRefuses: a script that is not understood, or that leaves
// something open, must not pass.
func TestScriptRunnerRefuses(t *testing.T) {
	const start = "nothing-unfinished\njob a every=10s jitter=0s catchup=off\nstart 2026-01-01T10:00:05\n"
	for _, tt := range []struct{ name, script, want string }{
		{"nothing", "# only a comment\n", "never starts"},
		{"unknown word", start + "sleep 5s\n", `unknown word "sleep"`},
		{"unknown option", "job a evry=10s every=10s\n", "unknown options"},
		{"left over word", start + "wait 5s twice\n", "left over"},
		{"missing word", start + "wait\n", "a word is missing"},
		{"before start", "wait 5s\n", "before start"},
		{"nobody asked", start + "claim a 10:00:10 finished\n", "0 open calls"},
		{"other slot", start + "wait 5s\nclaim a 10:00:20 finished\n", "0 open calls"},
		{"unknown verdict", start + "wait 5s\nclaim a 10:00:10 perhaps\n", "unknown verdict"},
		{"unanswered claim", start + "wait 5s\n", "not answered"},
		{"running handler", start + "wait 5s\nclaim a 10:00:10 won attempt=1 token=1 left=30s\n", "handler a"},
		{"back in time", start + "until 10:00:01\n", "past"},
		{"bad job", "job a every=10s jitter=9s\n", "jitter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tellScript(tt.script)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}
