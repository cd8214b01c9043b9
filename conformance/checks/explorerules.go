package checks

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	record "github.com/anarchon-go/anarchon/conformance/history"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

const (
	ruleScripts = 30
	ruleShrink  = 8 * time.Second
)

// scriptStep is a step of a script. What it does not need it does not look at.
type scriptStep struct {
	verb     int // see the constants
	slot     int
	process  int
	after    int // added to the attempt that the claim should follow
	grant    int // counted back from the last one
	leases   int // tenths of a lease
	allow    bool
	attempts int
	outcome  store.Outcome
}

const (
	actClaim = iota
	actAgain
	actBeat
	actFinish
	actWait
	actRecall
	actHistory
)

// drawAct draws a step: claims and ends often, odd ones now and then.
func drawAct(t *rapid.T) scriptStep {
	return scriptStep{
		verb:     rapid.SampledFrom([]int{actClaim, actClaim, actClaim, actClaim, actFinish, actFinish, actFinish, actBeat, actWait, actAgain, actRecall, actHistory}).Draw(t, "verb"),
		slot:     rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "slot"),
		process:  rapid.IntRange(0, 1).Draw(t, "process"),
		after:    rapid.SampledFrom([]int{0, 0, -1, 1}).Draw(t, "after"),
		grant:    rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}).Draw(t, "grant"),
		leases:   rapid.IntRange(5, 15).Draw(t, "tenths of a lease"),
		allow:    rapid.Bool().Draw(t, "allow"),
		attempts: rapid.IntRange(1, 3).Draw(t, "attempts"),
		outcome:  rapid.SampledFrom([]store.Outcome{store.OutcomeReleased, store.OutcomeReleased, store.OutcomeSuccess, store.OutcomeFailed}).Draw(t, "outcome"),
	}
}

func exploreRules(r *kit.Run) {
	p := r.Open(2)
	scripts := 0
	var worst *record.History
	var reason string
	failed := rapidly(r, ruleScripts, ruleShrink, func(t *rapid.T) {
		script := rapid.SliceOfN(rapid.Custom(drawAct), 5, 30).Draw(t, "script")
		scripts++
		h := play(r, p, r.Job(fmt.Sprintf("s%d", scripts)), script)
		switch j := record.Judge(h, 0); j.Verdict {
		case record.Unknown:
			r.Inconclusive("the calls could not be judged: %s", j.Reason)
		case record.Illegal:
			worst, reason = j.Culprit, j.Reason
			t.Fatal("no order of the calls follows the rules")
		}
	})
	if !failed {
		return
	}
	if worst == nil {
		r.Inconclusive("a script failed, and not by its answers")
	}
	least, steps := record.Minimise(worst, 0, time.Now().Add(10*time.Second))
	attach(r, worst, least)
	r.ShowsCalls()
	r.Fatalf("%s. What is left of the script (%s):\n%s", reason, strings.Join(steps, "; "), record.Ladder(least)+record.Turn(least))
}

// player plays a script.
type player struct {
	r      *kit.Run
	stores []store.Store
	job    string
	lease  time.Duration
	last   map[int]int // attempt, by slot
	claims []store.ClaimRequest
	grants []kit.Grant
}

// play makes a script's calls, one after the other, and reads at the end what became
// of the job.
func play(r *kit.Run, clients []*kit.Client, job string, script []scriptStep) *record.History {
	rec := record.NewRecorder(fmt.Sprintf("a script, %s", r.Description().Product), r.Description().Kind)
	p := &player{r: r, job: job, lease: r.Lease() / 10, last: map[int]int{}}
	for _, c := range clients {
		p.stores = append(p.stores, rec.Store(c.Name(), asStore{c}))
	}
	for n, a := range script {
		if err := p.act(n, a); record.ClassOf(err) == record.Invalid {
			r.Fatalf("a request that breaks no rule was answered with an error that says so: %v", err)
		}
	}
	p.act(len(script), scriptStep{verb: actRecall})
	p.act(len(script), scriptStep{verb: actHistory})
	h := rec.History()
	h.InTurn()
	return h
}

func (p *player) act(n int, a scriptStep) error {
	ctx, s, leases := p.r.Context(), p.stores[a.process%len(p.stores)], p.r.Leases()
	switch a.verb {
	case actClaim:
		req := p.r.Ask(p.job, a.slot, fmt.Sprintf("i%d", n))
		req.Lease, req.MaxAttempts = p.lease*time.Duration(a.leases)/10, a.attempts
		if leases {
			req.After = max(0, p.last[a.slot]+a.after)
		}
		if a.allow {
			req.Overlap = store.OverlapAllow
		}
		p.claims = append(p.claims, req)
		return p.claim(s, req)
	case actAgain:
		if len(p.claims) > 0 {
			return p.claim(s, p.claims[max(0, len(p.claims)-1-a.grant)])
		}
	case actBeat:
		if leases && len(p.grants) > 0 {
			_, err := s.Heartbeat(ctx, p.grants[max(0, len(p.grants)-1-a.grant)].Beat(p.lease*time.Duration(a.leases)/10))
			return err
		}
	case actFinish:
		if len(p.grants) > 0 {
			if !leases && a.outcome == store.OutcomeReleased {
				a.outcome = store.OutcomeInterrupted
			}
			_, err := s.Finish(ctx, p.grants[max(0, len(p.grants)-1-a.grant)].End(a.outcome, ""))
			return err
		}
	case actWait:
		p.r.Sleep(p.lease * time.Duration(a.leases) / 10)
	case actRecall:
		if leases {
			_, err := s.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{p.job}})
			return err
		}
	case actHistory:
		if p.r.Description().History {
			_, err := s.History(ctx, store.HistoryRequest{Job: p.job, Limit: store.MaxHistory})
			return err
		}
	}
	return nil
}

func (p *player) claim(s store.Store, req store.ClaimRequest) error {
	a, err := s.Claim(p.r.Context(), req)
	if err == nil && a.Verdict == store.VerdictWon {
		slot := int((req.Slot - p.r.Slot(0)) / 1000)
		p.last[slot] = max(p.last[slot], a.Attempt)
		p.grants = append(p.grants, kit.Grant{Claimed: kit.Claimed{ClaimAnswer: a}, Req: req})
	}
	return err
}
