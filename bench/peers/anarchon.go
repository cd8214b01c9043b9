package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/cron"
	"github.com/anarchon-go/anarchon/storekit"
)

// anarchon is used as a service uses it: core, and the plugin, which this program carries, in a process of its own. All is default, but for
// the fields.
type anarchon struct {
	jitter time.Duration
	differ time.Duration // how far each instance's clock is behind the one before it
}

// start has no jitter where all instances are to claim at the slot itself, as the peers do. The default spreads the claims, so that each
// instance gets its share.
func (a anarchon) start(ctx context.Context, in *instance) (func(), error) {
	url := postgresURL(in.Addr)
	if in.Store == "redis" {
		url = "redis://" + in.Addr
	}
	behind := time.Duration(in.Index) * a.differ
	quiet := slog.New(slog.DiscardHandler)
	plugin, err := storekit.Open(ctx, storekit.Plugin{Name: in.Store, Config: map[string]any{"url": url}, Logger: quiet})
	if err != nil {
		return nil, err
	}
	*in.pids = append(*in.pids, plugin.PID())
	s, err := core.New(plugin, core.Options{
		Logger: quiet, Timing: core.Timing{Jitter: a.jitter}, Now: func() time.Time { return time.Now().Add(-behind) },
		OnEvent: func(e core.Event) {
			if e, ok := e.(core.Skipped); ok { // shown if a slot did not run
				fmt.Fprintf(os.Stderr, "instance %d, %s, slot %s: skipped, %s by %v %s\n", in.Index, e.Job, time.UnixMilli(e.Slot).UTC().Format(time.TimeOnly), e.Reason, e.By, e.Holder)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	for i := range in.Jobs {
		schedule, err := cron.Parse(in.cron(), time.UTC)
		if err != nil {
			return nil, err
		}
		err = s.Add(core.Job{Name: job(i), Schedule: schedule, Handler: func(_ context.Context, run core.Run) error {
			in.ran(i, run.ScheduledAt)
			return nil
		}})
		if err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
		plugin.Close()
	}, nil
}
