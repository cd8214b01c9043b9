package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// ask repeats a question to the store until it is answered: the probe's connection
// may have to be made again. Asking twice must do no harm.
func (p *Play) ask(question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), patience)
	defer cancel()
	for {
		err := question(ctx)
		if err == nil || errors.Is(err, store.ErrInvalid) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// recall asks the store what it remembers.
func (p *Play) recall() error {
	history := map[string][]store.Attempt{}
	for _, j := range p.jobs {
		if err := p.ask(func(ctx context.Context) (err error) {
			history[j.Name], err = p.historyOf(ctx, j.Name)
			return err
		}); err != nil {
			return fmt.Errorf("history of %q: %w", j.Name, err)
		}
	}
	var open []store.UnfinishedRun
	if p.kind == store.KindLease {
		var err error
		if open, err = p.unfinished(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.History, p.rec.Open = history, open
	return nil
}

// unfinished asks the store for all unfinished runs.
func (p *Play) unfinished() (runs []store.UnfinishedRun, err error) {
	err = p.ask(func(ctx context.Context) error {
		ans, err := p.probe.Unfinished(ctx, store.UnfinishedRequest{})
		runs = ans.Runs
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("unfinished runs: %w", err)
	}
	return runs, nil
}

// historyOf returns all that is remembered of a job, the oldest first.
func (p *Play) historyOf(ctx context.Context, job string) (all []store.Attempt, err error) {
	req := store.HistoryRequest{Job: job, Limit: store.MaxHistory}
	for {
		ans, err := p.probe.History(ctx, req)
		if err != nil {
			return nil, err
		}
		all = append(all, ans.Attempts...)
		if req.Page = ans.Next; ans.Next == "" {
			slices.Reverse(all)
			return all, nil
		}
	}
}
