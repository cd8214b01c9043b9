// Command singlefile is a service in one file: it carries its plugin, and starts itself
// a second time as the plugin's process. There is nothing else to deploy or to find.
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
	"github.com/anarchon-go/anarchon/core/cron"
	"github.com/anarchon-go/anarchon/plugins/redis/redisstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() {
	// First of all: in the plugin's process it does not return.
	storekit.Embed(redisstore.New)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := serve(ctx); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context) error {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = "redis://localhost:6379"
	}
	plugin, err := storekit.Open(ctx, storekit.Plugin{Name: "redis", Config: map[string]any{"url": url}})
	if err != nil {
		return err
	}
	defer plugin.Close()

	s, err := core.New(plugin, core.Options{})
	if err != nil {
		return err
	}
	athens, err := time.LoadLocation("Europe/Athens")
	if err != nil {
		return err
	}
	err = s.Add(core.Job{
		Name:     "invoices/nightly",
		Schedule: cron.MustParse("30 2 * * *", athens),
		Timeout:  15 * time.Minute,
		Handler: func(ctx context.Context, run core.Run) error {
			fmt.Println("invoices of", run.ScheduledAt.In(athens).Format(time.DateOnly))
			return nil
		},
	})
	if err != nil {
		return err
	}
	return s.Run(ctx) // until Ctrl-C; a job that still runs then is handed over
}
