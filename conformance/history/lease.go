package history

import (
	"cmp"
	"math"
	"slices"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// tolerance is what a time that a store says may differ from the model's, in
// milliseconds: both are cut to whole ones, in the store maybe after a calculation
// with finer ones.
const tolerance = 1

// leaseState is where a job can be. It is never changed once it is one.
type leaseState struct {
	job *model.Job
	now int64 // the store's clock at the last change
	// over has a bit for each pending call that had its effect, or can have none any
	// more.
	over string
}

// leaseJudge judges a job of a lease store. Calls that may have taken effect or not
// are no calls of the search, which would have to try each of them at every place:
// before each answered call the state branches by what they may have done by then.
type leaseJudge struct {
	pending []*Op
	rising  bool // the store's clock never went back
	budget  *budget
}

// clockOrder is by how much, in milliseconds, the nows of changes of one job may be
// out of order while the store's clock rises: a step reads the clock inside, after
// whatever lock it waits for.
const clockOrder = 10

func isPending(o *Op) bool { return o.Class == Lost || o.InFlight }

func newLeaseJudge(ops []*Op, b *budget) *leaseJudge {
	l := &leaseJudge{rising: clockRises(ops), budget: b}
	for _, o := range ops {
		if isPending(o) && !o.reads() {
			l.pending = append(l.pending, o)
		}
	}
	return l
}

// clockRises reports whether no call says an earlier now than one that had returned
// before it was made.
func clockRises(ops []*Op) bool {
	type moment struct {
		at  int64 // real time
		now int64
	}
	var called, returned []moment
	for _, o := range ops {
		if o.Class == Answered {
			called = append(called, moment{int64(o.Call), o.Now()})
			returned = append(returned, moment{int64(o.Return), o.Now()})
		}
	}
	byTime := func(a, b moment) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(called, byTime)
	slices.SortFunc(returned, byTime)
	latest, next := int64(math.MinInt64/2), 0
	for _, c := range called {
		for ; next < len(returned) && returned[next].at < c.at; next++ {
			latest = max(latest, returned[next].now)
		}
		if c.now < latest-tolerance {
			return false
		}
	}
	return true
}

func (l *leaseJudge) rules() rules {
	return rules{
		init: func() any {
			return leaseState{new(model.Job), math.MinInt64 / 2, string(make([]byte, (len(l.pending)+7)/8))}
		},
		step: func(state any, o *Op) (after []any) {
			for _, s := range l.branches(state.(leaseState), o) {
				for _, job := range answeredStep(s.job, o) {
					next, ok := l.changed(s, job, o.Now(), o.reads())
					if ok && !slices.ContainsFunc(after, func(t any) bool { return t.(leaseState).covers(next) }) {
						after = append(after, next)
					}
				}
			}
			return after
		},
		skip: isPending,
		equal: func(a, b any) bool {
			s, t := a.(leaseState), b.(leaseState)
			return s.now == t.now && s.over == t.over && s.job.Equal(t.job)
		},
		hash: func(a any) uint64 { return a.(leaseState).job.Hash() },
	}
}

// changed returns the state after a change, and false if its now can't be.
func (l *leaseJudge) changed(s leaseState, job *model.Job, now int64, reads bool) (leaseState, bool) {
	if l.rising && !reads {
		if now < s.now-clockOrder {
			return s, false
		}
		now = max(now, s.now)
	} else {
		now = s.now
	}
	return leaseState{job, now, s.over}, true
}

// branches returns the states that pending calls can have made of s when o has its
// turn.
func (l *leaseJudge) branches(s leaseState, o *Op) []leaseState {
	if l.rising {
		s.over = l.gone(s)
	}
	all := []leaseState{s}
	for i := 0; i < len(all); i++ {
		for n, p := range l.pending {
			if all[i].over[n/8]&(1<<(n%8)) != 0 || p.Call > o.Return {
				continue
			}
			if !l.budget.spend() {
				return nil
			}
			for _, next := range l.effects(all[i], p, o.Now()) {
				next.over = mark(next.over, n)
				if !slices.ContainsFunc(all, func(t leaseState) bool { return t.covers(next) }) {
					all = append(all, next)
				}
			}
		}
	}
	return all
}

// covers reports whether whatever can follow from t can follow from s, too: it is the
// same job, no more pending calls are over, and it is no later.
func (s leaseState) covers(t leaseState) bool {
	if s.now > t.now {
		return false
	}
	for i := range len(s.over) {
		if s.over[i]&^t.over[i] != 0 {
			return false
		}
	}
	return s.job.Equal(t.job)
}

// effects returns the states after a pending call that had its effect by a time of
// the store's clock.
func (l *leaseJudge) effects(s leaseState, p *Op, by int64) (after []leaseState) {
	try := func(job *model.Job, at int64) {
		if l.rising && at > by+clockOrder || job.Equal(s.job) {
			return // not yet, or the same as no effect
		}
		if next, ok := l.changed(s, job, at, false); ok {
			after = append(after, next)
		}
	}
	if p.InFlight && p.Class == Answered {
		for _, job := range answeredStep(s.job, p) {
			try(job, p.Now())
		}
		return after
	}
	for _, e := range p.Maybe {
		if e.At == 0 {
			e.At = max(by, s.now)
		}
		if l.rising && (e.At > by+clockOrder || e.At < s.now-clockOrder) {
			continue
		}
		if !l.budget.spend() {
			return nil
		}
		for _, job := range atEdge(s.job, e.At, p) {
			if done(job, p, e) {
				try(job, e.At)
			}
		}
	}
	return after
}

// gone marks the pending calls that can't have an effect any more: states that
// differ by whether they had one, and by nothing else, are then the same.
func (l *leaseJudge) gone(s leaseState) string {
	over := s.over
	for n, p := range l.pending {
		last := int64(math.MinInt64)
		if p.Class == Answered {
			last = p.Now()
		}
		for _, e := range p.Maybe {
			last = max(last, e.At)
			if e.At == 0 {
				last = math.MaxInt64
			}
		}
		if last < s.now-clockOrder && over[n/8]&(1<<(n%8)) == 0 {
			over = mark(over, n)
		}
	}
	return over
}

func mark(set string, n int) string {
	b := []byte(set)
	b[n/8] |= 1 << (n % 8)
	return string(b)
}

// answeredStep returns the states after a call that agree with its answer.
func answeredStep(before *model.Job, o *Op) (after []*model.Job) {
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
