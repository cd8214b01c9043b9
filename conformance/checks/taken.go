package checks

import (
	"errors"
	"fmt"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// taken: what is particular to claim-only backends.
func taken() []kit.Check {
	return []kit.Check{{
		ID:       "taken/stays",
		Promises: []string{"R-CLAIM-1", "R-CLAIM-4"},
		Says:     "a run whose runner was never heard of again stays taken: it is answered finished, long after the lease that its claim named",
		Causes:   "the claim's lease is used as the time for which the store remembers",
		Applies:  promise.ClaimOnly,
		Do:       takenStays,
	}, {
		ID:       "taken/unsupported",
		Promises: []string{"R-ERROR-2", "R-DESCRIBE-1"},
		Says:     "heartbeat, recall of unfinished runs and a hand-over are answered unsupported, and leave the run as it was",
		Causes:   "a lease store that declares itself claim-only; an empty answer where a refusal is due",
		Applies:  promise.ClaimOnly,
		Do:       takenUnsupported,
	}, {
		ID:       "taken/stranger",
		Promises: []string{"R-FINISH-1"},
		Says:     "a finish whose token, or claim id where tokens are 0, is not the winner's is lost and changes nothing",
		Causes:   "finish looks at job and slot only",
		Applies:  promise.ClaimOnly,
		Needs:    kit.NeedHistory,
		Do:       takenStranger,
	}}
}

func takenStays(r *kit.Run) {
	p := r.Open(2)
	req := r.Ask(r.Job("j"), 0, "gone")
	req.Lease = r.Lease()
	g := p[0].Win(req)
	p[1].Refused(g.Next("another"), store.VerdictFinished)
	r.SleepUntil(g.OverBy().Add(r.Lease()))
	for _, c := range p {
		for _, after := range []int{0, 1} {
			next := g.Next("another")
			next.After = after
			c.Refused(next, store.VerdictFinished)
		}
	}
}

func takenUnsupported(r *kit.Run) {
	c := r.Open(1)[0]
	g := c.Win(r.Ask(r.Job("j"), 0, "runner"))
	unsupported := func(verb string, err error) {
		if !errors.Is(err, store.ErrUnsupported) {
			r.Fatalf("%s of a claim-only backend: want the error unsupported, got %v", verb, err)
		}
	}
	_, err := c.TryHeartbeat(g.Beat(kit.Long))
	unsupported("heartbeat", err)
	_, err = c.TryUnfinished(g.Req.Job)
	unsupported("recall of unfinished runs", err)
	_, err = c.TryUnfinished()
	unsupported("recall of unfinished runs of all jobs", err)
	_, err = c.TryFinish(g.End(store.OutcomeReleased, ""))
	unsupported("finish as released", err)
	c.Refused(another(r, g, "another"), store.VerdictFinished)
	c.Record(g, store.OutcomeSuccess, "")
}

func takenStranger(r *kit.Run) {
	p := r.Open(2)
	for n, o := range []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted} {
		job := r.Job(fmt.Sprintf("j%d", n))
		g := p[0].Win(r.Ask(job, 0, "runner"))
		before := p[1].History(job)
		req := g.End(o, "")
		if r.Description().Fenced {
			req.Token++
		} else {
			req.ID = store.NewClaimID()
		}
		p[1].FinishLost(req, "sent by a stranger")
		wantUntouched(r, p[0], job, before, "a stranger's finish")
		p[0].Record(g, o, "")
	}
}
