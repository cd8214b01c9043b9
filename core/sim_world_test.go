package core

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simWorld is a fleet of simulated instances around one store: a queue of events
// in virtual time, and nothing else that moves. Everything that happens follows
// from the plan, and the plan from its seed.
type simWorld struct {
	plan *simPlan
	now  int64 // true time, nanoseconds since the world began

	queue []simEvent
	seq   uint64

	nodes  []*simNode
	store  *simStore
	net    *simNet
	faults *simFaults
	ledger []*simLedger // by job
	jobNo  map[string]int

	trace  simTrace
	seen   *simCoverage
	broken *simViolation

	tolerated string // a rule that a case lets pass
	healed    bool   // no more faults; what is still under way by accident is dropped
}

// simEpoch is the true time's beginning as Unix nanoseconds: 2026-01-01.
const simEpoch = 1_767_225_600 * int64(time.Second)

type simEvent struct {
	at  int64
	seq uint64
	do  func()
}

func newSimWorld(plan *simPlan, seen *simCoverage) *simWorld {
	w := &simWorld{plan: plan, seen: seen, jobNo: map[string]int{}}
	w.store = newSimStore(w)
	w.net = &simNet{w: w, rand: w.random("net")}
	for i := range plan.jobs {
		j := &plan.jobs[i]
		w.jobNo[j.name] = i
		w.ledger = append(w.ledger, newSimLedger(w, i))
	}
	for i := range plan.nodes {
		w.nodes = append(w.nodes, newSimNode(w, i))
	}
	w.faults = &simFaults{w: w}
	return w
}

// random returns a source of its own for each purpose: leaving one kind of fault
// out does not change the others.
func (w *simWorld) random(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(w.plan.seed, h.Sum64()))
}

func (w *simWorld) after(d time.Duration, do func()) { w.at(w.now+int64(d), do) }

func (w *simWorld) at(t int64, do func()) {
	w.seq++
	q := append(w.queue, simEvent{max(t, w.now), w.seq, do})
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !q[i].before(&q[parent]) {
			break
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
	w.queue = q
}

func (e *simEvent) before(o *simEvent) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

func (w *simWorld) pop() simEvent {
	q := w.queue
	first, last := q[0], len(q)-1
	q[0], q[last] = q[last], simEvent{}
	q = q[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&q[i]) {
			break
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
	w.queue = q
	return first
}

// run lets time pass until the given moment, or until an invariant is broken.
func (w *simWorld) run(until int64) {
	for w.broken == nil && len(w.queue) > 0 && w.queue[0].at <= until {
		e := w.pop()
		w.now = e.at
		w.seen.Events++
		e.do()
	}
	if w.broken == nil {
		w.now = until
	}
}

// simulate plays a whole plan: all nodes start, faults happen, then everything
// is healed and stopped, and one instance starts again.
func simulate(plan *simPlan) *simWorld {
	w := newSimWorld(plan, &simCoverage{})
	w.begin()
	w.run(int64(plan.length))
	w.end()
	return w
}

func (w *simWorld) begin() {
	stagger := w.random("stagger")
	for _, n := range w.nodes {
		w.at(stagger.Int64N(int64(20*time.Second)), n.start)
	}
	w.faults.begin()
}

// end heals the world, stops all instances, starts a single one, and lets it
// tidy up: nothing may stay unfinished.
func (w *simWorld) end() {
	if w.broken != nil {
		return
	}
	w.heal()
	w.run(w.now + int64(30*time.Second))
	for _, n := range w.nodes {
		if n.proc != nil {
			n.proc.stop()
		}
	}
	w.run(w.now + int64(3*time.Minute))
	for _, n := range w.nodes {
		if n.proc != nil {
			n.crash() // a handler that never returns keeps it
		}
	}
	w.checkHistories()
	if w.broken != nil || w.plan.kind != store.KindLease {
		return
	}
	last := w.nodes[0]
	last.start()
	w.run(w.now + int64(w.plan.longestLease()+w.plan.longestHeartbeat()*2+time.Minute))
	w.checkOnlyHeldBy(last.proc)
	last.proc.stop()
	w.run(w.now + int64(time.Minute))
	w.checkNothingUnfinished()
}

func (w *simWorld) heal() {
	w.healed = true
	w.store.heal()
	for _, n := range w.nodes {
		n.heal()
	}
}
