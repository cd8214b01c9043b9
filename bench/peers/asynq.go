package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
)

// startAsynqOne follows asynq's wiki, Periodic Tasks: only a single scheduler may run for a schedule, or tasks are enqueued twice. All
// instances run a server, which takes tasks from the queue.
func startAsynqOne(_ context.Context, in *instance) (func(), error) {
	return startAsynq(in, in.Index == 0)
}

// startAsynqAll runs a scheduler on each instance, so that schedules outlive one of them, as asynq's maintainer advises for that
// (hibiken/asynq#395): a task id for each job, kept for a while after it was processed, so that the others are refused.
func startAsynqAll(_ context.Context, in *instance) (func(), error) {
	keep := asynq.Retention(time.Second) // it must be gone at the next slot
	return startAsynq(in, true, func(i int) []asynq.Option { return []asynq.Option{asynq.TaskID(job(i)), keep} })
}

func startAsynq(in *instance, scheduling bool, options ...func(job int) []asynq.Option) (func(), error) {
	redis := asynq.RedisClientOpt{Addr: in.Addr}
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency:     in.Jobs,     // others have no bound
		JanitorInterval: time.Second, // who retains tasks for seconds must look as often
		LogLevel:        asynq.FatalLevel,
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		i, err := strconv.Atoi(string(t.Payload()))
		if err != nil {
			return err
		}
		in.ran(i)
		return nil
	}))
	if err != nil {
		return nil, err
	}
	if !scheduling {
		return server.Shutdown, nil
	}
	scheduler := asynq.NewScheduler(redis, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel})
	// Its cron has no seconds, and its intervals count from the start: so it starts at a slot.
	spec := "0 3 1 1 *"
	if in.Period > 0 {
		spec = fmt.Sprint("@every ", in.Period)
	}
	for i := range in.Jobs {
		var with []asynq.Option
		for _, o := range options {
			with = append(with, o(i)...)
		}
		if _, err := scheduler.Register(spec, asynq.NewTask("job", []byte(strconv.Itoa(i))), with...); err != nil {
			return nil, err
		}
	}
	if in.Period > 0 {
		time.Sleep(time.Until(in.due()))
	}
	if err := scheduler.Start(); err != nil {
		return nil, err
	}
	return func() {
		scheduler.Shutdown()
		server.Shutdown()
	}, nil
}
