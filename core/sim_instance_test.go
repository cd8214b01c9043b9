package core

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simProcess is one process start: a machine and what the driver is to it.
type simProcess struct {
	w    *simWorld
	node *simNode
	name string
	m    *machine
	rand *rand.Rand

	started  int64 // true time
	origin   int64 // of its monotonic readings
	stopping bool
	dead     bool
	maxRuns  int
	version  int // of the settings

	timer   int64 // monotonic: when the timer is to fire
	armed   int64 // true time of the earliest event that will look at it; 0 none
	idleAt  int64 // true time of the last timer steps, to notice a machine that spins
	idle    int
	calls   []*simCall
	unclean int // calls under way that met with an accident

	handlers []*simHandler
	jobs     []*simJobView // by job
	watch    simWatch
}

func newSimProcess(n *simNode, name string) *simProcess {
	w := n.w
	p := &simProcess{w: w, node: n, name: name, started: w.now, origin: n.mono() - int64(time.Second), rand: w.random(name), maxRuns: w.plan.maxRuns[n.no], version: n.deployed}
	p.watch.lost, p.watch.ended, p.watch.sent = map[*run]bool{}, map[*run]simEnded{}, map[*run]int64{}
	p.m = newMachine(machineConfig{
		instance: name, kind: w.plan.kind, maxRuns: p.maxRuns, grace: w.plan.grace,
		rand: w.random(name + " machine"), newID: p.newID,
	})
	return p
}

func (p *simProcess) newID() (id store.ClaimID) {
	binary.BigEndian.PutUint64(id[:], p.rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], p.rand.Uint64()|1)
	return id
}

func (p *simProcess) instant() instant {
	return instant{wall: p.node.wall(), mono: p.node.mono() - p.origin}
}

func (p *simProcess) begin() {
	for i := range p.w.plan.jobs {
		p.jobs = append(p.jobs, newSimJobView(p, i))
	}
	p.step(func(m *machine, now instant) {
		for _, v := range p.jobs {
			m.add(now, v.spec)
		}
	})
	p.expectCatchUp()
	p.audits()
}

// stop is what a cancelled context does.
func (p *simProcess) stop() {
	if p.dead || p.stopping {
		return
	}
	if p.node.paused {
		return
	}
	p.audit()
	p.w.note(simEntry{who: p.name, what: "is told to stop"})
	p.stopping = true
	p.watch.stoppedAt = p.w.now
	p.expectStop()
	p.step(func(m *machine, now instant) { m.stop(now) })
}

// die forgets everything at once.
func (p *simProcess) die() {
	p.dead = true
	p.node.proc = nil
	p.calls, p.handlers = nil, nil
}

// step gives inputs to the machine and does what it says, as the driver does.
func (p *simProcess) step(inputs ...func(*machine, instant)) {
	if p.dead || p.w.broken != nil {
		return
	}
	for _, in := range inputs {
		in(p.m, p.instant())
	}
	p.m.tick(p.instant())
	p.w.seen.Steps++
	for _, a := range p.m.take() {
		p.do(a)
	}
	p.checkAfterStep()
	if p.m.idle() {
		p.exit()
		return
	}
	p.setTimer(p.m.wake(p.instant()))
}

func (p *simProcess) exit() {
	p.w.note(simEntry{who: p.name, what: "has stopped"})
	p.checkExit()
	p.die()
}

func (p *simProcess) setTimer(d time.Duration) {
	if d > longestTimer {
		p.w.fail("the longest timer is a minute", p.w.now, "", 0, "%s wants to sleep %v", p.name, d)
	}
	p.timer = p.node.mono() + int64(d)
	p.arm()
}

// arm makes sure that an event looks at the timer when it is due.
func (p *simProcess) arm() {
	late := int64(20+p.rand.IntN(300)) * int64(time.Microsecond) // the system's own
	at := p.w.now + p.timer - p.node.mono() + late
	if p.armed > p.w.now && p.armed <= at {
		return
	}
	p.armed = at
	p.w.at(at, func() { p.timerFires(at) })
}

func (p *simProcess) timerFires(at int64) {
	if p.dead || p.armed != at || p.node.paused {
		return
	}
	p.armed = 0
	if p.node.mono() < p.timer {
		p.arm()
		return
	}
	p.noticeSpin()
	p.step()
}

// noticeSpin: a machine that is always due burns a processor.
func (p *simProcess) noticeSpin() {
	if p.w.now-p.idleAt > int64(10*time.Millisecond) {
		p.idleAt, p.idle = p.w.now, 0
	}
	if p.idle++; p.idle > 30 {
		p.w.fail("no spinning", p.w.now, "", 0, "%s: its timer fired %d times within 10 ms", p.name, p.idle)
	}
}

// wake: the process runs again after a pause. Answers that arrived meanwhile
// and deadlines that passed are both ready: either may be seen first.
func (p *simProcess) wake(d int64) {
	for _, h := range p.handlers {
		h.endAt += d
		h.pausedFor += d
		h.schedule()
	}
	var inputs []func(*machine, instant)
	for _, c := range slices.Clone(p.calls) {
		if in := c.afterPause(); in != nil {
			inputs = append(inputs, in)
		}
	}
	p.armed = 0
	if len(inputs) > 0 {
		p.step(inputs...)
		return
	}
	p.arm()
}

// simHandler is a running handler.
type simHandler struct {
	p       *simProcess
	r       *run
	run     Run
	grant   *simAttempt
	endAt   int64 // true time
	version int
	result  error
	obeys   simObedience
	cause   error
	done    bool

	beganAt     int64 // true time
	renewedAt   int64 // true time when the last accepted renewal, or the claim, was sent
	pausedFor   int64 // since then
	cancelledAt int64 // monotonic
	stuck       bool  // the machine said so
	unconfirmed bool  // the same
}

type simObedience uint8

const (
	obeysWithError simObedience = iota // returns soon after its context is cancelled, with an error
	obeysWithNil                       // finishes its work quickly
	ignores                            // goes on as if nothing had happened
)

var (
	errSimWork = errors.New("the work failed")
	errSimBoom = &PanicError{Value: "boom"}
)

func (h *simHandler) schedule() {
	h.version++
	v := h.version
	h.p.w.at(h.endAt, func() {
		if !h.done && v == h.version && !h.p.dead && !h.p.node.paused {
			h.returns()
		}
	})
}

func (h *simHandler) returns() {
	h.done = true
	i := slices.Index(h.p.handlers, h)
	h.p.handlers = slices.Delete(h.p.handlers, i, i+1)
	h.p.w.note(simEntry{who: h.p.name, what: "handler returns: {err}", job: h.run.Job, slot: h.run.Slot, err: h.result})
	h.p.returned(h)
	h.p.step(func(m *machine, now instant) { m.handlerReturned(now, h.r, h.result) })
}

func (h *simHandler) cancel(cause error) {
	if h.done || h.cause != nil {
		return
	}
	h.cause, h.cancelledAt = cause, h.p.node.mono()
	h.p.w.note(simEntry{who: h.p.name, what: "handler is cancelled: {err}", job: h.run.Job, slot: h.run.Slot, err: cause})
	if h.obeys == ignores && !h.p.w.healed {
		return
	}
	soon := h.p.w.now + h.p.rand.Int64N(int64(2*time.Second))
	if soon >= h.endAt {
		return
	}
	h.endAt, h.result = soon, context.Canceled
	if h.obeys == obeysWithNil {
		h.result = nil
	}
	h.schedule()
}

func (p *simProcess) handler(r *run) *simHandler {
	for _, h := range p.handlers {
		if h.r == r {
			return h
		}
	}
	return nil
}
