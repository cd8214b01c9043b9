package session

import (
	"context"
	"sync"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// RunAll runs the checks that wanted says yes to: first, one after the other, those
// that must be alone, then the others, some at a time. It tells each result to told,
// one at a time, and ends early when ctx is done.
func (s *Session) RunAll(ctx context.Context, atOnce int, wanted func(kit.Check) bool, told func(kit.Result)) {
	var mu sync.Mutex
	one := func(c kit.Check) {
		res := s.Run(ctx, c)
		mu.Lock()
		defer mu.Unlock()
		told(res)
	}
	var others []kit.Check
	for _, c := range s.checks {
		switch {
		case !wanted(c):
		case !c.Alone:
			others = append(others, c)
		case ctx.Err() == nil:
			one(c)
		}
	}
	places := make(chan struct{}, max(1, atOnce))
	var wg sync.WaitGroup
	for _, c := range others {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-places }()
			one(c)
		})
	}
	wg.Wait()
}
