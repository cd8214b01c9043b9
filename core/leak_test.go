package core_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
)

// TestNothingIsLeftBehind: after Run has returned no goroutine of it is there any
// more, in real time, whatever ran when it stopped. (In the tests that run in a
// bubble the bubble sees to it.)
func TestNothingIsLeftBehind(t *testing.T) {
	st := coretest.NewStore(store.KindLease)
	started := make(chan struct{}, 100)
	var done []chan error
	ctx, stop := context.WithCancel(t.Context())
	for range 3 {
		s, err := core.New(st, core.Options{Logger: discard, OnEvent: func(core.Event) {}})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			err := s.Add(core.Job{Name: name, Schedule: core.Every(time.Second), Timing: core.Timing{Jitter: 100 * time.Millisecond}, Handler: func(ctx context.Context, _ core.Run) error {
				started <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		d := make(chan error, 1)
		done = append(done, d)
		go func() { d <- s.Run(ctx) }()
	}
	for range 3 {
		<-started
	}
	stop()
	var all error
	for _, d := range done {
		all = errors.Join(all, <-d)
	}
	if all != nil {
		t.Error(all)
	}
	// A goroutine that has done its last act may still be about to end.
	deadline := time.Now().Add(10 * time.Second)
	for left := ours(); len(left) > 0; left = ours() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
		time.Sleep(time.Millisecond)
	}
}

// ours returns the stacks of the goroutines that package core started and that
// this test did not.
func ours() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for _, g := range strings.Split(string(buf), "\n\n") {
		if strings.Contains(g, "created by github.com/anarchon-go/anarchon/core.") || strings.Contains(g, "anarchon/core.(*driver)") {
			left = append(left, g)
		}
	}
	return left
}
