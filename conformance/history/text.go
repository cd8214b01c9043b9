package history

import (
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// String tells the call in a line: when, who, what, and the answer.
func (o *Op) String() string {
	return fmt.Sprintf("[%8.2f .. %8.2f ms] %s %s -> %s", millis(o.Call), millis(o.Return), o.Process, o.request(), o.answer())
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (o *Op) request() string {
	switch {
	case o.Claim != nil:
		q := o.Claim
		return fmt.Sprintf("claim %s after %d by %s id %.8s lease %v %v", slotText(q.Slot), q.After, clip(q.Instance), q.ID, q.Lease, q.Overlap)
	case o.Heartbeat != nil:
		return fmt.Sprintf("heartbeat %s token %d lease %v", slotText(o.Heartbeat.Slot), o.Heartbeat.Token, o.Heartbeat.Lease)
	case o.Finish != nil:
		return fmt.Sprintf("finish %s token %d %v", slotText(o.Finish.Slot), o.Finish.Token, o.Finish.Outcome)
	case o.Unfinished != nil:
		return "recall"
	}
	return fmt.Sprintf("history limit %d", o.History.Limit)
}

// slotText is a slot as a person reads it: slots of one history differ in their last
// digits.
func slotText(slot int64) string { return store.Time(slot).Format("15:04:05.000") }

func (o *Op) answer() string {
	s := o.outcome()
	switch {
	case o.InFlight:
		s += " (in flight where the history was cut: maybe not yet)"
	case o.Unheard:
		s += " (which the caller did not hear)"
	}
	return s
}

func (o *Op) outcome() string {
	switch {
	case o.Class == Lost && o.Maybe == nil:
		return "no answer"
	case o.Class == Lost && len(o.Maybe) == 0:
		return "no answer, and no effect"
	case o.Class == Lost:
		return "no answer; it may have taken effect" + nowText(o.Maybe[0].At)
	case o.Class != Answered:
		return o.Class.String()
	case o.Claim != nil:
		return claimedText(o.Claimed) + nowText(o.Claimed.Now) + untilText(o.won(), o.Claimed.Now, o.Claimed.Left)
	case o.Heartbeat != nil:
		return yes(o.Beaten.Renewed, "renewed") + nowText(o.Beaten.Now) + untilText(o.Beaten.Renewed, o.Beaten.Now, o.Heartbeat.Lease)
	case o.Finish != nil:
		return yes(o.Finished.Recorded, "recorded") + nowText(o.Finished.Now)
	case o.Unfinished != nil:
		s := "nothing unfinished"
		for i, r := range o.Listed.Runs {
			s = choose(i == 0, "", s+"; ") + fmt.Sprintf("%s attempt %d of %s token %d left %v", slotText(r.Slot), r.Attempt, clip(r.Holder), r.Token, r.Left)
		}
		return s + nowText(o.Listed.Now)
	}
	s := "no attempts"
	for i, a := range o.Page.Attempts {
		if i == 3 {
			s += fmt.Sprintf("; and %d more", len(o.Page.Attempts)-i)
			break
		}
		s = choose(i == 0, "", s+"; ") + fmt.Sprintf("%s attempt %d of %s %v", slotText(a.Slot), a.Attempt, clip(a.Instance), a.Status)
	}
	return s + nowText(o.Page.Now)
}

func claimedText(a store.ClaimAnswer) string {
	s := a.Verdict.String()
	switch a.Verdict {
	case store.VerdictWon:
		s += fmt.Sprintf(" attempt %d token %d left %v", a.Attempt, a.Token, a.Left)
	case store.VerdictRunning:
		s += fmt.Sprintf(" attempt %d of %s left %v", a.Attempt, clip(a.Holder), a.Left)
	case store.VerdictOverlap:
		s += fmt.Sprintf(" with %s of %s left %v", slotText(a.Slot), clip(a.Holder), a.Left)
	case store.VerdictFinished:
		if a.Status != 0 {
			s += " as " + a.Status.String()
		}
	case store.VerdictSuperseded:
		s += " by " + slotText(a.Slot)
	case store.VerdictExhausted:
		s += fmt.Sprintf(" after %d", a.Attempt)
	case store.VerdictLate, store.VerdictEarly:
		s += fmt.Sprintf(" by %v", a.By)
	}
	return s
}

func yes(ok bool, word string) string { return choose(ok, word, "lost") }

func choose(ok bool, then, otherwise string) string {
	if ok {
		return then
	}
	return otherwise
}

func nowText(now int64) string {
	if now == 0 {
		return ""
	}
	return " @ " + store.Time(now).Format("15:04:05.000")
}

// untilText tells when the lease that a call gave ends.
func untilText(gave bool, now int64, lease time.Duration) string {
	if !gave || now == 0 || lease == 0 {
		return ""
	}
	return ", lease until " + store.Time(now+ms(lease)).Format("05.000")
}

func clip(s string) string {
	const most = 24
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
