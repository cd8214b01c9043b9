package hostprog

import (
	"context"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// traced tells each claim, heartbeat and finish with its answer.
type traced struct {
	store.Store
	w *writer
}

func (t traced) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	sent := time.Now()
	ans, err := t.Store.Claim(ctx, req)
	l := Line{What: "claim", Job: req.Job, Slot: req.Slot, Reason: req.Reason.String(), Attempt: ans.Attempt, Token: int64(ans.Token), Holder: ans.Holder, Left: ans.Left}
	if err == nil {
		l.Answer = ans.Verdict.String()
	}
	l.failed(err)
	l.timed(sent)
	t.w.write(l)
	return ans, err
}

func (t traced) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	sent := time.Now()
	ans, err := t.Store.Heartbeat(ctx, req)
	l := Line{What: "heartbeat", Job: req.Job, Slot: req.Slot, Token: int64(req.Token)}
	if err == nil {
		l.Answer = pick(ans.Renewed, "renewed", "lost")
	}
	l.failed(err)
	l.timed(sent)
	t.w.write(l)
	return ans, err
}

func (t traced) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	sent := time.Now()
	ans, err := t.Store.Finish(ctx, req)
	l := Line{What: "finish", Job: req.Job, Slot: req.Slot, Token: int64(req.Token), Reason: req.Outcome.String()}
	if err == nil {
		l.Answer = pick(ans.Recorded, "recorded", "lost")
	}
	l.failed(err)
	l.timed(sent)
	t.w.write(l)
	return ans, err
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// timed sets when a call was answered and how long it took, from one reading of the
// clock: the process may be frozen at any moment.
func (l *Line) timed(sent time.Time) {
	l.At = time.Now()
	l.Took = l.At.Sub(sent)
}
