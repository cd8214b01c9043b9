package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/robfig/cron/v3"
)

// riverJob is a run of a job.
type riverJob struct {
	Job  int
	Slot time.Time
}

func (riverJob) Kind() string { return "job" }

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	ran func(job int, slot time.Time)
}

func (w *riverWorker) Work(_ context.Context, j *river.Job[riverJob]) error {
	w.ran(j.Args.Job, j.Args.Slot)
	return nil
}

// startRiver follows River's documentation, Periodic and cron jobs: all jobs on all clients, schedules from robfig/cron; the elected
// leader inserts them, and all clients work them.
func startRiver(ctx context.Context, in *instance) (func(), error) {
	pool, err := pgxpool.New(ctx, postgresURL(in.Addr))
	if err != nil {
		return nil, err
	}
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	var jobs []*river.PeriodicJob
	for i := range in.Jobs {
		schedule, err := parser.Parse(in.cron())
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, river.NewPeriodicJob(schedule, func() (river.JobArgs, *river.InsertOpts) { return riverJob{i, in.slot()}, nil }, &river.PeriodicJobOpts{ID: job(i)}))
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{ran: in.ran})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger:       slog.New(slog.DiscardHandler),
		PeriodicJobs: jobs,
		Queues:       map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: in.Jobs}}, // others have no bound
		Workers:      workers,
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return func() {
		client.Stop(context.WithoutCancel(ctx))
		pool.Close()
	}, nil
}

// migrateRiver makes River's tables.
func migrateRiver(ctx context.Context, addr string) error {
	pool, err := pgxpool.New(ctx, postgresURL(addr))
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}
