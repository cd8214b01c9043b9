package checks

import (
	"errors"
	"reflect"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// describe: what the plugin declares holds, in both directions.
func describe() []kit.Check {
	return []kit.Check{{
		ID:       "describe/complete",
		Promises: []string{"R-DESCRIBE-1"},
		Says:     "the description names kind, memory, clock, product and format; a lease backend also declares fencing, history, a clock, and memory for ever; every process says the same, again and again",
		Causes:   "a field is left at its zero value",
		Do:       describeComplete,
	}, {
		ID:       "describe/verbs",
		Promises: []string{"R-DESCRIBE-1", "R-ERROR-2"},
		Says:     "the verbs of the declared kind work, and those it does not have are refused as unsupported: a lease backend renews and recalls, a claim-only one does not; history is there if, and only if, it is declared",
		Causes:   "the description is written by hand and was not kept up",
		Do:       describeVerbs,
	}, {
		ID:       "describe/tokens",
		Promises: []string{"R-DESCRIBE-1"},
		Says:     "grants carry a token if fencing is declared, and 0 if it is not",
		Causes:   "the description is written by hand and was not kept up",
		Do:       describeTokens,
	}, {
		ID:       "describe/now",
		Promises: []string{"R-DESCRIBE-2"},
		Says:     "every answer of every verb carries the store's now, which never goes back from one answer to the next, through whichever process, and keeps pace with time here; without a declared clock it is 0",
		Causes:   "an answer of a rarer verdict is built without it; the plugin's clock in one verb and the store's in another; whole seconds",
		Do:       describeNow,
	}}
}

func describeComplete(r *kit.Run) {
	p := r.Open(2)
	d := p[0].Describe()
	lease := d.Kind == store.KindLease
	wrong := func(cond bool, what string) {
		if cond {
			r.Fatalf("%s: %+v", what, d)
		}
	}
	wrong(d.Kind != store.KindLease && d.Kind != store.KindClaimOnly, "the kind is neither lease nor claim-only")
	wrong(d.Memory.IsZero(), "how long the store remembers is not declared")
	wrong(d.Memory.Window < 0 || d.Memory.Runs < 0, "a bound of the memory is negative")
	wrong(d.Memory.Forever && (d.Memory.Window != 0 || d.Memory.Runs != 0), "the memory is for ever, and has bounds")
	wrong(d.Clock != store.ClockStore && d.Clock != store.ClockNone, "who owns the clock is not declared")
	wrong(d.Product == "", "the store's product is not named")
	wrong(d.Format < 1, "the store's format is below 1")
	wrong(lease && !d.Fenced, "a lease backend must fence")
	wrong(lease && !d.History, "a lease backend must have a history")
	wrong(lease && d.Clock != store.ClockStore, "a lease backend must judge on the store's clock")
	wrong(lease && !d.Memory.Forever, "a lease backend remembers the newest granted slot for ever")
	for _, w := range d.Warnings {
		wrong(w == "", "a warning is empty")
	}
	for _, c := range p {
		if again := c.Describe(); !reflect.DeepEqual(d, again) {
			r.Fatalf("the description changes\n  from %+v\n  to   %+v", d, again)
		}
	}
	r.Figure("memory", "%v", d.Memory)
	r.Figure("product", "%s", d.Product)
}

func describeVerbs(r *kit.Run) {
	c := r.Open(1)[0]
	d := r.Description()
	job := r.Job("j")
	g := c.Win(r.Ask(job, 0, "a"))
	_, beat := c.TryHeartbeat(g.Beat(kit.Long))
	_, list := c.TryUnfinished(job)
	page, hist := c.TryHistory(store.HistoryRequest{Job: job, Limit: 10})
	for _, verb := range []struct {
		name     string
		declared bool
		err      error
	}{
		{"heartbeat", r.Leases(), beat},
		{"recall of unfinished runs", r.Leases(), list},
		{"history", d.History, hist},
	} {
		switch {
		case verb.declared && verb.err != nil:
			r.Fatalf("the plugin declares kind %v, history %v; %s fails: %v", d.Kind, d.History, verb.name, verb.err)
		case !verb.declared && verb.name == "history" && verb.err == nil && len(page.Attempts) == 0:
			// An empty history is as good as none.
		case !verb.declared && !errors.Is(verb.err, store.ErrUnsupported):
			r.Fatalf("the plugin declares kind %v, history %v; %s must be unsupported, and its error is %v", d.Kind, d.History, verb.name, verb.err)
		}
	}
	if d.History && (len(page.Attempts) != 1 || page.Attempts[0].Status != store.StatusRunning) {
		r.Fatalf("history is declared, and after a grant it has %+v", page.Attempts)
	}
	c.Record(g, store.OutcomeSuccess, "")
}

func describeTokens(r *kit.Run) {
	c := r.Open(1)[0]
	for slot := range 3 {
		g := c.Win(r.Ask(r.Job("j"), slot, "a"))
		if fenced := r.Description().Fenced; fenced != (g.Token > 0) {
			r.Fatalf("the plugin declares fencing %v, and grants token %d", fenced, g.Token)
		}
		c.Record(g, store.OutcomeSuccess, "")
	}
}

func describeNow(r *kit.Run) {
	p := r.Open(2)
	clock := r.Description().Clock == store.ClockStore
	var last int64
	see := func(what string, now int64) {
		switch {
		case !clock && now != 0:
			r.Fatalf("the plugin declares that the store has no clock, and the answer to %s says that its now is %d", what, now)
		case clock && now <= 0:
			r.Fatalf("the answer to %s carries no now of the store", what)
		case clock && now < last-2: // it may be read apart from the decision
			r.Fatalf("the answer to %s says that the store's now is %d; an answer before it said %d", what, now, last)
		}
		last = max(last, now)
	}
	round := func(i int, job string) {
		c := p[i%2]
		g := c.Win(r.Ask(job, 1, "a"))
		see("a claim that won", g.Now)
		see("the same claim again", c.Claim(g.Req).Now)
		if r.Leases() {
			see("a claim that met a running run", p[(i+1)%2].Refused(g.Next("b"), store.VerdictRunning).Now)
			see("a claim that met an overlap", p[(i+1)%2].Refused(r.Ask(job, 2, "b"), store.VerdictOverlap).Now)
			see("a claim that was superseded", p[(i+1)%2].Refused(r.Ask(job, 0, "b"), store.VerdictSuperseded).Now)
			late, early := r.Ask(job+" late", 0, "b"), r.Ask(job+" early", 0, "b")
			late.MaxLate, early.MaxEarly = 0, 0
			early.Slot = g.Now + 3_600_000
			see("a claim that was late", c.Refused(late, store.VerdictLate).Now)
			see("a claim that was early", c.Refused(early, store.VerdictEarly).Now)
			see("a heartbeat", c.Heartbeat(g.Beat(kit.Long)).Now)
			wrong := g.Beat(kit.Long)
			wrong.Token++
			see("a heartbeat that was lost", c.Heartbeat(wrong).Now)
			wrong.Job += " unknown"
			see("a heartbeat of an unknown job", c.Heartbeat(wrong).Now)
			see("a recall of unfinished runs", c.Unfinished(job).Now)
			see("a recall of unfinished runs of an unknown job", c.Unfinished(job+" unknown").Now)
			wrongEnd := g.End(store.OutcomeSuccess, "")
			wrongEnd.Token++
			see("a finish that was lost", c.Finish(wrongEnd).Now)
		}
		if r.Description().History {
			see("a history", c.HistoryPage(store.HistoryRequest{Job: job, Limit: 1}).Now)
		}
		see("a finish", c.Record(g, store.OutcomeSuccess, "").Now)
		see("a claim that met a finished run", p[(i+1)%2].Refused(g.Next("b"), store.VerdictFinished).Now)
	}

	called := time.Now()
	round(0, r.Job("j0"))
	returned, first := time.Now(), last
	r.Sleep(r.Lease() / 2)
	again := time.Now()
	g := p[1].Win(r.Ask(r.Job("pace"), 0, "a"))
	see("a claim", g.Now)
	if low, high := again.Sub(returned)-kit.Slack, g.Returned.Sub(called)+kit.Slack; clock && (msSpan(last-first) < low || msSpan(last-first) > high) {
		r.Fatalf("between two answers from %v to %v passed here; the store's now moved by %d ms", kit.Wait(low), kit.Wait(high), last-first)
	}
	round(1, r.Job("j1"))
}
