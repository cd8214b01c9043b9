package checks

import (
	"context"
	"errors"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// stock is what a store holds before something is wrong with it, and what is asked of
// it meanwhile.
type stock struct {
	tries
	ended, held, ending kit.Grant
	recorded            bool  // the finish of ending was acknowledged
	unsure              bool  // it may have been recorded
	refused, inARow     int   // claims that failed; since one was served
	said                error // of one of them
}

func newStock(r *kit.Run, c *kit.Client, when string) *stock {
	s := &stock{tries: tries{when: when}}
	s.ended, s.held, s.ending = c.Win(r.Ask(r.Job("ended"), 0, "a")), c.Win(r.Ask(r.Job("held"), 0, "a")), c.Win(r.Ask(r.Job("ending"), 0, "a"))
	c.Record(s.ended, store.OutcomeSuccess, "")
	return s
}

// wanted is how many claims in a row a store must have refused to serve to be taken for
// one that has run out of something: one may fail for another reason.
const wanted = 4

// meanwhile asks until the store has refused to serve some claims one after the
// other, and for a while at least. After some hundred it asks no more: what a store
// that serves has written will be seen. served is called when a claim was served.
func (s *stock) meanwhile(r *kit.Run, p []*kit.Client, served func()) {
	const most, least = 600, 2 * time.Second
	since := time.Now()
	for len(s.reqs) < most && (s.inARow < wanted || time.Since(since) < least) {
		c := p[len(s.reqs)%len(p)]
		if s.claim(r, c) {
			if s.refused <= wanted {
				s.others(r, c)
			}
			r.Sleep(50 * time.Millisecond)
			continue
		}
		if len(s.reqs)%100 == 0 {
			s.others(r, c)
		}
		since = time.Now()
		served()
	}
}

// claim claims a run of a fresh job, and reports whether that failed.
func (s *stock) claim(r *kit.Run, c *kit.Client) (refused bool) {
	req := r.Ask(r.Job("meanwhile "+store.NewClaimID().String()), 0, "a")
	var a kit.Claimed
	err := s.call(r, "a claim", func(ctx context.Context) (err error) {
		a, err = c.TryClaimContext(ctx, req)
		return err
	})
	s.reqs, s.answers, s.errs = append(s.reqs, req), append(s.answers, a), append(s.errs, err)
	if err == nil {
		c.Want(req, a, store.VerdictWon)
		s.inARow = 0
		return false
	}
	s.refused++
	s.inARow++
	s.said = err
	return true
}

// call makes a call that may fail, but in time, and not as invalid.
func (s *stock) call(r *kit.Run, what string, f func(ctx context.Context) error) error {
	ctx, cancel := r.Within(2 * time.Second)
	defer cancel()
	began := time.Now()
	err := f(ctx)
	if took := time.Since(began); took > 6*time.Second {
		r.Fatalf("%s %s returned after %v; its caller's patience was 2 s", what, s.when, kit.Wait(took))
	}
	if errors.Is(err, store.ErrInvalid) {
		r.Fatalf("%s %s is called invalid: %v", what, s.when, err)
	}
	return err
}

// others asks for what was there before. Each call may fail; an answer must be right.
// The calls go side by side: some plugins wait for a connection as long as they may.
func (s *stock) others(r *kit.Run, c *kit.Client) {
	claim := func(req store.ClaimRequest, want store.Verdict) func() {
		return func() {
			_ = s.call(r, "a claim of a run that was granted", func(ctx context.Context) error {
				a, err := c.TryClaimContext(ctx, req)
				if err == nil && a.Verdict != want {
					r.Fatalf("a claim %s, of a run that was granted before: want %v or an error, got %v", s.when, want, a.Verdict)
				}
				return err
			})
		}
	}
	calls := []func(){
		func() { s.finish(r, c) },
		claim(another(r, s.ended, "b"), store.VerdictFinished),
		claim(another(r, s.held, "b"), takenAs(r)),
		claim(s.held.Req, store.VerdictWon),
	}
	if r.Leases() {
		calls = append(calls, func() {
			_ = s.call(r, "a heartbeat", func(ctx context.Context) error {
				a, err := c.TryHeartbeatContext(ctx, s.held.Beat(kit.Long))
				if err == nil && !a.Renewed {
					r.Fatalf("a heartbeat of a holder %s is answered lost", s.when)
				}
				return err
			})
		})
	}
	r.Parallel(len(calls), func(i int) { calls[i]() })
}

// finish ends the run that is to end meanwhile.
func (s *stock) finish(r *kit.Run, c *kit.Client) {
	err := s.call(r, "a finish", func(ctx context.Context) error {
		a, err := c.TryFinishContext(ctx, s.ending.End(store.OutcomeFailed, "on purpose"))
		switch {
		case err == nil && !a.Recorded && (r.Leases() || !s.recorded && !s.unsure):
			r.Fatalf("a finish of a holder %s is answered lost", s.when)
		case err == nil:
			s.recorded = true
		}
		return err
	})
	s.unsure = s.unsure || store.IsUnknown(err)
}

// after looks at what is there when the store has room again.
func (s *stock) after(r *kit.Run, c *kit.Client) {
	c.Refused(another(r, s.ended, "b"), store.VerdictFinished)
	c.Refused(another(r, s.held, "b"), takenAs(r))
	same(r, s.held, c.Claim(s.held.Req))
	if r.Leases() {
		c.Renew(s.held, kit.Long)
	}
	c.Record(s.held, store.OutcomeSuccess, "")
	if r.Leases() || !s.recorded && !s.unsure {
		c.Record(s.ending, store.OutcomeFailed, "on purpose")
	}
	c.Refused(another(r, s.ending, "b"), store.VerdictFinished)
	if r.Description().History {
		wantAttempt(r, c, s.ended.Req.Job, s.ended, store.StatusSuccess, false)
		wantAttempt(r, c, s.held.Req.Job, s.held, store.StatusSuccess, false)
		if r.Leases() || s.recorded {
			wantAttempt(r, c, s.ending.Req.Job, s.ending, store.StatusFailed, false)
		}
	}
	s.judge(r, c)
	if s.inARow < wanted {
		r.Inconclusive("%s %d of %d claims were served, and rightly: the store did not run out of what was taken from it", s.when, len(s.reqs)-s.refused, len(s.reqs))
	}
	r.Figure("what a claim said "+s.when, "%v", s.said)
}
