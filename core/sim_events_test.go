package core

import (
	"errors"

	"github.com/anarchon-go/anarchon/core/store"
)

// event notes and judges what an instance says.
func (p *simProcess) event(e Event) {
	w, seen := p.w, p.w.seen
	note := func(r Run, what string, err error) {
		w.note(simEntry{who: p.name, what: what, job: r.Job, slot: r.Slot, n: int64(r.Attempt), err: err})
	}
	switch e := e.(type) {
	case Started:
		seen.Started++
	case Succeeded:
		seen.Succeeded++
		p.unproven(e.Unproven)
		note(e.Run, "says: attempt {n} succeeded", nil)
	case Failed:
		seen.Failed++
		p.unproven(e.Unproven)
		var panicked *PanicError
		if errors.As(e.Err, &panicked) {
			seen.Panics++
		}
		if errors.Is(e.Err, ErrTimeout) {
			seen.Timeouts++
		}
		note(e.Run, "says: attempt {n} failed: {err}", e.Err)
	case Interrupted:
		seen.Interrupted++
		p.unproven(e.Unproven)
		if e.HandedOver {
			seen.HandedOver++
		}
		if e.Took == 0 && errors.Is(e.Err, ErrStopped) {
			seen.GrantsGivenBack++
		}
		note(e.Run, "says: attempt {n} interrupted: {err}", e.Err)
	case Lost:
		if e.During == "finish" {
			seen.LostByFinish++
		} else {
			seen.LostByHeartbeat++
		}
		note(e.Run, "says: attempt {n} lost", nil)
		p.lost(&e)
	case Unconfirmed:
		seen.Unconfirmed++
		if e.Cancelled {
			seen.UnconfirmedCancelled++
		}
		p.handlerSaid(e.Run, func(h *simHandler) { h.unconfirmed = true; h.checkUnconfirmed() })
		note(e.Run, "says: attempt {n} unconfirmed: {err}", e.Err)
	case Confirmed:
		seen.ConfirmedAgain++
		p.handlerSaid(e.Run, func(h *simHandler) { h.unconfirmed = false })
		note(e.Run, "says: attempt {n} confirmed again", nil)
	case Unrecorded:
		seen.Unrecorded++
		p.unrecorded(&e)
		note(e.Run, "says: outcome of attempt {n} not recorded: {err}", e.Err)
	case Stuck:
		seen.Stuck++
		p.handlerSaid(e.Run, func(h *simHandler) { h.stuck = true })
		note(e.Run, "says: handler of attempt {n} is stuck", nil)
	case Backup:
		seen.Backups++
	case Skipped:
		p.countSkip(&e)
		p.view(e.Job).skipped(&e)
	case ClockJump:
		seen.ClockJumps++
		if e.By < 0 && w.plan.kind == store.KindLease {
			for _, v := range p.jobs { // slots that were due before are due again
				v.settled, v.asked = min(v.settled, p.instant().ms()), min(v.asked, p.instant().ms())
			}
		}
		w.note(simEntry{who: p.name, what: "says: the wall clock jumped by {d}", d: e.By})
	case ClockSkew:
		seen.ClockSkews++
		p.watch.skewTold = true
		w.note(simEntry{who: p.name, what: "says: the store's clock differs by {d}", d: e.By, aside: true})
	case Paused:
		seen.Paused++
	case StoreError:
		seen.StoreErrors++
		w.note(simEntry{who: p.name, what: "says: the store fails during {text}: {err}", text: e.During, err: e.Err, aside: true})
	case StoreBack:
		seen.StoreBacks++
		w.note(simEntry{who: p.name, what: "says: the store is back after {d}", d: e.Down, aside: true})
	}
}

func (p *simProcess) handlerSaid(r Run, note func(*simHandler)) {
	for _, h := range p.handlers {
		if h.run == r {
			note(h)
		}
	}
}

func (p *simProcess) unproven(is bool) {
	if is {
		p.w.seen.Unproven++
	}
}

func (p *simProcess) countSkip(e *Skipped) {
	s := p.w.seen
	*map[SkipReason]*int{
		SkipLate: &s.SkippedLate, SkipEarly: &s.SkippedEarly, SkipOverlap: &s.SkippedOverlap, SkipSuperseded: &s.SkippedSuperseded,
		SkipExhausted: &s.SkippedExhausted, SkipCapacity: &s.SkippedCapacity, SkipUnreachable: &s.SkippedUnreachable,
		SkipUnknown: &s.SkippedUnknown, SkipStopped: &s.SkippedStopped, SkipRefused: new(int), SkipRemoved: new(int),
	}[e.Reason]++
	if e.Reason == SkipRefused {
		p.w.fail(ruleValid, p.w.now, e.Job, e.Slot, "%s skips it as refused: %v", p.name, e.Err)
	}
}
