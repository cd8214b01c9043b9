package main

import (
	"context"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core"
)

// subject is one scheduler, set up in one way.
type subject struct {
	name  string        // in the tables
	store string        // "redis", "postgres", or "" for none
	work  time.Duration // what a handler takes
	// start starts an instance and returns when it plans its jobs. The stop that it returns ends it in good order.
	start func(ctx context.Context, in *instance) (stop func(), err error)
}

const (
	shortWork = 10 * time.Millisecond
	longWork  = time.Second

	// clocksDiffer is how far an instance's clock is behind that of the one before it, where clocks differ.
	clocksDiffer = 50 * time.Millisecond
)

// subjects do the work on three instances.
var subjects = []subject{
	{"anarchon, no jitter", "redis", shortWork, anarchon{jitter: core.Disabled}.start},
	{"anarchon", "redis", shortWork, anarchon{}.start},
	{"anarchon, clocks differ", "redis", shortWork, anarchon{differ: clocksDiffer}.start},
	{"gocron", "redis", shortWork, gocronLocker{}.start},
	{"gocron, jobs of 1 s", "redis", longWork, gocronLocker{}.start},
	{"gocron, clocks differ", "redis", shortWork, gocronLocker{differ: clocksDiffer}.start},
	{"asynq, one scheduler", "redis", shortWork, startAsynqOne},
	{"asynq, three schedulers", "redis", shortWork, startAsynqAll},
	{"anarchon, no jitter", "postgres", shortWork, anarchon{jitter: core.Disabled}.start},
	{"anarchon", "postgres", shortWork, anarchon{}.start},
	{"River", "postgres", shortWork, startRiver},
}

// waiters are asked what a waiting job takes.
var waiters = []subject{
	{"anarchon", "redis", shortWork, anarchon{}.start},
	{"robfig/cron", "", shortWork, startRobfig},
	{"netresearch/go-cron", "", shortWork, startNetresearch},
	{"gocron", "", shortWork, gocronLocker{}.start},
	{"asynq", "redis", shortWork, startAsynqOne},
	{"River", "postgres", shortWork, startRiver},
}

// instance is what a subject is told, in a process of its own.
type instance struct {
	Index  int           // from 0
	Store  string        // redis or postgres
	Addr   string        // of the store
	Jobs   int           // how many
	Period time.Duration // between slots, which are aligned to the epoch; 0: the jobs are due once a year

	ran  func(job int, slot time.Time) // the handler of a job; slot is zero where the scheduler does not say it
	pids *[]int                        // processes of its own that the subject started
}

// cron is the schedule of all jobs, seconds first.
func (in *instance) cron() string {
	if in.Period == 0 {
		return "0 0 3 1 1 *"
	}
	return fmt.Sprintf("*/%d * * * * *", int(in.Period.Seconds()))
}

// job names a job.
func job(i int) string { return fmt.Sprintf("job-%05d", i) }

// slot is the newest one. What is enqueued now is for it.
func (in *instance) slot() time.Time { return time.Now().Truncate(max(in.Period, 1)) }
