package core

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// simCase is a story that is played as it is written: each clause of the
// protocol, and some of core's rules, are there because of one.
type simCase struct {
	name   string
	nodes  int
	job    simJob
	play   func(w *simWorld) // arranges what happens
	length time.Duration     // 0: until 0:18, with the slot 0:10 only
	starts int               // so many handlers start

	// Without the clause the story ends badly: with this fault of the store the
	// invariant is broken.
	fault     model.Fault
	breaks    string
	tolerates string // the invariant that is broken before, and is not what the story is about
}

// TestSimulationCases plays each story with a right store, where nothing may be
// broken, and with the faulty one.
func TestSimulationCases(t *testing.T) {
	for _, c := range simCases {
		t.Run(c.name, func(t *testing.T) {
			w, started := c.run(model.NoFault)
			if w.broken != nil {
				t.Fatal(w.story())
			}
			if started != c.starts {
				t.Errorf("%d handlers started; in this story it is %d", started, c.starts)
			}
			if c.fault == model.NoFault {
				return
			}
			if w, _ := c.run(c.fault); w.broken == nil || w.broken.rule != c.breaks {
				t.Errorf("with the fault %v: %v; want: %s", c.fault, w.broken, c.breaks)
			}
		})
	}
}

func (c *simCase) run(f model.Fault) (w *simWorld, started int) {
	c.job.name = "job"
	if c.length == 0 {
		c.length = 18 * time.Minute
	}
	p := &simPlan{length: c.length, kind: store.KindLease, nodes: c.nodes, jobs: []simJob{c.job}, fault: f,
		skews: make([]time.Duration, c.nodes), maxRuns: make([]int, c.nodes)}
	for i := range p.skews {
		p.skews[i] = time.Duration(-i) * time.Second // so a asks first, then b
	}
	w = newSimWorld(p, &simCoverage{})
	if f != model.NoFault {
		w.tolerated = c.tolerates
	}
	for _, n := range w.nodes {
		w.at(clock(0, 5), n.start)
	}
	c.play(w)
	w.run(int64(p.length))
	started = w.seen.Started
	w.end()
	return w, started
}

// caseJob is due every 10 minutes and works for a while.
func caseJob(works time.Duration, first, second Timing) simJob {
	for _, t := range []*Timing{&first, &second} {
		t.Jitter, t.CatchUp = Disabled, Disabled
	}
	return simJob{schedule: Every(10 * time.Minute), timings: [2]Timing{first, second}, work: simWorkload{typical: works, alwaysSame: true}}
}

func sameTiming(works time.Duration, t Timing) simJob { return caseJob(works, t, t) }

// clock is a time of the story.
func clock(minutes, seconds float64) int64 {
	return int64((minutes*60 + seconds) * float64(time.Second))
}

// fates decides what becomes of a node's next calls of a verb, in order.
func (w *simWorld) fates(node, verb string, fates ...simFate) {
	before := w.net.scripted
	w.net.scripted = func(c *simCall) (simFate, bool) {
		if c.p.node.name == node && c.verb == verb && len(fates) > 0 && w.now > clock(9, 0) {
			f := fates[0]
			fates = fates[1:]
			return f, true
		}
		if before != nil {
			return before(c)
		}
		return simFate{there: time.Millisecond, back: time.Millisecond}, true
	}
}

var (
	gone   = simFate{lost: true}
	muted  = simFate{there: time.Millisecond, mute: true}
	copied = func(later time.Duration) simFate {
		return simFate{there: time.Millisecond, back: time.Millisecond, copies: []time.Duration{later}}
	}
)

var simCases = []simCase{
	{
		// A copy of a's claim arrives when its attempt, and b's after it, are
		// long dead. Granted again, it would be held by an owner who does not
		// know, and use an attempt up: in the end the run would be exhausted
		// though hardly any handler started.
		name: "copy-of-a-claim", nodes: 2, job: sameTiming(time.Minute, Timing{MaxAttempts: 3}),
		play: func(w *simWorld) {
			w.fates("a", "claim", copied(90*time.Second))
			w.at(clock(10, 5), w.nodes[0].crash)
			w.at(clock(10, 40), w.nodes[1].crash)
			w.at(clock(13, 0), w.nodes[0].start)
		},
		starts: 3, fault: model.FaultAfterIgnored, breaks: ruleOneWish,
	},
	{
		// A copy of a's claim arrives when its run has ended: it is not won
		// again.
		name: "copy-of-a-claim-of-an-ended-run", nodes: 1, job: sameTiming(time.Second, Timing{}),
		play:   func(w *simWorld) { w.fates("a", "claim", copied(90*time.Second)) },
		starts: 1, fault: model.FaultRepeatWhenOver, breaks: ruleDead,
	},
	{
		// a hands its run over. A copy of its heartbeat arrives then: the
		// attempt is dead for ever.
		name: "copy-of-a-heartbeat-after-a-hand-over", nodes: 1, job: sameTiming(2*time.Minute, Timing{}),
		play: func(w *simWorld) {
			w.fates("a", "heartbeat", copied(20*time.Second))
			w.at(clock(10, 8), func() { w.nodes[0].proc.stop() })
			w.at(clock(11, 0), w.nodes[0].start)
		},
		starts: 2, fault: model.FaultHeartbeatRevivesReleased, breaks: ruleDead,
	},
	{
		// History keeps one run, and 0:10 ends after 0:20. What is dropped is
		// the oldest slot, not what ended first; so b, which was frozen and asks
		// for 0:20 only then, is told that it has ended.
		name: "newest-slot-is-known-for-ever", nodes: 2, length: 28 * time.Minute,
		job: func() simJob {
			j := sameTiming(10*time.Minute+20*time.Second, Timing{Overlap: Allow, HistorySize: 1})
			j.work.shorter = map[int]time.Duration{20: 10 * time.Second}
			return j
		}(),
		play: func(w *simWorld) {
			w.at(clock(19, 50), func() { w.nodes[1].pause(45*time.Second, false) })
		},
		starts: 2, fault: model.FaultMemoryIsHistory, breaks: ruleOneWinner,
	},
	{
		// a dies, and its lease ends while b is frozen. On waking b runs the
		// next slot first: the old run is closed with that grant.
		name: "older-run-is-closed", nodes: 2, length: 28 * time.Minute, job: sameTiming(time.Minute, Timing{Lease: 10 * time.Minute, Heartbeat: 4 * time.Minute}),
		play: func(w *simWorld) {
			w.at(clock(10, 5), w.nodes[0].crash)
			w.at(clock(19, 50), func() { w.nodes[1].pause(20*time.Second, false) })
		},
		starts: 2, fault: model.FaultOlderStayOpen, breaks: ruleRecall,
	},
	{
		// a's run takes longer than the interval, and a newer one is granted
		// beside it. Then a is frozen for longer than its lease. On waking its
		// heartbeat is renewed: nobody has taken the run over.
		name: "heartbeat-beside-a-newer-slot", nodes: 1, length: 28 * time.Minute, job: sameTiming(12*time.Minute, Timing{Overlap: Allow}),
		play:   func(w *simWorld) { w.at(clock(20, 30), func() { w.nodes[0].pause(time.Minute, false) }) },
		starts: 2, fault: model.FaultHeartbeatNotWhenOlder, breaks: ruleDead,
	},
	{
		// The answer to a's finish is lost; it is repeated, and recorded.
		name: "finish-is-repeated", nodes: 1, job: sameTiming(time.Second, Timing{}),
		play:   func(w *simWorld) { w.fates("a", "finish", muted) },
		starts: 1, fault: model.FaultFinishRepeatLost, breaks: ruleDead,
	},
	{
		// a's finish does not reach the store for longer than its lease; its
		// heartbeats do. So b does not run again what was done.
		name: "finish-does-not-get-through", nodes: 2, job: sameTiming(time.Second, Timing{Lease: 12 * time.Second}),
		play:   func(w *simWorld) { w.fates("a", "finish", gone, gone, gone, gone, gone) },
		starts: 1,
	},
	{
		// History keeps one run. The answer to a's finish of 0:10 is lost, and
		// 0:20 ends before it is repeated: the record is gone. That the repeat
		// is refused proves nothing.
		name: "finish-is-trimmed", nodes: 1, length: 28 * time.Minute,
		job: func() simJob {
			j := sameTiming(10*time.Minute+20*time.Second, Timing{Overlap: Allow, HistorySize: 1})
			j.work.shorter = map[int]time.Duration{20: 21 * time.Second}
			return j
		}(),
		play:   func(w *simWorld) { w.fates("a", "finish", muted) },
		starts: 2,
	},
	{
		// a, of the old version, says skip and takes longer than the interval;
		// b, of the new one, says allow. Either's skip counts.
		name: "overlap-during-a-deploy", nodes: 2, length: 28 * time.Minute, job: caseJob(12*time.Minute, Timing{}, Timing{Overlap: Allow}),
		play:   func(w *simWorld) { w.nodes[1].deployed = 1 },
		starts: 1, fault: model.FaultOverlapHolderIgnored, breaks: ruleAlone,
	},
	{
		// The answers to a's claim are lost for 25 s. When it is told Won at
		// last, 5 s are left, not 30.
		name: "lease-left-of-a-repeated-claim", nodes: 1, job: sameTiming(time.Minute, Timing{}),
		play: func(w *simWorld) {
			w.fates("a", "claim", muted, muted, simFate{there: 4 * time.Second, back: time.Second})
		},
		starts: 1, fault: model.FaultRepeatFullLease, breaks: ruleBelief,
	},
	{
		// a dies, and the store's clock is set back: the dead runner must not
		// be protected until the clock has caught up.
		name: "store-clock-set-back", nodes: 2, job: sameTiming(time.Minute, Timing{}),
		play: func(w *simWorld) {
			w.at(clock(10, 10), w.nodes[0].crash)
			w.at(clock(10, 11), func() { w.store.jump(-5 * time.Minute) })
		},
		starts: 2, fault: model.FaultLeaseNotCut, breaks: ruleRecall,
	},
	{
		// a asked for three attempts and dies; b, of the new version, would
		// ask for one. The first claim decides.
		name: "max-attempts-of-the-first-claim", nodes: 2, job: caseJob(time.Minute, Timing{MaxAttempts: 3}, Timing{MaxAttempts: 1}),
		play: func(w *simWorld) {
			w.nodes[1].deployed = 1
			w.at(clock(10, 10), w.nodes[0].crash)
		},
		starts: 2, fault: model.FaultMaxAttemptsAskers, breaks: ruleVerdict,
	},
	{
		// b's clock is 69 s ahead. If it could claim so early, no slot would be
		// left to a, whose clock is right; and when b dies, the next slots are
		// lost though a is up.
		name: "wild-clock", nodes: 2,
		job: func() simJob {
			j := sameTiming(100*time.Millisecond, Timing{})
			j.schedule = Every(20 * time.Second)
			return j
		}(),
		play: func(w *simWorld) {
			w.nodes[1].offset = int64(69 * time.Second)
			w.at(clock(15, 0), w.nodes[1].crash)
		},
		starts: 53, // from 0:20 to 17:40
		fault:  model.FaultEarlyAsLate, tolerates: ruleEarly, breaks: ruleStarve,
	},
	{
		// a is frozen when its grant arrives, for longer than its lease. b
		// takes the run over; a starts no handler.
		name: "frozen-at-its-grant", nodes: 2, job: sameTiming(5*time.Second, Timing{}),
		play: func(w *simWorld) {
			w.fates("a", "claim", simFate{there: time.Millisecond, back: 2 * time.Second})
			w.at(clock(10, 1), func() { w.nodes[0].pause(40*time.Second, false) })
		},
		starts: 1,
	},
	{
		// 0:20 is due while 0:10 still runs, and skipped. c, which starts when
		// the run has ended, does not take it for missed.
		name: "skipped-is-not-missed", nodes: 3, length: 28 * time.Minute,
		job: func() simJob {
			j := sameTiming(12*time.Minute, Timing{})
			j.timings[0].CatchUp, j.timings[1].CatchUp = 9*time.Minute, 9*time.Minute
			return j
		}(),
		play: func(w *simWorld) {
			w.at(clock(0, 6), w.nodes[2].crash)
			w.at(clock(23, 0), w.nodes[2].start)
		},
		starts: 2, // 0:00, which nobody had run when they started, and 0:10
	},
}
