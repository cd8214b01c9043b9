package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

// asynqRun is the payload of a task.
type asynqRun struct {
	Job  int
	Slot time.Time
}

// startAsynqOne follows asynq's wiki, Periodic Tasks: only a single scheduler may run for a schedule, or tasks are enqueued twice. All
// instances run a server, which takes tasks from the queue.
func startAsynqOne(_ context.Context, in *instance) (func(), error) {
	return startAsynq(in, in.Index == 0, func(asynqRun) []asynq.Option { return nil })
}

// startAsynqAll runs a scheduler on each instance, so that the schedule outlives one of them. Its maintainer then advises a task id, and
// to retain tasks after they were processed, so that the other schedulers are refused (hibiken/asynq#395). The same id each time would
// refuse the next slot too until the task is removed, so it is of job and slot, which only the hook before enqueuing can set (#912).
func startAsynqAll(_ context.Context, in *instance) (func(), error) {
	return startAsynq(in, true, func(r asynqRun) []asynq.Option {
		return []asynq.Option{asynq.TaskID(fmt.Sprintf("%d@%d", r.Job, r.Slot.Unix())), asynq.Retention(10 * time.Second)}
	})
}

func startAsynq(in *instance, scheduling bool, options func(asynqRun) []asynq.Option) (func(), error) {
	redis := asynq.RedisClientOpt{Addr: in.Addr}
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency: in.Jobs, // others have no bound
		LogLevel:    asynq.FatalLevel,
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		var r asynqRun
		if err := json.Unmarshal(t.Payload(), &r); err != nil {
			return err
		}
		in.ran(r.Job, r.Slot)
		return nil
	}))
	if err != nil {
		return nil, err
	}
	if !scheduling {
		return server.Shutdown, nil
	}
	scheduler := asynq.NewScheduler(redis, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel, PreEnqueueFunc: func(t *asynq.Task, _ []asynq.Option) {
		var r asynqRun
		json.Unmarshal(t.Payload(), &r) // ours, see below
		r.Slot = in.slot()
		*t = *asynq.NewTask(t.Type(), payload(r), options(r)...)
	}})
	// Its cron has no seconds, and its intervals count from the start: so it starts at a slot.
	spec := "0 3 1 1 *"
	if in.Period > 0 {
		spec = fmt.Sprint("@every ", in.Period)
	}
	for i := range in.Jobs {
		if _, err := scheduler.Register(spec, asynq.NewTask("job", payload(asynqRun{Job: i}))); err != nil {
			return nil, err
		}
	}
	if in.Period > 0 {
		time.Sleep(time.Until(in.slot().Add(in.Period)))
	}
	if err := scheduler.Start(); err != nil {
		return nil, err
	}
	return func() {
		scheduler.Shutdown()
		server.Shutdown()
	}, nil
}

func payload(r asynqRun) []byte {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // two fields that have a form
	}
	return text
}
