package main

import (
	"context"
	"time"

	netresearch "github.com/netresearch/go-cron"
	robfig "github.com/robfig/cron/v3"
)

// startRobfig and startNetresearch run jobs in one process; there is no store, and no other instance.
func startRobfig(_ context.Context, in *instance) (func(), error) {
	c := robfig.New(robfig.WithSeconds())
	for i := range in.Jobs {
		if _, err := c.AddFunc(in.cron(), func() { in.ran(i, time.Time{}) }); err != nil {
			return nil, err
		}
	}
	c.Start()
	return func() { <-c.Stop().Done() }, nil
}

func startNetresearch(_ context.Context, in *instance) (func(), error) {
	c := netresearch.New(netresearch.WithSeconds())
	for i := range in.Jobs {
		if _, err := c.AddFunc(in.cron(), func() { in.ran(i, time.Time{}) }); err != nil {
			return nil, err
		}
	}
	c.Start()
	return func() { <-c.Stop().Done() }, nil
}
