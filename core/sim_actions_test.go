package core

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// do does what the machine says. What a call needs of a run is read now, as the
// driver does.
func (p *simProcess) do(a action) {
	w, r := p.w, a.run
	switch a.kind {
	case doClaim:
		req := p.m.claimRequest(r)
		p.checkClaim(r, &req)
		w.faults.claiming(p.node)
		w.note(simEntry{who: p.name, what: "claims as {text} after attempt {n} (id {id})", job: req.Job, slot: req.Slot, n: int64(req.After), id: req.ID, text: req.Reason.String()})
		p.call("claim", req.Job, a.timeout, func(c *simCall) simReply {
			ans, err := w.store.claim(p, c, req)
			return func(m *machine, now instant) { p.claimAnswered(m, now, r, &req, ans, err) }
		}, func(err error) simReply {
			return func(m *machine, now instant) { p.claimAnswered(m, now, r, &req, store.ClaimAnswer{}, err) }
		})
	case doBeat:
		req := p.m.heartbeatRequest(r)
		p.checkBeat(r)
		p.call("heartbeat", req.Job, a.timeout, func(c *simCall) simReply {
			ans, err := w.store.heartbeat(c, req)
			return func(m *machine, now instant) { p.beatAnswered(m, now, r, ans, err) }
		}, func(err error) simReply {
			return func(m *machine, now instant) { p.beatAnswered(m, now, r, store.HeartbeatAnswer{}, err) }
		})
	case doFinish:
		req := p.m.finishRequest(r)
		p.checkFinish(r, &req)
		w.note(simEntry{who: p.name, what: "finishes it as {text}", job: req.Job, slot: req.Slot, text: req.Outcome.String()})
		p.call("finish", req.Job, a.timeout, func(c *simCall) simReply {
			ans, err := w.store.finish(c, req)
			return func(m *machine, now instant) { p.finishAnswered(m, now, r, ans, err) }
		}, func(err error) simReply {
			return func(m *machine, now instant) { p.finishAnswered(m, now, r, store.FinishAnswer{}, err) }
		})
	case doRecall:
		p.checkRecall()
		names := slices.Clone(a.names)
		p.call("recall", "", a.timeout, func(*simCall) simReply {
			ans, err := w.store.unfinished(names)
			return func(m *machine, now instant) { p.recallAnswered(m, now, ans, err) }
		}, func(err error) simReply {
			return func(m *machine, now instant) { p.recallAnswered(m, now, store.UnfinishedAnswer{}, err) }
		})
	case doHistory:
		j := a.job
		p.call("history", j.spec.Name, a.timeout, func(*simCall) simReply {
			ans, err := w.store.history(j.spec.Name)
			return func(m *machine, now instant) { p.historyAnswered(m, now, j, ans, err) }
		}, func(err error) simReply {
			return func(m *machine, now instant) { p.historyAnswered(m, now, j, store.HistoryAnswer{}, err) }
		})
	case doStart:
		p.startHandler(r)
	case doCancel:
		if h := p.handler(r); h != nil {
			h.cancel(a.cause)
		}
	case doEvent:
		p.event(a.event)
	}
}

func (p *simProcess) startHandler(r *run) {
	d := p.m.describe(r)
	h := &simHandler{p: p, r: r, run: d, beganAt: p.w.now, renewedAt: p.watch.sent[r]}
	work := p.w.plan.jobs[p.w.jobNo[d.Job]].work.of(p.w, &d)
	if p.w.healed {
		work = simWork{takes: work.takes % time.Second, obeys: obeysWithNil}
	}
	h.endAt, h.result, h.obeys = p.w.now+int64(work.takes), work.result, work.obeys
	p.w.note(simEntry{who: p.name, what: "starts the handler of attempt {n}; its work takes {d}", job: d.Job, slot: d.Slot, n: int64(d.Attempt), d: work.takes})
	p.checkStart(h)
	p.handlers = append(p.handlers, h)
	h.schedule()
	p.w.faults.working(p.node, work.takes)
}

func (p *simProcess) claimAnswered(m *machine, now instant, r *run, req *store.ClaimRequest, ans store.ClaimAnswer, err error) {
	if err != nil {
		p.w.note(simEntry{who: p.name, what: "gets no answer to its claim: {err}", job: req.Job, slot: req.Slot, err: err})
	} else {
		p.w.note(simEntry{who: p.name, what: "is told {text} (attempt {n}, {d} left)", job: req.Job, slot: req.Slot, text: ans.Verdict.String(), n: int64(ans.Attempt), d: ans.Left})
	}
	p.noteClaimAnswer(r, req, &ans, err)
	m.claimAnswered(now, r, ans, err)
}

func (p *simProcess) beatAnswered(m *machine, now instant, r *run, ans store.HeartbeatAnswer, err error) {
	if err != nil || !ans.Renewed {
		text := "its heartbeat is refused: lost"
		if err != nil {
			text = "gets no answer to its heartbeat: {err}"
		}
		p.w.note(simEntry{who: p.name, what: text, job: r.job.spec.Name, slot: r.slot, err: err})
	}
	if took := time.Duration(p.w.now - p.watch.sent[r]); err == nil && ans.Renewed && took > 100*time.Millisecond {
		p.w.note(simEntry{who: p.name, what: "its heartbeat is renewed, {d} after it was sent", job: r.job.spec.Name, slot: r.slot, d: took})
	}
	p.noteBeatAnswer(r, &ans, err)
	m.beatAnswered(now, r, ans, err)
}

func (p *simProcess) finishAnswered(m *machine, now instant, r *run, ans store.FinishAnswer, err error) {
	text := "is told that the finish is recorded"
	switch {
	case err != nil:
		text = "gets no answer to its finish: {err}"
	case !ans.Recorded:
		text = "is told that the run was lost"
	}
	p.w.note(simEntry{who: p.name, what: text, job: r.job.spec.Name, slot: r.slot, err: err})
	m.finishAnswered(now, r, ans, err)
}

func (p *simProcess) recallAnswered(m *machine, now instant, ans store.UnfinishedAnswer, err error) {
	if err != nil {
		p.w.note(simEntry{who: p.name, what: "gets no answer to its recall: {err}", err: err, aside: true})
	}
	p.noteRecallAnswer(&ans, err)
	m.recallAnswered(now, ans, err)
}

func (p *simProcess) historyAnswered(m *machine, now instant, j *job, ans store.HistoryAnswer, err error) {
	if err != nil {
		p.w.note(simEntry{who: p.name, what: "gets no answer about the history: {err}", job: j.spec.Name, err: err, aside: true})
	} else {
		p.w.note(simEntry{who: p.name, what: "is told the history: {n} attempts, the newest {text}", job: j.spec.Name, n: int64(len(ans.Attempts)), text: simNewest(ans.Attempts)})
	}
	m.historyAnswered(now, j, ans, err)
}

func simNewest(attempts []store.Attempt) string {
	if len(attempts) == 0 {
		return "none"
	}
	a := &attempts[0]
	return simSlot(a.Slot) + " from " + simSlot(a.StartedAt) + " to " + simSlot(a.EndedAt)
}
