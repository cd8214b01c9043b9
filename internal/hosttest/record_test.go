package hosttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// op is one call of a verb, as its caller saw it: exactly one of the three
// requests is set.
type op struct {
	job       string
	slot      int64
	claim     *store.ClaimRequest
	beat      *store.HeartbeatRequest
	finish    *store.FinishRequest
	won       store.ClaimAnswer // of a call without an answer: the verdict alone, if it is concluded
	renewed   bool
	recorded  bool
	err       error
	call, ret time.Duration // since the beginning of the record
	called    int64         // the caller's wall clock, Unix milliseconds
	last      int64         // the last moment at which it can have taken effect, on that clock

	// at is the store's clock when it took effect: what the answer says, or what is
	// concluded for a call without one. 0: it had no effect, as far as is known.
	at int64
	// maybe are the times at which it may have taken effect, if at is 0.
	maybe []int64
}

func (o *op) answered() bool { return o.err == nil }

// apply makes the call on a job at a time and reports whether the answer is the one
// that was seen; any will do for a call without one.
func (o *op) apply(j *model.Job, now int64) bool {
	switch {
	case o.claim != nil:
		a, err := j.Claim(now, *o.claim)
		return !o.answered() || err == nil && a == o.won
	case o.beat != nil:
		a := j.Heartbeat(now, *o.beat)
		return !o.answered() || a.Renewed == o.renewed
	default:
		a := j.Finish(now, *o.finish)
		return !o.answered() || a.Recorded == o.recorded
	}
}

func (o *op) String() string {
	what, answer := "", ""
	switch {
	case o.claim != nil:
		what = fmt.Sprintf("claim by %s after %d, %v", o.claim.Instance, o.claim.After, o.claim.Overlap)
		a := o.won
		answer = fmt.Sprintf("%v attempt %d token %d slot %d left %v status %v", a.Verdict, a.Attempt, a.Token, a.Slot, a.Left, a.Status)
	case o.beat != nil:
		what, answer = fmt.Sprintf("heartbeat of token %d", o.beat.Token), fmt.Sprintf("renewed %v", o.renewed)
	default:
		what, answer = fmt.Sprintf("finish of token %d as %v", o.finish.Token, o.finish.Outcome), fmt.Sprintf("recorded %v", o.recorded)
	}
	if o.err != nil {
		answer = fmt.Sprintf("no answer, took effect at %d (0: never, or at one of %d): %.80v", o.at, o.maybe, o.err)
	}
	return fmt.Sprintf("%9.3f..%9.3f ms  %d  slot %d  %s -> %s (store's now %d)", ms(o.call), ms(o.ret), o.called, o.slot, what, answer, o.at)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// record writes down what callers of a store see.
type record struct {
	begin time.Time
	late  time.Duration // how long after its return a call without an answer may take effect
	mu    sync.Mutex
	ops   map[string][]*op // by job
}

func newRecord() *record { return &record{begin: time.Now(), ops: map[string][]*op{}} }

// recorded is a store whose calls are written down.
type recorded struct {
	store.Store
	record *record
}

func (r recorded) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	o := &op{job: req.Job, slot: req.Slot, claim: &req}
	r.record.note(o, func() { o.won, o.err = r.Store.Claim(ctx, req); o.at = o.won.Now })
	return o.won, o.err
}

func (r recorded) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (a store.HeartbeatAnswer, err error) {
	o := &op{job: req.Job, slot: req.Slot, beat: &req}
	r.record.note(o, func() { a, o.err = r.Store.Heartbeat(ctx, req); o.renewed, o.at = a.Renewed, a.Now })
	return a, o.err
}

func (r recorded) Finish(ctx context.Context, req store.FinishRequest) (a store.FinishAnswer, err error) {
	o := &op{job: req.Job, slot: req.Slot, finish: &req}
	r.record.note(o, func() { a, o.err = r.Store.Finish(ctx, req); o.recorded, o.at = a.Recorded, a.Now })
	return a, o.err
}

func (r *record) note(o *op, call func()) {
	o.called, o.call = time.Now().UnixMilli(), time.Since(r.begin)
	call()
	o.ret = time.Since(r.begin)
	o.last = o.called + (o.ret - o.call + r.late).Milliseconds() + clockSlack
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops[o.job] = append(r.ops[o.job], o)
}

// unknown and notApplied count the calls that ended so.
func (r *record) count() (all, unknown, notApplied, takeovers int) {
	for _, ops := range r.ops {
		for _, o := range ops {
			all++
			switch {
			case store.IsUnknown(o.err):
				unknown++
			case errors.Is(o.err, store.ErrNotApplied):
				notApplied++
			case o.claim != nil && o.won.Verdict == store.VerdictWon && o.won.Attempt > 1:
				takeovers++
			}
		}
	}
	return all, unknown, notApplied, takeovers
}
