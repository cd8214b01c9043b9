package main

import (
	"context"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	redislock "github.com/go-co-op/gocron-redis-lock/v2"
)

// gocronLocker is gocron with its Redis locker.
type gocronLocker struct {
	differ time.Duration // how far each instance's clock is behind the one before it
}

// start follows the README of gocron-redis-lock: one locker for all jobs, which tries once; and the documentation of gocron.Locker: jobs
// have names, and start at the same time on all instances, here by cron. Without a store there is no locker.
func (g gocronLocker) start(_ context.Context, in *instance) (func(), error) {
	behind := time.Duration(in.Index) * g.differ
	options := []gocron.SchedulerOption{gocron.WithClock(behindClock{clockwork.NewRealClock(), behind})}
	var client *redis.Client
	if in.Addr != "" {
		client = redis.NewClient(&redis.Options{Addr: in.Addr})
		locker, err := redislock.NewRedisLocker(client, redislock.WithTries(1))
		if err != nil {
			return nil, err
		}
		options = append(options, gocron.WithDistributedLocker(locker))
	}
	s, err := gocron.NewScheduler(options...)
	if err != nil {
		return nil, err
	}
	for i := range in.Jobs {
		if _, err := s.NewJob(gocron.CronJob(in.cron(), true), gocron.NewTask(in.ran, i, time.Time{}), gocron.WithName(job(i))); err != nil {
			return nil, err
		}
	}
	s.Start()
	return func() {
		s.Shutdown()
		if client != nil {
			client.Close()
		}
	}, nil
}

// behindClock is a clock that is behind; its timers are not.
type behindClock struct {
	clockwork.Clock
	by time.Duration
}

func (c behindClock) Now() time.Time { return c.Clock.Now().Add(-c.by) }
