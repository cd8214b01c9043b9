package core

import (
	"fmt"
	"time"
)

// simNode is a machine with its two clocks. At most one process runs on it.
type simNode struct {
	w    *simWorld
	no   int
	name string
	proc *simProcess

	offset int64 // wall clock − true time
	lag    int64 // how long the monotonic clock stood still

	paused    bool // frozen or suspended: nothing of it runs
	suspended bool
	pausedAt  int64
	pauses    int   // so many so far
	resumed   int64 // true time when the last one ended

	cut     simCut // from the store
	cutEnds int64

	starts    int
	deployed  int   // the version of the settings that its next process has
	disturbed int64 // true time of the last thing that was not as it should be
	settled   int64 // true time when what a pause or a step of its clock did is over
	back      int64 // true time when its wall clock last went back
	woke      int64 // true time when it last woke from a suspend
}

func newSimNode(w *simWorld, no int) *simNode {
	n := &simNode{w: w, no: no, name: string(rune('a' + no)), back: -1 << 62, woke: -1 << 62}
	n.offset = int64(w.plan.skews[no])
	return n
}

func (n *simNode) wall() int64 { return simEpoch + n.w.now + n.offset }
func (n *simNode) mono() int64 { return n.w.now - n.lag }

// disturb notes that something is not as it should be: what is promised of a
// healthy instance is not asked of this one for a while.
func (n *simNode) disturb() { n.disturbed = max(n.disturbed, n.w.now) }

// disturbClocks: a process looks at its wall clock once in the longest timer, and
// may notice only then what happened.
func (n *simNode) disturbClocks() {
	n.disturbed = n.w.now + int64(longestTimer+time.Second)
	n.settled = n.disturbed
}

// start starts a process, if none runs.
func (n *simNode) start() {
	if n.proc != nil || n.paused || n.w.broken != nil {
		return
	}
	n.starts++
	n.proc = newSimProcess(n, fmt.Sprintf("%s%d", n.name, n.starts))
	n.w.note(simEntry{who: n.proc.name, what: "starts"})
	n.proc.begin()
}

// startIn starts a process after a while.
func (n *simNode) startIn(d time.Duration) { n.w.after(d, n.start) }

// crash ends the process as kill -9 does.
func (n *simNode) crash() {
	if n.proc == nil {
		return
	}
	n.w.note(simEntry{who: n.proc.name, what: "crashes"})
	n.proc.die()
}

// pause stops everything on the node; a suspend stops its monotonic clock too.
func (n *simNode) pause(d time.Duration, suspend bool) {
	if n.paused {
		return
	}
	n.disturb()
	n.paused, n.suspended, n.pausedAt = true, suspend, n.w.now
	n.pauses++
	what := "freezes for {d}"
	if suspend {
		what = "is suspended for {d}"
	}
	n.w.note(simEntry{who: n.name, what: what, d: d})
	pause := n.pauses
	n.w.after(d, func() {
		if n.paused && n.pauses == pause {
			n.wake()
		}
	})
}

func (n *simNode) wake() {
	d := n.w.now - n.pausedAt
	if n.suspended {
		n.lag += d
		n.woke = n.w.now
		n.disturbClocks()
		// A wait for the store's clock went on only now.
		n.settled += int64(n.w.plan.longest(func(t *Timing) time.Duration { return t.MaxLate }))
	}
	n.paused, n.suspended, n.resumed = false, false, n.w.now
	n.disturb()
	n.settled = max(n.settled, n.w.now)
	n.w.note(simEntry{who: n.name, what: "wakes"})
	if n.proc != nil {
		n.proc.wake(d)
	}
}

// step moves the wall clock.
func (n *simNode) step(by time.Duration) {
	n.offset += int64(by)
	n.disturbClocks()
	if by < 0 {
		n.back = n.w.now
	}
	n.w.note(simEntry{who: n.name, what: "has its wall clock stepped by {d}", d: by})
}

// clocksHide reports whether both clocks may have missed some of the given time:
// one stood still in a suspend, and the other was set back meanwhile. Nobody can
// count a lease then, and nothing is promised.
func (n *simNode) clocksHide(since int64) bool { return n.back >= since && n.woke >= since }

// wentBack reports whether a slot may have been due before the wall clock went
// back, and is not due now.
func (n *simNode) wentBack() bool { return n.w.now-n.back < int64(15*time.Minute) }

// cutOff takes the node off the network for a while.
func (n *simNode) cutOff(how simCut, d time.Duration) {
	n.cut, n.cutEnds = how, n.w.now+int64(d)
	n.disturb()
	n.w.note(simEntry{who: n.name, what: "is cut off from the store for {d}: {text}", d: d, text: how.String()})
	n.w.after(d, func() {
		if n.cut != 0 && n.w.now >= n.cutEnds {
			n.reconnect()
		}
	})
}

func (n *simNode) reconnect() {
	if n.cut != 0 {
		n.cut = 0
		n.disturb()
		n.w.note(simEntry{who: n.name, what: "reaches the store again"})
	}
}

func (n *simNode) heal() {
	if n.paused {
		n.wake()
	}
	n.reconnect()
	if off := time.Duration(n.offset); off.Abs() > time.Second {
		n.step(-off)
	}
}

// healthySince returns since when a process and everything it needs has been
// as it should be; ok is false if something is wrong now.
func (p *simProcess) healthySince() (since int64, ok bool) {
	n := p.node
	if p.dead || p.stopping || n.paused || n.cut != 0 || n.w.store.down() || p.unclean > 0 {
		return 0, false
	}
	since = max(p.started, n.disturbed, n.w.store.disturbed)
	return since, since <= n.w.now
}

// skew is how far the store's clock is ahead of the node's.
func (n *simNode) skew() time.Duration { return time.Duration(n.w.store.offset - n.offset) }
