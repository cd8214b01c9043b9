package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
	"github.com/anarchon-go/anarchon/plugins/redis/redisstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() {
	storekit.Embed(redisstore.New)
	storekit.Embed(postgresstore.New)
	redis.SetLogger(silent{})
	actIfOrdered()

	jobs := flag.Int("jobs", 1000, "jobs that are due at once")
	slots := flag.Int("slots", 2, "slots that are measured")
	waiting := flag.Int("waiting", 10_000, "jobs that wait")
	only := flag.String("only", "", "the subject of this name alone")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, os.Stdout, work{*jobs, period, *slots}, *waiting, *only); err != nil {
		log.Fatal(err)
	}
}

// period is the time between slots: what all can do, in whole seconds that divide a minute.
const period = 4 * time.Second

// compare runs all subjects, one after the other, and prints the tables. One that fails costs its own row.
func compare(ctx context.Context, out io.Writer, w work, waiting int, only string) error {
	where, began := machine(), loadAverage()
	var rows, waits [][]string
	var failed []error
	for i, s := range subjects {
		if only != "" && s.name != only || ctx.Err() != nil {
			continue
		}
		log.Printf("%s on %s", s.name, s.store)
		r, err := measure(ctx, i, w)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s on %s: %w", s.name, s.store, err))
			continue
		}
		rows = append(rows, r.row())
	}
	for i, s := range waiters {
		if only != "" && s.name != only || ctx.Err() != nil {
			continue
		}
		log.Printf("%s, waiting", s.name)
		m, err := await(ctx, i, waiting)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s, waiting: %w", s.name, err))
			continue
		}
		waits = append(waits, m.row(s.name))
	}
	fmt.Fprintf(out, "%s; load average %s before and %s after\n\n", where, began, loadAverage())
	fmt.Fprintf(out, "%d jobs due at once on %d instances, every %v, %d slots:\n\n", w.jobs, instances, w.period, w.slots)
	table(out, runsHead, rows)
	fmt.Fprintf(out, "%d jobs that wait in one process:\n\n", waiting)
	table(out, waitsHead, waits)
	return errors.Join(failed...)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
