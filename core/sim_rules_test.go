package core

import (
	"fmt"
	"strconv"
)

// The invariants of the simulation, by name. Each is what DESIGN and
// docs/guarantees.md promise, no more.
const (
	ruleOneWinner = "one winner per attempt"
	ruleOneWish   = "one claim id, one wish, one attempt"
	ruleTokens    = "tokens rise"
	ruleHeld      = "no second attempt while the first is held"
	ruleAlone     = "never two live leases of a skip job"
	ruleOver      = "a run that ended is not run again"
	ruleAttempts  = "no more than max attempts"
	ruleNewest    = "no slot is run after a newer one"
	ruleLate      = "no first attempt later than max late"
	ruleEarly     = "no first attempt before its slot"
	ruleDead      = "what a stale attempt sends changes nothing"
	ruleVerdict   = "every verdict has its reason"
	ruleRecall    = "recall lists what is unfinished"
	ruleHistory   = "history tells what happened"
	ruleValid     = "no request is invalid"

	ruleGranted   = "a handler starts only on a grant of its own, once"
	ruleStartDead = "no handler starts on a dead attempt"
	ruleBelief    = "nobody believes in a lease longer than the store does"
	ruleLost      = "a lost run is cancelled and not reported"
	ruleReturned  = "a run is finished only when its handler has returned"
	ruleStuck     = "a handler that ignores its context is not renewed for ever"
	ruleOutcome   = "a run ends as its handler returned"
	ruleRepeat    = "a finish is repeated until it is recorded, lost or the stop timeout is over"
	ruleUnproven  = "what was recorded is not called lost"
	ruleTimeout   = "a handler that runs longer than its timeout is cancelled"
	ruleUnheard   = "a runner whose lease is over says so, and is cancelled if the job asks for it"
	ruleStopped   = "a stopping instance claims and starts nothing"
	ruleStops     = "a stopping instance stops in time"
	ruleHandsOver = "a stopped instance leaves nothing open"
	ruleCapacity  = "no more than MaxRuns"
	ruleNewer     = "a newer slot that is due goes before a takeover"
	ruleTakesReal = "a takeover is of a run that was granted"
	ruleClaimOnly = "claim-only: claims and finishes only"
	ruleRates     = "recalls once a heartbeat and once a lease"
	ruleSpin      = "no spinning"
	ruleTimer     = "the longest timer is a minute"

	ruleNamed    = "every due slot ends as a run or as a named skip"
	ruleSkew     = "an instance says when the store's clock differs"
	ruleAsks     = "a healthy instance asks for every slot, in time"
	ruleReached  = "what was too early is asked again when the store's clock reaches it"
	ruleStarve   = "no slot is lost while a healthy instance is up"
	ruleTakeover = "a run is taken over in time"
	ruleHealthy  = "a healthy runner is never replaced"
	ruleCatchUp  = "a missed slot is caught up"
	ruleOnce     = "catch-up runs the newest missed slot, once"
	ruleSkipped  = "catch-up does not run what overlap skipped"
	ruleTidy     = "nothing stays running once all have stopped and one has started again"
)

// simViolation is a broken invariant.
type simViolation struct {
	rule string
	text string
	job  string
	slot int64
	from int64 // true time from which on it is worth telling
}

func (v *simViolation) String() string {
	if v == nil {
		return "nothing is broken"
	}
	return v.rule + ": " + v.text
}

// fail ends the simulation: the first broken invariant is the one to look at. A
// case may tolerate one, to see what comes of it.
func (w *simWorld) fail(rule string, from int64, job string, slot int64, format string, args ...any) {
	if w.broken != nil || w.tolerated == rule {
		return
	}
	text := fmt.Sprintf(format, args...)
	if job != "" {
		where := job
		if slot != 0 {
			where += " " + simSlot(slot)
		}
		text = where + ": " + text
	}
	w.broken = &simViolation{rule: rule, text: text, job: job, slot: slot, from: from}
}

func simItoa(n int) string { return strconv.Itoa(n) }
