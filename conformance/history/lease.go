package history

import (
	"slices"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// tolerance is what a time that a store says may differ from the model's, in
// milliseconds: both are cut to whole ones, in the store maybe after a calculation
// with finer ones.
const tolerance = 1

// leaseRules judge a job of a lease store. A state is a *model.Job, which is never
// changed once it is one.
var leaseRules = rules{
	partition: func(ops []*Op) [][]*Op { return [][]*Op{ops} },
	init:      func() any { return new(model.Job) },
	step: func(state any, o *Op) []any {
		before := state.(*model.Job)
		if o.Class == Lost {
			return lostStep(before, o)
		}
		return answeredStep(before, o)
	},
	equal: func(a, b any) bool { return a.(*model.Job).Equal(b.(*model.Job)) },
	hash:  func(s any) uint64 { return s.(*model.Job).Hash() },
}

// answeredStep returns the states after a call that agree with its answer.
func answeredStep(before *model.Job, o *Op) (after []any) {
	if o.reads() {
		// On a copy: what is read changes nothing, while the model's own read may cut
		// leases.
		if readAgrees(before.Clone(), o) {
			after = append(after, before)
		}
		return after
	}
	now := o.Now()
	for _, j := range atEdge(before, now, o) {
		switch {
		case o.Claim != nil:
			for _, req := range nearBounds(*o.Claim, now) {
				j := j.Clone()
				if a, err := j.ClaimSeen(now, req, o.Claimed.Token); err == nil && claimAgrees(before, now, a, o.Claimed) {
					after = append(after, j)
				}
			}
		case o.Heartbeat != nil:
			if j.Heartbeat(now, *o.Heartbeat).Renewed == o.Beaten.Renewed {
				after = append(after, j)
			}
		default:
			if j.Finish(now, *o.Finish).Recorded == o.Finished.Recorded {
				after = append(after, j)
			}
		}
	}
	return after
}

// lostStep returns the states after a call without an answer: as before, and as
// after it at each time at which it may have taken effect.
func lostStep(before *model.Job, o *Op) []any {
	after := []any{before}
	for _, e := range o.Maybe {
		for _, j := range atEdge(before, e.At, o) {
			if done(j, o, e) {
				after = append(after, j)
			}
		}
	}
	return after
}

// done makes the call at the time of its effect, and reports whether that can have
// been the effect: a claim that was granted left a token, another one did not.
func done(j *model.Job, o *Op, e Effect) bool {
	switch {
	case o.Claim != nil:
		a, err := j.ClaimSeen(e.At, *o.Claim, e.Token)
		return err == nil && (a.Verdict == store.VerdictWon) == (e.Token != 0) && a.Token == e.Token
	case o.Heartbeat != nil:
		return j.Heartbeat(e.At, *o.Heartbeat).Renewed
	default:
		return j.Finish(e.At, *o.Finish).Recorded
	}
}

// atEdge returns copies of a job for a call to work on. There are two if a lease
// ends in the millisecond of a claim: a store that counts more finely may see it
// live or over.
func atEdge(before *model.Job, now int64, o *Op) []*model.Job {
	exact := before.Clone()
	if o.Claim == nil {
		return []*model.Job{exact}
	}
	var edge *model.Job
	for _, u := range before.Clone().Unfinished(now - 1) {
		if u.Open && ms(u.Left) == 1 {
			if edge == nil {
				edge = before.Clone()
			}
			edge.Heartbeat(now, store.HeartbeatRequest{Slot: u.Slot, Token: u.Token, Lease: span(1)})
		}
	}
	if edge == nil {
		return []*model.Job{exact}
	}
	return []*model.Job{exact, edge}
}

// nearBounds returns the claim, and what a store with a finer clock may take it
// for if it comes in the millisecond in which it becomes late or stops being early.
func nearBounds(req store.ClaimRequest, now int64) []store.ClaimRequest {
	reqs := []store.ClaimRequest{req}
	if late := now - req.Slot - ms(req.MaxLate+store.LateTolerance); near(late, 0) {
		for _, by := range []int64{-1, 1} {
			r := req
			r.MaxLate += span(by)
			reqs = append(reqs, r)
		}
	}
	if early := req.Slot - now - ms(req.MaxEarly); near(early, 0) {
		for _, by := range []int64{-1, 1} {
			r := req
			r.MaxEarly += span(by)
			reqs = append(reqs, r)
		}
	}
	return reqs
}

// claimAgrees reports whether a store may say what it said where the model says
// want.
func claimAgrees(before *model.Job, now int64, want, got store.ClaimAnswer) bool {
	if want.Verdict != got.Verdict {
		return false
	}
	left := near(ms(want.Left), ms(got.Left))
	switch want.Verdict {
	case store.VerdictWon:
		return want.Attempt == got.Attempt && want.Token == got.Token && left
	case store.VerdictRunning:
		return want.Attempt == got.Attempt && left && (want.Holder == got.Holder || got.Holder == "" && got.Left == 0)
	case store.VerdictOverlap:
		return want.Slot == got.Slot && want.Holder == got.Holder && left || inTheWay(before, now, got)
	case store.VerdictFinished:
		return want.Status == got.Status || got.Status == 0
	case store.VerdictSuperseded:
		return want.Slot == got.Slot
	case store.VerdictExhausted:
		return want.Attempt == got.Attempt
	default: // late, early
		return near(ms(want.By), ms(got.By))
	}
}

// inTheWay reports whether the run that an overlap names is another one of those
// that hold a lease.
func inTheWay(before *model.Job, now int64, got store.ClaimAnswer) bool {
	return slices.ContainsFunc(before.Clone().Unfinished(now), func(u store.UnfinishedRun) bool {
		return u.Slot == got.Slot && u.Holder == got.Holder && u.Left > 0 && near(ms(u.Left), ms(got.Left))
	})
}

// readAgrees reports whether the job reads as the answer says.
func readAgrees(j *model.Job, o *Op) bool {
	if o.Unfinished != nil {
		return slices.EqualFunc(j.Unfinished(o.Now()), o.Listed.Runs, func(want, got store.UnfinishedRun) bool {
			got.Job = want.Job
			ok := near(ms(want.Left), ms(got.Left))
			got.Left = want.Left
			return ok && want == got
		})
	}
	if o.History.Page != "" {
		return true // where a page begins is the store's own
	}
	want, err := j.History(o.Now(), *o.History)
	if err != nil {
		return false
	}
	got := o.Page.Attempts
	if o.Page.Next != "" { // a page may be shorter than it has to be
		want.Attempts = want.Attempts[:min(len(want.Attempts), len(got))]
	}
	return slices.EqualFunc(want.Attempts, got, func(want, got store.Attempt) bool {
		ok := near(want.StartedAt, got.StartedAt) && near(want.EndedAt, got.EndedAt) && (want.EndedAt == 0) == (got.EndedAt == 0)
		got.StartedAt, got.EndedAt = want.StartedAt, want.EndedAt
		return ok && want == got
	})
}

// near reports whether two times are as good as the same.
func near(a, b int64) bool { return a-b <= tolerance && b-a <= tolerance }
