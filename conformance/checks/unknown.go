package checks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// unknown: calls that were cut off.
func unknown() []kit.Check {
	return []kit.Check{{
		ID:       "errors/cut-off",
		Promises: []string{"R-ERROR-3", "R-CLAIM-2"},
		Says:     "claims are cut off by their caller after 0 to 5 ms: each is answered, or an error says unknown, or surely not applied and then nothing was; asked again with the same claim id it is won, once",
		Causes:   "an error after the write says not applied; a cut-off call is called invalid; the half-done step is left locked",
		Do:       cutOff,
	}, {
		ID:       "errors/cancelled",
		Promises: []string{"R-ERROR-3"},
		Says:     "a claim whose context is over before it begins fails within two seconds, and leaves the store free for others",
		Causes:   "the context is not handed on; the lock is not given back",
		Do:       cancelled,
	}}
}

func cutOff(r *kit.Run) {
	p := r.Open(2)
	cut, answered, notApplied := 0, 0, 0
	for n := range 30 {
		job := r.Job(fmt.Sprintf("j%d", n))
		req := r.Ask(job, 0, "a")
		limit := time.Duration(r.IntN(5000)) * time.Microsecond
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		a, err := p[0].TryClaimContext(ctx, req)
		cancel()
		switch {
		case err == nil:
			answered++
			p[0].Want(req, a, store.VerdictWon)
		case errors.Is(err, store.ErrInvalid):
			r.Fatalf("a claim that was cut off after %v is called invalid, which says that it can never succeed: %v", limit, err)
		case errors.Is(err, store.ErrNotApplied):
			notApplied++
			// Had it been granted, another asker would see it.
			other := r.Ask(job, 0, "b")
			if got := p[1].Claim(other); got.Verdict != store.VerdictWon {
				r.Fatalf("a claim that was cut off after %v says that it was surely not applied, and another claim of the run is answered %v: %v", limit, got.Verdict, err)
			}
			continue
		default:
			cut++
		}
		again := p[1].Win(req)
		if again.Attempt != 1 || err == nil && again.Token != a.Token {
			r.Fatalf("the same claim again, after it was cut off: attempt %d, token %d; the first answer was attempt %d, token %d, error %v", again.Attempt, again.Token, a.Attempt, a.Token, err)
		}
		if r.Description().History {
			if h := p[0].History(job); len(h) != 1 {
				r.Fatalf("a claim that was cut off and asked again left %d attempts; want one: %+v", len(h), h)
			}
		}
		p[1].Record(again, store.OutcomeSuccess, "")
	}
	r.Figure("claims cut off", "%d unknown, %d surely not applied, %d answered in time", cut, notApplied, answered)
}

func cancelled(r *kit.Run) {
	p := r.Open(2)
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	for n := range 5 {
		req := r.Ask(r.Job(fmt.Sprintf("j%d", n)), 0, "a")
		start := time.Now()
		_, err := p[0].TryClaimContext(ctx, req)
		if took := time.Since(start); took > 2*time.Second {
			r.Fatalf("a claim whose context was over returned after %v", kit.Wait(took))
		}
		if err != nil && errors.Is(err, store.ErrInvalid) {
			r.Fatalf("a claim whose context was over is called invalid: %v", err)
		}
		p[0].Win(req)
		p[1].Refused(kit.Grant{Req: req}.Next("b"), takenAs(r))
	}
}
