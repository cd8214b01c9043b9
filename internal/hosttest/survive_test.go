package hosttest

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
)

// A running job survives the deaths of its plugin: renewals find the next process
// before the lease is over.
func TestRunningJobSurvivesItsPlugin(t *testing.T) {
	const deaths = 4
	c := open(t, sqlite(newFile(t)))
	running, release := make(chan core.Run, 1), make(chan struct{})
	var mu sync.Mutex
	var events []core.Event
	ended := make(chan core.Event, 1)
	s, err := core.New(c, core.Options{
		Timing: core.Timing{Lease: 10 * time.Second, Heartbeat: 100 * time.Millisecond},
		Logger: testLogger(t),
		OnEvent: func(e core.Event) {
			mu.Lock()
			events = append(events, e)
			mu.Unlock()
			switch e.(type) {
			case core.Succeeded, core.Failed, core.Interrupted, core.Lost:
				ended <- e
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Add(core.Job{
		Name:     "long",
		Schedule: core.Every(time.Hour),
		Timing:   core.Timing{CatchUp: 2 * time.Hour}, // so that it begins at once
		Handler: func(ctx context.Context, run core.Run) error {
			running <- run
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Run(ctx) }()

	var run core.Run
	select {
	case run = <-running:
	case <-time.After(patience):
		t.Fatal("the job does not begin")
	}
	left := func() time.Duration { // of its lease
		a, err := c.Unfinished(t.Context(), store.UnfinishedRequest{Jobs: []string{"long"}})
		if err != nil || len(a.Runs) != 1 || a.Runs[0].Token != run.Token {
			t.Fatalf("unfinished: %+v, %v", a, err)
		}
		return a.Runs[0].Left
	}
	for death := range deaths {
		pid := c.PID()
		before := left()
		syscall.Kill(pid, syscall.SIGKILL)
		awaitGone(t, pid)
		// Renewed, by another process: the lease is longer than before although time
		// went by.
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if now := left(); c.PID() != pid && now > before-50*time.Millisecond {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the lease is not renewed after death %d", death)
			}
		}
	}
	close(release)
	select {
	case e := <-ended:
		if done, ok := e.(core.Succeeded); !ok || done.Run.Token != run.Token {
			t.Errorf("the run ended as %T %+v", e, e)
		}
	case <-time.After(patience):
		t.Error("the run does not end")
	}
	stop()
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	h, err := c.History(t.Context(), store.HistoryRequest{Job: "long", Limit: 10})
	if err != nil || len(h.Attempts) != 1 || h.Attempts[0].Status != store.StatusSuccess || h.Attempts[0].Token != run.Token {
		t.Errorf("history: %+v, %v; want one attempt, success", h.Attempts, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, e := range events {
		switch e.(type) {
		case core.Unconfirmed, core.Lost, core.Interrupted, core.Failed:
			t.Errorf("event %s", fmt.Sprintf("%T %+v", e, e))
		}
	}
}
