package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// Takeovers kills runners with kill -9, each with a backup beside it and at another
// moment between two heartbeats, and returns how long it took from each kill until
// the backup's handler began, the shortest first. At most so many are killed at once.
// It is for lease backends.
func (st *Stage) Takeovers(ctx context.Context, t Timing, kills, most int) ([]time.Duration, error) {
	if st.Kind != store.KindLease {
		return nil, fmt.Errorf("%s is a claim-only backend: nobody takes a run over", st.Name)
	}
	var (
		mu    sync.Mutex
		took  []time.Duration
		errs  []error
		wg    sync.WaitGroup
		slots = make(chan struct{}, most)
	)
	for range kills {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			d, err := st.takeover(ctx, t)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			took = append(took, d)
		})
	}
	wg.Wait()
	slices.Sort(took)
	return took, errors.Join(errs...)
}

// takeover measures one.
func (st *Stage) takeover(ctx context.Context, t Timing) (time.Duration, error) {
	s := &Scenario{
		Jobs: func(t Timing) []hostprog.Job { return once(3 * t.Lease) },
		Script: func(t Timing) []Step {
			return script(startBefore("A", "B"), awaitRun(job, 1, "runner"),
				after(t.Heartbeat+rand.N(2*t.Heartbeat)), kill("runner"), awaitRun(job, 2, "backup"))
		},
		Lease: []Expectation{neverEarly(job)},
	}
	r := st.Play(ctx, s, t)
	if r.Err != nil {
		return 0, r.Err
	}
	if err := r.Judged[0].Err; err != nil {
		return 0, err
	}
	for _, l := range r.Record.of("started", job) {
		if l.Attempt == 2 {
			return l.At.Sub(r.Record.act("kill -9", 1).At), nil
		}
	}
	return 0, errors.New("no second attempt was told")
}
