// Command quickstart runs a job every five seconds. Start it as often as you
// like: however many copies run, each slot is run by one of them.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() {
	storekit.Embed(sqlitestore.New) // this program is its own plugin, in a process of its own

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := serve(ctx); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	plugin, err := storekit.Open(ctx, storekit.Plugin{Name: "sqlite", Config: map[string]any{"path": "quickstart.db"}})
	if err != nil {
		return err
	}
	defer plugin.Close()

	s, err := core.New(plugin, core.Options{})
	if err != nil {
		return err
	}
	err = s.Add(core.Job{
		Name:     "hello",
		Schedule: core.Every(5 * time.Second),
		// Well below the interval, so that a crashed run is taken over before the next is due.
		Timing: core.Timing{Lease: 2 * time.Second},
		Handler: func(ctx context.Context, run core.Run) error {
			fmt.Printf("run of %s, attempt %d\n", run.ScheduledAt.Format(time.TimeOnly), run.Attempt)
			select {
			case <-time.After(2 * time.Second): // the work
				return nil
			case <-ctx.Done(): // told to stop, or the run was lost
				return context.Cause(ctx)
			}
		},
	})
	if err != nil {
		return err
	}
	return s.Run(ctx) // until Ctrl-C; a job that still runs then is handed over
}
