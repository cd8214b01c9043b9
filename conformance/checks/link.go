package checks

import (
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// link: the way between a plugin and its store is broken on purpose.
func link() []kit.Check {
	return []kit.Check{{
		ID:       "link/lost-answers",
		Promises: []string{"R-ERROR-3", "R-CLAIM-2", "R-CLAIM-1"},
		Says:     "claims reach the store and its answers are thrown away: each call is unknown, or answered as won, and every other process sees the run as taken; asked again with the same claim id, through another process and through the same one, it is the same grant, and there is one attempt",
		Causes:   "a driver that sends again by itself, and then reads its own claim as another's; an unanswered call that is called refused or not applied",
		Needs:    kit.NeedLink,
		Limit:    2 * time.Minute,
		Do:       lostAnswers,
	}, {
		ID:       "link/lost-finish",
		Promises: []string{"R-ERROR-3", "R-FINISH-2"},
		Says:     "the answers to a heartbeat and to a finish are thrown away: neither call says lost; the heartbeat renewed, the finish stands, and repeated it is recorded",
		Causes:   "an unanswered finish that is called lost; a finish that is sent again by the driver and judged as a second one",
		Applies:  promise.Lease,
		Needs:    kit.NeedLink,
		Limit:    2 * time.Minute,
		Do:       lostFinish,
	}, {
		ID:       "link/late-claim",
		Promises: []string{"R-CLAIM-7", "R-CLAIM-1"},
		Says:     "a claim is held up on its way, asked again through another process, won, and ended there (a lease backend hands over, then finishes); the copy that arrives then changes nothing",
		Causes:   "the attempt that a claim follows is not looked at; a late copy writes over the winner's record",
		Needs:    kit.NeedLink | kit.NeedHistory,
		Do:       lateClaim,
	}, {
		ID:       "link/late-messages",
		Promises: []string{"R-TOKEN-3", "R-FINISH-3", "R-LEASE-6"},
		Says:     "a runner's heartbeat and finish are held up on their way until another has taken the run over: arriving then, they neither prolong nor end what the new holder has",
		Causes:   "heartbeats or finishes that are judged by job and slot, and not by token",
		Applies:  promise.Lease,
		Needs:    kit.NeedLink | kit.NeedHistory,
		Do:       lateMessages,
	}, {
		ID:       "link/cut",
		Promises: []string{"R-ERROR-3", "R-ERROR-4", "R-CLAIM-2"},
		Says:     "the connections of a process are cut and new ones refused for a while: its calls end in time, with an error that is not invalid; those that say not applied were not; once the way is whole the same process works again, and every claim asked again is won, once",
		Causes:   "a connection that is never made anew; an error of the network that is called a verdict; a claim that was kept and sent later",
		Needs:    kit.NeedLink,
		Limit:    2 * time.Minute,
		Do:       cutLink,
	}, {
		ID:       "link/slow",
		Promises: []string{"R-LEASE-1", "R-CLAIM-1"},
		Says:     "requests and answers of one process take a long way: it and a near one claim the same runs at once and one of them wins; a lease that it is granted holds for its whole length from when the request can have arrived",
		Causes:   "a lease that counts from when the plugin sent the claim; a deadline that the plugin worked out on its own clock",
		Needs:    kit.NeedLink,
		Do:       slowLink,
	}, {
		ID:       "link/connections",
		Promises: []string{"R-ERROR-4"},
		Says:     "a process that made two hundred calls, some of them cut off, has no more connections to its store than at first and a few; once it is closed it has none",
		Causes:   "a connection that is dropped and not closed after an error; a pool without a bound; a plugin that does not end",
		Needs:    kit.NeedLink,
		Do:       connections,
	}}
}

// patience is how long a caller waits for an answer that does not come.
const patience = 300 * time.Millisecond

// patienceOf grows from round to round: a store on a slow machine needs its time to
// answer, and only what it answered can be thrown away.
func patienceOf(round int) time.Duration { return patience << min(round/2, 4) }

// notRefused fails if a call that may have taken effect says that it did not.
func notRefused(r *kit.Run, what string, err error) {
	if err != nil && !store.IsUnknown(err) {
		r.Fatalf("%s reached the store, and its answer was lost; the error must be of neither kind that says that nothing was done: %v", what, err)
	}
}

func lostAnswers(r *kit.Run) {
	c, way := r.OpenLinked()
	others := r.Open(2)
	lost := 0
	for n := 0; n < 10 && lost < 4; n++ {
		job := r.Job(fmt.Sprintf("j%d", n))
		warm := c.Win(r.Ask(job+" warm", 0, "a")) // what is only done once is done
		c.Record(warm, store.OutcomeSuccess, "")
		req := r.Ask(job, 0, "a")

		before := way.Traffic()
		way.Swallow()
		ctx, cancel := r.Within(patienceOf(n))
		a, err := c.TryClaimContext(ctx, req)
		cancel()
		if err == nil {
			r.Fatalf("all answers of the store were thrown away, and the claim was answered %v", a.Verdict)
		}
		// It arrived, if the others see it.
		b := r.Ask(job, 0, "b")
		seen := false
		if t := way.Traffic(); t.Delivered > before.Delivered && t.Swallowed > before.Swallowed {
			got := others[0].Claim(b)
			seen = got.Verdict != store.VerdictWon
			if seen {
				others[0].Want(b, got, takenAs(r))
			}
		}
		way.Mend()
		if !seen { // it is not known what became of it; nothing that follows is wrong
			r.Sleep(patience)
			continue
		}
		lost++
		notRefused(r, "a claim", err)
		g := others[1].Win(req)
		if g.Attempt != 1 {
			r.Fatalf("a claim whose answer was lost, asked again with the same claim id: attempt %d; want 1", g.Attempt)
		}
		same(r, g, afterMend(r, c, req))
		if r.Description().History {
			if h := others[0].History(job); len(h) != 1 || h[0].Instance != "a" {
				r.Fatalf("a claim whose answer was lost left the attempts %+v; want one of instance a", h)
			}
		}
		others[0].Record(g, store.OutcomeSuccess, "")
	}
	if lost < 2 {
		r.Inconclusive("of 10 answers that were thrown away, %d were to a claim that had reached the store; that is too few to say anything", lost)
	}
	r.Figure("lost answers", "%d", lost)
}

func lostFinish(r *kit.Run) {
	c, way := r.OpenLinked()
	other := r.Open(1)[0]
	lost := 0
	for n := 0; n < 10 && lost < 2; n++ {
		job := r.Job(fmt.Sprintf("j%d", n))
		warmUp(r, c)
		req := r.Ask(job, 0, "a")
		req.Lease = 2 * kit.Long
		g := c.Win(req)

		way.Swallow()
		ctx, cancel := r.Within(patienceOf(n))
		beat, err := c.TryHeartbeatContext(ctx, g.Beat(4*kit.Long))
		cancel()
		if err == nil && !beat.Renewed {
			r.Fatalf("a heartbeat of a live attempt, whose answer was thrown away, is answered lost")
		}
		notInvalid(r, "a heartbeat", err)
		u := other.Unfinished(job)
		renewed := len(u.Runs) == 1 && u.Runs[0].Left > 3*kit.Long
		way.Mend()
		same(r, g, afterMend(r, c, req))
		if renewed {
			notRefused(r, "a heartbeat", err)
		}
		warmUp(r, c)

		way.Swallow()
		ctx, cancel = r.Within(patienceOf(n))
		end, err := c.TryFinishContext(ctx, g.End(store.OutcomeSuccess, "text"))
		cancel()
		if err == nil && !end.Recorded {
			r.Fatalf("a finish of a live attempt, whose answer was thrown away, is answered lost")
		}
		notInvalid(r, "a finish", err)
		at, _ := attempt(other, job, g)
		way.Mend()
		if at.Status == store.StatusSuccess {
			lost++
			notRefused(r, "a finish", err)
		}
		other.Record(g, store.OutcomeSuccess, "text")
		finishAgain(r, c, g)
		wantAttempt(r, other, job, g, store.StatusSuccess, false)
	}
	if lost == 0 {
		r.Inconclusive("of 10 answers to a finish that were thrown away none was to one that had reached the store")
	}
	r.Figure("lost answers to a finish", "%d", lost)
}

// warmUp uses every verb of the process's side of a run, on several connections if
// it has them: what has to be done once on each, is done.
func warmUp(r *kit.Run, c *kit.Client) {
	mended(r, c)
	r.Parallel(4, func(i int) {
		g := c.Win(r.Ask(r.Job(fmt.Sprintf("warm %d %s", i, store.NewClaimID())), 0, "a"))
		beatAgain(r, c, g)
		finishAgain(r, c, g)
	})
}

// finishAgain finishes again as soon as the process can do it.
func finishAgain(r *kit.Run, c *kit.Client, g kit.Grant) {
	for end := time.Now().Add(recovery); ; r.Sleep(50 * time.Millisecond) {
		ctx, cancel := r.Within(2 * time.Second)
		a, err := c.TryFinishContext(ctx, g.End(store.OutcomeSuccess, "text"))
		cancel()
		switch {
		case err == nil && a.Recorded:
			return
		case err == nil:
			r.Fatalf("a finish whose answer was lost, repeated with the same outcome, is answered lost")
		case time.Now().After(end):
			r.Fatalf("%v after its way to the store was made whole, %s still can't finish: %v", recovery, c.Name(), err)
		}
	}
}

// beatAgain renews as soon as the process can do it again.
func beatAgain(r *kit.Run, c *kit.Client, g kit.Grant) {
	for end := time.Now().Add(recovery); ; r.Sleep(50 * time.Millisecond) {
		ctx, cancel := r.Within(2 * time.Second)
		a, err := c.TryHeartbeatContext(ctx, g.Beat(kit.Long))
		cancel()
		switch {
		case err == nil && a.Renewed:
			return
		case err == nil:
			r.Fatalf("a heartbeat of a live attempt is answered lost")
		case time.Now().After(end):
			r.Fatalf("%v after its way to the store was made whole, %s still can't renew: %v", recovery, c.Name(), err)
		}
	}
}

func notInvalid(r *kit.Run, what string, err error) {
	if errors.Is(err, store.ErrInvalid) {
		r.Fatalf("%s whose answer was lost is called invalid: %v", what, err)
	}
}

// heldUp calls over a link that holds requests back, until the call is given up,
// and reports whether something was held.
func heldUp(r *kit.Run, way kit.Link, send func() error) bool {
	before := way.Traffic().Held
	way.Hold()
	if err := send(); err == nil {
		r.Fatalf("a request that was held up on its way was answered")
	}
	return way.Traffic().Held > before
}

// settle is how long a message that was let go gets to arrive.
const settle = 250 * time.Millisecond

func lateClaim(r *kit.Run) {
	c, way := r.OpenLinked()
	other := r.Open(1)[0]
	held := 0
	for n := range 4 {
		job := r.Job(fmt.Sprintf("j%d", n))
		c.Record(mended(r, c).Win(r.Ask(job+" warm", 0, "a")), store.OutcomeSuccess, "")
		req := r.Ask(job, 0, "a")
		if heldUp(r, way, func() error {
			ctx, cancel := r.Within(patience)
			defer cancel()
			_, err := c.TryClaimContext(ctx, req)
			return err
		}) {
			held++
		}
		// Odd rounds: another instance was faster. Even ones: the same wish, sent again.
		again := req
		if n%2 == 1 {
			again.ID, again.Instance = store.NewClaimID(), "b"
		}
		g := other.Win(again)
		if r.Leases() {
			other.Record(g, store.OutcomeReleased, "")
		} else {
			other.Record(g, store.OutcomeSuccess, "")
		}
		before := other.History(job)
		way.Mend()
		r.Sleep(settle)
		wantUntouched(r, other, job, before, "a copy of a claim that arrived after its attempt was over")
		if r.Leases() {
			if u := other.Unfinished(job); len(u.Runs) != 1 || u.Runs[0].Open || u.Runs[0].Attempt != g.Attempt {
				r.Fatalf("a copy of a claim arrived after its attempt was handed over, and the run is %+v; want attempt %d, not open", u.Runs, g.Attempt)
			}
			next := other.Win(g.Next("c"))
			if next.Attempt != 2 {
				r.Fatalf("after a late copy of a claim the next attempt is %d; want 2", next.Attempt)
			}
			other.Record(next, store.OutcomeSuccess, "")
		}
	}
	if held < 2 {
		r.Inconclusive("of 4 claims %d were held up on their way; that is too few to say anything", held)
	}
	r.Figure("late copies", "%d", held)
}

func lateMessages(r *kit.Run) {
	c, way := r.OpenLinked()
	p := r.Open(2)
	warm := c.Renew(c.Win(r.Ask(r.Job("warm"), 0, "a")), kit.Long)
	c.Record(warm, store.OutcomeSuccess, "")
	job := r.Job("j")
	req := r.Ask(job, 0, "a")
	req.Lease = r.Lease()
	a := c.Win(req)
	if !heldUp(r, way, func() error {
		var errs [2]error
		ctx, cancel := r.Within(patience)
		defer cancel()
		r.Parallel(2, func(i int) {
			if i == 0 {
				_, errs[i] = c.TryHeartbeatContext(ctx, a.Beat(kit.Long))
				return
			}
			_, errs[i] = c.TryFinishContext(ctx, a.End(store.OutcomeSuccess, "too late"))
		})
		return errors.Join(errs[:]...)
	}) {
		r.Inconclusive("neither a heartbeat nor a finish was held up on its way")
	}
	r.SleepUntil(a.OverBy())
	next := a.Next("b")
	next.Lease = 4 * r.Lease()
	b := p[0].Win(next)
	way.Mend()
	r.Sleep(min(settle, r.Lease()))
	if u := p[1].Unfinished(job); u.Returned.Before(b.HoldsUntil()) {
		if len(u.Runs) != 1 || !u.Runs[0].Open || u.Runs[0].Holder != "b" {
			r.Fatalf("an earlier runner's heartbeat and finish arrived late, and the run of its new holder is %+v", u.Runs)
		}
		leftWithin(r, b, u.Runs[0].Left, u.Span)
	}
	wantAttempt(r, p[1], job, a, store.StatusInterrupted, false)
	r.SleepUntil(b.OverBy())
	g := p[1].Win(b.Next("c"))
	p[1].Record(g, store.OutcomeSuccess, "")
}
