package mutants

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/anarchon-go/anarchon/core/store"
)

// Bends that show only in what comes of many calls: at once, or one after another in
// an order that nobody thought of.

func historyBends() []Mutant {
	const lease = store.KindLease
	return []Mutant{
		bent("heartbeat-in-two-steps", "a heartbeat looks if its token is current, and says so ten milliseconds later", lease, "R-TOKEN-3", "linear/shared",
			simple(func(good store.Store) store.Store { return heartbeatInTwoSteps{good} })),
		bent("cut-off-finish-not-applied", "a finish that was cut off is called not applied, and was", lease, "R-ERROR-3", "linear/cut-off",
			simple(func(good store.Store) store.Store { return cutOffFinish{good} })),
		bent("taken-cut-off-not-applied", "a claim that was cut off is called not applied, and was", store.KindClaimOnly, "R-ERROR-3", "linear/cut-off",
			simple(func(good store.Store) store.Store { return cutOffNotApplied{good} })),
		bent("taken-won-in-two-steps", "a claim-only store looks if a slot is free, and takes it a millisecond later for all who looked", store.KindClaimOnly, "R-CLAIM-1", "linear/shared",
			simple(func(good store.Store) store.Store { return wonInTwoSteps{good} })),
		bent("after-ignored-when-released", "a run that was handed over is granted to a claim that follows another attempt", lease, "R-CLAIM-7", "explore/rules",
			simple(func(good store.Store) store.Store { return afterIgnoredWhenReleased{good} })),
		bent("names-squeezed", "in a job's name repeated punctuation counts as one", lease, "R-NAME-1", "explore/names",
			simple(func(good store.Store) store.Store { return squeezed{good} })),
	}
}

type heartbeatInTwoSteps struct{ store.Store }

func (s heartbeatInTwoSteps) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	u, err := s.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{req.Job}})
	if err != nil {
		return store.HeartbeatAnswer{}, err
	}
	current := false
	for _, r := range u.Runs {
		current = current || r.Slot == req.Slot && r.Token == req.Token && r.Open
	}
	time.Sleep(10 * time.Millisecond)
	a, err := s.Store.Heartbeat(ctx, req)
	a.Renewed = current
	return a, err
}

type cutOffFinish struct{ store.Store }

func (s cutOffFinish) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	a, err := s.Store.Finish(context.WithoutCancel(ctx), req)
	if err != nil {
		return a, err
	}
	select {
	case <-ctx.Done():
		return store.FinishAnswer{}, fmt.Errorf("%w: %w", store.ErrNotApplied, ctx.Err())
	case <-time.After(3 * time.Millisecond):
		return a, nil
	}
}

type wonInTwoSteps struct{ store.Store }

func (s wonInTwoSteps) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	h, err := s.History(ctx, store.HistoryRequest{Job: req.Job, Limit: store.MaxHistory})
	if err != nil {
		return store.ClaimAnswer{}, err
	}
	free := true
	for _, a := range h.Attempts {
		free = free && a.Slot != req.Slot
	}
	time.Sleep(time.Millisecond)
	a, err := s.Store.Claim(ctx, req)
	if free && err == nil && a.Verdict == store.VerdictFinished {
		return store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: store.Token(a.Now), Now: a.Now}, nil
	}
	return a, err
}

// afterIgnoredWhenReleased grants what rule 7 refuses, if the run was handed over.
type afterIgnoredWhenReleased struct{ store.Store }

func (s afterIgnoredWhenReleased) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if err != nil || a.Verdict != store.VerdictRunning || a.Left > 0 {
		return a, err
	}
	u, err := s.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{req.Job}})
	for _, r := range u.Runs {
		if r.Slot == req.Slot && !r.Open {
			req.After = r.Attempt
			return s.Store.Claim(ctx, req)
		}
	}
	return a, err
}

// squeezed makes one of repeated punctuation in names, everywhere, as who takes them
// for paths or subjects may.
type squeezed struct{ store.Store }

func squeeze(job string) string {
	var b strings.Builder
	last := rune(-1)
	for _, r := range job {
		if r != last || !unicode.IsPunct(r) && !unicode.IsSymbol(r) && !unicode.IsSpace(r) {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

func (s squeezed) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	req.Job = squeeze(req.Job)
	return s.Store.Claim(ctx, req)
}

func (s squeezed) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	req.Job = squeeze(req.Job)
	return s.Store.Finish(ctx, req)
}

func (s squeezed) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	req.Job = squeeze(req.Job)
	return s.Store.History(ctx, req)
}

func (s squeezed) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	if len(req.Jobs) != 1 {
		return s.Store.Unfinished(ctx, req)
	}
	a, err := s.Store.Unfinished(ctx, store.UnfinishedRequest{Jobs: []string{squeeze(req.Jobs[0])}})
	for i := range a.Runs {
		a.Runs[i].Job = req.Jobs[0]
	}
	return a, err
}
