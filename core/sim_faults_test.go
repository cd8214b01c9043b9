package core

import (
	"math/rand/v2"
	"time"
)

// simFaults lets faults happen as often as the plan says, each kind with a
// randomness of its own. A fault that strikes a node does so at once, or lies in
// wait until an instance claims or starts a handler: most of the time nothing
// runs, and little can go wrong.
type simFaults struct {
	w                    *simWorld
	atClaims, atHandlers []simAmbush
}

type simAmbush struct {
	rand   *rand.Rand
	strike func(*simNode, *rand.Rand)
}

func (f *simFaults) begin() {
	for _, rate := range f.w.plan.faults {
		if !f.w.plan.leftOut[rate.kind] {
			f.next(rate, f.w.random("fault "+rate.kind))
		}
	}
}

func (f *simFaults) next(rate simFaultRate, r *rand.Rand) {
	f.w.after(time.Duration(r.ExpFloat64()*float64(rate.every)), func() {
		if f.w.healed {
			return
		}
		if strike := simNodeFaults[rate.kind]; strike != nil {
			f.strikeSomewhere(strike, r)
		} else {
			simWorldFaults[rate.kind](f.w, r)
		}
		f.next(rate, r)
	})
}

func (f *simFaults) strikeSomewhere(strike func(*simNode, *rand.Rand), r *rand.Rand) {
	switch r.IntN(4) {
	case 0:
		strike(oneOf(r, f.w.nodes...), r)
	case 1:
		f.atClaims = append(f.atClaims, simAmbush{r, strike})
	default:
		f.atHandlers = append(f.atHandlers, simAmbush{r, strike})
	}
}

// claiming and working let what lies in wait strike.
func (f *simFaults) claiming(n *simNode) {
	if len(f.atClaims) > 0 {
		f.spring(&f.atClaims, n, 3*time.Millisecond)
	}
}

func (f *simFaults) working(n *simNode, lasts time.Duration) {
	if len(f.atHandlers) > 0 {
		f.spring(&f.atHandlers, n, min(lasts+lasts/8, time.Minute))
	}
}

func (f *simFaults) spring(from *[]simAmbush, n *simNode, within time.Duration) {
	a := (*from)[0]
	*from = (*from)[1:]
	f.w.after(time.Duration(a.rand.Int64N(int64(within)+1)), func() {
		if !f.w.healed {
			a.strike(n, a.rand)
		}
	})
}

// few draws a time up to most, short ones more often.
func few(r *rand.Rand, most time.Duration) time.Duration {
	x := r.Float64()
	return time.Duration(x * x * float64(most))
}

// simNodeFaults strike one node.
var simNodeFaults = map[string]func(*simNode, *rand.Rand){
	"crash": func(n *simNode, r *rand.Rand) {
		n.crash()
		n.startIn(few(r, 15*time.Minute))
	},
	"stop": func(n *simNode, r *rand.Rand) { n.restart(few(r, 10*time.Minute)) },
	"freeze": func(n *simNode, r *rand.Rand) {
		n.pause(oneOf(r, few(r, 2*time.Second), few(r, time.Minute), few(r, 6*time.Minute)), false)
	},
	"suspend": func(n *simNode, r *rand.Rand) { n.pause(few(r, 40*time.Minute), true) },
	"step": func(n *simNode, r *rand.Rand) {
		n.step(oneOf(r, between(r, -2*time.Second, 2*time.Second), between(r, -90*time.Second, 90*time.Second), -time.Duration(n.offset)))
	},
	"cut": func(n *simNode, r *rand.Rand) {
		n.cutOff(oneOf(r, cutSilent, cutRefused, cutOneWay), few(r, 10*time.Minute))
	},
	"swap": func(n *simNode, r *rand.Rand) { // a job is removed from an instance and added again
		if n.proc != nil && !n.paused {
			n.proc.swap(r.IntN(len(n.w.plan.jobs)), few(r, time.Minute))
		}
	},
}

// simWorldFaults strike the fleet, the network or the store.
var simWorldFaults = map[string]func(*simWorld, *rand.Rand){
	"deploy": func(w *simWorld, r *rand.Rand) {
		w.note(simEntry{who: "fleet", what: "is deployed, node by node"})
		step := oneOf(r, time.Minute, 10*time.Minute)
		for i, n := range w.nodes {
			w.after(time.Duration(i)*few(r, step), func() {
				n.deployed = 1 - n.deployed
				n.restart(few(r, 30*time.Second))
			})
		}
	},
	"power": func(w *simWorld, r *rand.Rand) {
		w.note(simEntry{who: "fleet", what: "loses its power"})
		for _, n := range w.nodes {
			n.crash()
			n.startIn(time.Second + few(r, oneOf(r, time.Minute, 20*time.Minute)))
		}
	},
	"storm": func(w *simWorld, r *rand.Rand) {
		d := few(r, 10*time.Minute)
		w.note(simEntry{who: "net", what: "turns bad for {d}", d: d})
		w.net.storm = w.now + int64(d)
	},
	"outage": func(w *simWorld, r *rand.Rand) {
		if !w.store.down() {
			w.store.fail(oneOf(r, outageRefuses, outageSilent, outageMute, outageStalled, outageLocked), oneOf(r, few(r, 10*time.Second), few(r, 3*time.Minute), few(r, 20*time.Minute)))
		}
	},
	"jump": func(w *simWorld, r *rand.Rand) {
		w.store.jump(oneOf(r, between(r, -3*time.Second, 3*time.Second), between(r, -2*time.Minute, 2*time.Minute), -time.Duration(w.store.offset)))
	},
}

// restart stops a node's process gracefully and starts another a while after it
// is gone; one that does not go is killed, as a service manager would.
func (n *simNode) restart(after time.Duration) {
	p := n.proc
	if p == nil || n.paused {
		n.startIn(after)
		return
	}
	p.stop()
	n.startWhenGone(p, n.w.now+int64(2*time.Minute), after)
}

func (n *simNode) startWhenGone(p *simProcess, kill int64, after time.Duration) {
	n.w.after(time.Second, func() {
		switch {
		case n.proc != p:
			n.startIn(after)
		case n.w.now >= kill && !n.paused:
			n.crash()
			n.startIn(after)
		default:
			n.startWhenGone(p, kill, after)
		}
	})
}

// swap removes a job and adds it again after a while.
func (p *simProcess) swap(no int, after time.Duration) {
	v := p.jobs[no]
	if p.stopping || v.absent {
		return
	}
	p.audit()
	p.node.disturb()
	v.absent = true
	p.w.note(simEntry{who: p.name, what: "removes the job", job: v.spec.Name})
	p.step(func(m *machine, now instant) { m.remove(now, v.spec.Name) })
	p.w.after(after, func() { p.addAgain(no) })
}

func (p *simProcess) addAgain(no int) {
	switch {
	case p.dead || p.stopping:
		return
	case p.node.paused:
		p.w.after(time.Second, func() { p.addAgain(no) })
		return
	}
	p.node.disturb()
	p.jobs[no] = newSimJobView(p, no)
	v := p.jobs[no]
	p.w.note(simEntry{who: p.name, what: "adds the job again", job: v.spec.Name})
	p.step(func(m *machine, now instant) { m.add(now, v.spec) })
	v.expectCaughtUp(v.prev(p.instant().ms()), p.w.now)
}
