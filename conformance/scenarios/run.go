package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Perform plays the scenarios on all stages, at most so many at once over all of
// them: plays mostly wait. On each stage, those that kill the store come last and
// one after the other. done is called for each result, one at a time.
func Perform(ctx context.Context, stages []*Stage, scenarios []*Scenario, t Timing, most int, done func(*Result)) {
	var mu sync.Mutex
	slots := make(chan struct{}, most)
	play := func(st *Stage, s *Scenario) {
		slots <- struct{}{}
		r := st.Play(ctx, s, t)
		<-slots
		mu.Lock()
		defer mu.Unlock()
		done(r)
	}
	var all sync.WaitGroup
	for _, st := range stages {
		all.Go(func() {
			var side sync.WaitGroup
			for _, s := range scenarios {
				if s.Breaks != BreaksStore {
					side.Go(func() { play(st, s) })
				}
			}
			side.Wait()
			for _, s := range scenarios {
				if s.Breaks == BreaksStore {
					play(st, s)
				}
			}
		})
	}
	all.Wait()
}

// OpenAll opens stages side by side, since servers take their time to start. Those
// that were opened are closed if one can't be.
func OpenAll(ctx context.Context, all []Options) ([]*Stage, error) {
	stages := make([]*Stage, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, o := range all {
		wg.Go(func() { stages[i], errs[i] = Open(ctx, o) })
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			continue
		}
		var opened []*Stage
		for _, st := range stages {
			if st != nil {
				opened = append(opened, st)
			}
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", all[i].Path, err), CloseAll(opened))
	}
	return stages, nil
}

// CloseAll closes stages.
func CloseAll(stages []*Stage) error {
	var errs []error
	for _, st := range stages {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}
