package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// simReply hands a call's answer to the machine.
type simReply = func(*machine, instant)

// simCall is one call of a process: a request that is applied at the store when
// it arrives, perhaps never, perhaps again, and exactly one answer to the
// process, perhaps an error.
type simCall struct {
	p        *simProcess
	verb     string
	job      string // empty for a recall
	sent     int64  // true time
	deadline int64  // monotonic
	apply    func(*simCall) simReply
	fail     func(error) simReply
	arrived  simReply // while the process is paused
	unclean  bool
	applied  bool
	copy     bool // what is being applied is a late copy
	refused  bool // the caller was told that it surely is not applied
	done     bool
}

// What a caller hears when there is no answer. The last is of no class: it must
// be taken as unknown.
var (
	errSimTimeout = fmt.Errorf("%w: no answer in time", store.ErrUnknown)
	errSimReset   = fmt.Errorf("%w: connection reset", store.ErrUnknown)
	errSimRefused = fmt.Errorf("%w: connection refused", store.ErrNotApplied)
	errSimLocked  = fmt.Errorf("%w: locked", store.ErrNotApplied)
	errSimOdd     = fmt.Errorf("an error of another kind")
)

// simNet carries calls, with accidents.
type simNet struct {
	w     *simWorld
	rand  *rand.Rand
	storm int64 // until then everything is worse

	// scripted is asked first, in directed cases; ok false leaves it to chance.
	scripted func(c *simCall) (f simFate, ok bool)
}

// simFate is what becomes of one request.
type simFate struct {
	there, back time.Duration
	lost        bool            // the request never arrives
	mute        bool            // the answer never arrives
	heard       error           // lost or mute: what the caller hears at once; nil: nothing until its deadline
	copies      []time.Duration // the request arrives again, so much later
}

// simRates are the odds of accidents, per call.
type simRates struct {
	lost, mute, slow, copies float64
}

func (n *simNet) fate(c *simCall) simFate {
	f := simFate{there: n.travel(), back: n.travel()}
	if n.w.healed {
		return f
	}
	if n.scripted != nil {
		if s, ok := n.scripted(c); ok {
			return s
		}
	}
	rates := &n.w.plan.rates
	if n.storm > n.w.now {
		rates = &n.w.plan.stormRates
	}
	if *rates == (simRates{}) {
		return f
	}
	r := n.rand
	switch x := r.Float64(); {
	case x < rates.lost:
		f.lost = true
		f.heard = []error{nil, errSimReset, errSimRefused, errSimOdd}[r.IntN(4)]
	case x < rates.lost+rates.mute:
		f.mute = true
		f.heard = []error{nil, errSimReset, nil, errSimOdd}[r.IntN(4)]
	}
	if r.Float64() < rates.slow {
		f.there += n.long(20 * time.Second)
	}
	if r.Float64() < rates.slow {
		f.back += n.long(20 * time.Second)
	}
	for r.Float64() < rates.copies {
		f.copies = append(f.copies, n.long(20*time.Minute))
	}
	return f
}

func (n *simNet) travel() time.Duration {
	return time.Duration(100+n.rand.IntN(2000)) * time.Microsecond
}

// long draws a time up to most, mostly short ones.
func (n *simNet) long(most time.Duration) time.Duration {
	x := n.rand.Float64()
	return time.Duration(float64(most) * x * x * x)
}

func (f *simFate) clean() bool {
	return !f.lost && !f.mute && f.there+f.back < 100*time.Millisecond
}

// call sends a request.
func (p *simProcess) call(verb, job string, timeout time.Duration, apply func(*simCall) simReply, fail func(error) simReply) {
	w := p.w
	c := &simCall{p: p, verb: verb, job: job, sent: w.now, deadline: p.node.mono() + int64(timeout), apply: apply, fail: fail}
	p.calls = append(p.calls, c)
	w.seen.Calls++
	f := w.net.fate(c)
	if cut := p.node.cut; cut != 0 && !w.healed {
		cut.spoil(&f)
	}
	if !f.clean() {
		c.unclean = true
		p.unclean++
		p.node.disturb()
	}
	for _, later := range f.copies {
		w.after(f.there+later, func() { c.copyArrives() })
	}
	if f.lost {
		w.seen.RequestsLost++
		c.refused = errors.Is(f.heard, store.ErrNotApplied)
		if f.heard != nil {
			w.after(f.there, func() { c.resolve(c.fail(f.heard)) })
		}
	} else {
		w.after(f.there, func() { w.store.receive(c, f) })
	}
	if f.lost || f.mute || f.there+f.back > timeout/2 {
		c.awaitDeadline()
	}
}

// awaitDeadline makes sure that the call ends at its deadline. A call whose
// answer is on its way does without: most do, and a world has many.
func (c *simCall) awaitDeadline() {
	c.p.w.after(time.Duration(max(0, c.deadline-c.p.node.mono())), c.expire)
}

// answerWith applies the request and sends the answer back.
func (c *simCall) answerWith(f simFate) {
	w := c.p.w
	c.applied, c.copy = true, false
	if c.done || c.p.dead {
		w.seen.AppliedAfterDeadline++
	}
	reply := c.apply(c)
	if f.mute {
		w.seen.AnswersLost++
		if f.heard != nil {
			w.after(f.back, func() { c.resolve(c.fail(f.heard)) })
		} else {
			c.awaitDeadline()
		}
		return
	}
	w.after(f.back, func() {
		if c.p.node.cut == 0 {
			c.resolve(reply)
		} else if !c.done {
			w.seen.AnswersLost++
			c.awaitDeadline()
		}
	})
}

func (c *simCall) copyArrives() {
	w := c.p.w
	if w.healed || w.store.down() || c.refused {
		return
	}
	w.seen.Copies++
	w.note(simEntry{who: "net", what: "brings the store another copy of a {text} of " + c.p.name, job: c.job, text: c.verb, aside: c.job == ""})
	c.copy = true
	c.apply(c)
}

// resolve gives the call its one answer, or keeps it while the process is
// paused.
func (c *simCall) resolve(reply simReply) {
	switch {
	case c.done || c.p.dead:
	case c.p.node.paused:
		if c.arrived == nil {
			c.arrived = reply
		}
	default:
		c.close()
		c.p.step(reply)
	}
}

func (c *simCall) expire() {
	if c.done || c.p.dead || c.p.node.paused {
		return
	}
	if c.deadline > c.p.node.mono() {
		c.awaitDeadline() // it was suspended meanwhile
		return
	}
	if !c.unclean {
		// Nothing happened to the message itself: the store was down.
		c.p.node.disturb()
	}
	c.close()
	c.p.step(c.fail(errSimTimeout))
}

// afterPause returns the call's answer if it has one now.
func (c *simCall) afterPause() simReply {
	over := c.p.node.mono() >= c.deadline
	reply := c.arrived
	switch {
	case reply == nil && !over:
		c.awaitDeadline()
		return nil
	case reply == nil, over && c.p.w.net.rand.IntN(2) == 0:
		reply = c.fail(errSimTimeout)
	}
	c.close()
	return reply
}

func (c *simCall) close() {
	c.done = true
	p := c.p
	if i := slices.Index(p.calls, c); i >= 0 {
		p.calls = slices.Delete(p.calls, i, i+1)
	}
	if c.unclean {
		p.unclean--
		p.node.disturb()
	}
}

// simCut is a way to be cut off from the store.
type simCut uint8

const (
	cutSilent  simCut = iota + 1 // nothing arrives, nothing is heard
	cutRefused                   // the caller hears at once that nothing arrived
	cutOneWay                    // requests arrive, answers don't
)

func (c simCut) String() string {
	return [...]string{"", "silence", "refused at once", "its requests arrive, answers do not"}[c]
}

func (c simCut) spoil(f *simFate) {
	switch c {
	case cutSilent:
		f.lost, f.heard = true, nil
	case cutRefused:
		f.lost, f.heard = true, errSimRefused
	case cutOneWay:
		f.mute, f.heard = true, nil
	}
}
