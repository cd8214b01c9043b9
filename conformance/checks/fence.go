package checks

import (
	"math"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// fence: tokens rise, and what a stale one sends changes nothing.
func fence() []kit.Check {
	return []kit.Check{{
		ID:       "fence/tokens-rise",
		Promises: []string{"R-TOKEN-1"},
		Says:     "the tokens of a job rise with every grant: over finishes, hand-overs, takeovers, another slot, and a history trimmed to one run",
		Causes:   "the counter is kept with the run or with the history, and is lost with them; tokens are drawn at random",
		Applies:  promise.Lease,
		Do:       tokensRise,
	}, {
		ID:       "fence/above-clock",
		Promises: []string{"R-TOKEN-2"},
		Says:     "every token is at least the store's now in milliseconds at its grant, in a job's first grant and in later ones",
		Causes:   "tokens are counted from 1, so that they fall behind after a restore from a backup",
		Applies:  promise.Lease,
		Do:       aboveClock,
	}, {
		ID:       "fence/wrong-token",
		Promises: []string{"R-TOKEN-3"},
		Says:     "heartbeat and finish with a token that was never granted for the run (one more, one less, 0, the greatest, another job's) are lost and change nothing",
		Causes:   "tokens are compared with <= or as text prefixes; 0 stands for any; the token is looked up without job and slot",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       wrongToken,
	}, {
		ID:       "fence/taken-over",
		Promises: []string{"R-TOKEN-3", "R-FINISH-3"},
		Says:     "after a takeover the earlier runner's heartbeat and finish are lost; the new holder's attempt, lease and finish stand",
		Causes:   "the last write is not fenced; any holder's token of the run is accepted",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       takenOver,
	}, {
		ID:       "fence/dead-token",
		Promises: []string{"R-TOKEN-3", "R-FINISH-3"},
		Says:     "the token of an attempt that was finished, failed, interrupted or handed over is dead: no heartbeat revives it and no other outcome replaces what stands",
		Causes:   "heartbeat looks at the token, not at whether the attempt is open; the last outcome wins",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       deadToken,
	}, {
		ID:       "fence/stale-heartbeat",
		Promises: []string{"R-TOKEN-3", "R-LEASE-2"},
		Says:     "heartbeats of a runner that lost its run do not prolong the new holder's lease: it ends in time",
		Causes:   "heartbeat renews the run, whoever holds it",
		Applies:  promise.Lease,
		Do:       staleHeartbeat,
	}}
}

func tokensRise(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	var last store.Token
	slot, n := 0, 0
	win := func(req store.ClaimRequest) kit.Grant {
		n++
		req.HistorySize, req.MaxAttempts, req.Lease = 1, 100, kit.Long
		g := p[n%2].Win(req)
		if g.Token <= last {
			r.Fatalf("grant %d of the job has token %d; the one before had %d", n, g.Token, last)
		}
		last = g.Token
		return g
	}
	for range 8 {
		g := win(r.Ask(job, slot, "a"))
		p[0].Record(g, store.OutcomeReleased, "")
		g = win(g.Next("b"))
		p[1].Record(g, store.OutcomeSuccess, "")
		slot++
	}
	g := win(r.Ask(job, slot, "a"))
	p[0].Record(g, store.OutcomeReleased, "")
	for range 3 {
		req := g.Next("c")
		req.Lease, req.HistorySize, req.MaxAttempts = r.Lease()/4, 1, 100
		taken := p[0].Win(req)
		if taken.Token <= last {
			r.Fatalf("a takeover has token %d; the grant before had %d", taken.Token, last)
		}
		last, g = taken.Token, taken
		r.SleepUntil(taken.OverBy())
	}
	// Left behind, and closed by a newer slot.
	win(r.Ask(job, slot+1, "d"))
}

func aboveClock(r *kit.Run) {
	c := r.Open(1)[0]
	job := r.Job("j")
	for slot := range 3 {
		g := c.Win(r.Ask(job, slot, "a"))
		if int64(g.Token) < g.Now {
			r.Fatalf("token %d was granted when the store's now was %d", g.Token, g.Now)
		}
		c.Record(g, store.OutcomeSuccess, "")
		r.Sleep(kit.Slack)
	}
}

// wrongTokens are tokens that were never granted to the attempt.
func wrongTokens(g kit.Grant, others ...store.Token) []store.Token {
	return append(others, g.Token-1, g.Token+1, 0, 1, g.Token/10, g.Token*10, math.MaxInt64)
}

func wrongToken(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	req := r.Ask(job, 1, "a")
	req.Overlap = store.OverlapAllow
	g := p[0].Win(req)
	other := p[0].Win(r.Ask(r.Job("other"), 1, "a"))
	newer := r.Ask(job, 2, "a")
	newer.Overlap = store.OverlapAllow
	neighbour := p[1].Win(newer)
	before := p[1].History(job)
	for _, t := range wrongTokens(g, other.Token, neighbour.Token) {
		if t == g.Token {
			continue // the other job's token may be the same number
		}
		beat, end := g.Beat(kit.Long*2), g.End(store.OutcomeSuccess, "")
		beat.Token, end.Token = t, t
		p[1].BeatLost(beat, "whose token was never granted for the run")
		p[0].FinishLost(end, "whose token was never granted for the run")
		end.Outcome = store.OutcomeReleased
		p[0].FinishLost(end, "whose token was never granted for the run")
	}
	wantUntouched(r, p[0], job, before, "a call with a wrong token")
	at := p[1].Claim(g.Next("b"))
	p[1].Want(g.Req, at, store.VerdictRunning)
	leftWithin(r, g, at.Left, at.Span)
	p[1].Renew(g, kit.Long)
	p[1].Record(g, store.OutcomeSuccess, "")
}

// takeOver lets the grant's lease end and takes the run over, with a long lease.
func takeOver(r *kit.Run, c *kit.Client, g kit.Grant, instance string) kit.Grant {
	r.SleepUntil(g.OverBy())
	req := g.Next(instance)
	req.Lease = kit.Long
	return c.Win(req)
}

func takenOver(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	req := r.Ask(job, 0, "a")
	req.Lease = r.Lease()
	a := p[0].Win(req)
	b := takeOver(r, p[1], a, "b")
	before := p[1].History(job)
	p[0].BeatLost(a.Beat(2*kit.Long), "after b took the run over")
	for _, o := range []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeReleased} {
		p[0].FinishLost(a.End(o, "too late"), "after b took the run over")
	}
	wantUntouched(r, p[1], job, before, "a stale runner's call")
	at := p[0].Refused(a.Next("c"), store.VerdictRunning)
	if at.Holder != "b" {
		r.Fatalf("the run is held by %q; want b", at.Holder)
	}
	leftWithin(r, b, at.Left, at.Span)
	p[1].Renew(b, kit.Long)
	p[1].Record(b, store.OutcomeSuccess, "")
	p[0].FinishLost(a.End(store.OutcomeFailed, "too late"), "after b finished the run")
	wantAttempt(r, p[0], job, b, store.StatusSuccess, false)
}

func deadToken(r *kit.Run) {
	p := r.Open(2)
	outcomes := []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted, store.OutcomeReleased}
	for _, o := range outcomes {
		job := r.Job(o.String())
		g := p[0].Win(r.Ask(job, 0, "a"))
		p[0].Record(g, o, "the first word")
		before := p[1].History(job)
		dead := func(when string) {
			p[1].BeatLost(g.Beat(kit.Long), when)
			for _, other := range outcomes {
				if other != o {
					p[1].FinishLost(g.End(other, "another word"), when)
				}
			}
		}
		dead("after it was finished as " + o.String())
		wantUntouched(r, p[0], job, before, "a dead token's call")
		if o == store.OutcomeReleased {
			next := p[0].Win(g.Next("b"))
			dead("after it was handed over and taken")
			p[0].Record(next, store.OutcomeSuccess, "")
			dead("after it was handed over and the run ended")
			continue
		}
		p[1].Refused(g.Next("b"), store.VerdictFinished)
	}
}

func staleHeartbeat(r *kit.Run) {
	p := r.Open(3)
	req := r.Ask(r.Job("j"), 0, "a")
	req.Lease = r.Lease()
	a := p[0].Win(req)
	r.SleepUntil(a.OverBy())
	b := p[1].Win(a.Next("b"))
	p[0].BeatLost(a.Beat(kit.Long), "after b took the run over")
	r.SleepUntil(b.OverBy())
	p[2].Win(b.Next("c"))
	p[0].BeatLost(a.Beat(kit.Long), "after c took the run over")
	p[1].BeatLost(b.Beat(kit.Long), "after c took the run over")
}
