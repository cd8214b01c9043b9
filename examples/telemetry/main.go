// Command telemetry runs a job every ten seconds and shows its metrics to Prometheus,
// at http://localhost:9464/metrics. alerts.yml, beside it, has rules to start from.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
	"github.com/anarchon-go/anarchon/telemetry"
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

// observed makes a Telemetry whose metrics the handler shows.
func observed() (*telemetry.Telemetry, http.Handler, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, nil, err
	}
	tel, err := telemetry.New(telemetry.Config{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))})
	return tel, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), err
}

func serve(ctx context.Context) error {
	tel, metrics, err := observed()
	if err != nil {
		return err
	}
	plugin, err := storekit.Open(ctx, storekit.Plugin{
		Name:    "sqlite",
		Config:  map[string]any{"path": "telemetry.db"},
		OnEvent: tel.OnPluginEvent,
	})
	if err != nil {
		return err
	}
	defer plugin.Close()

	s, err := core.New(tel.Store(plugin), core.Options{OnEvent: tel.OnEvent})
	if err != nil {
		return err
	}
	err = s.Add(core.Job{
		Name:     "hello",
		Schedule: core.Every(10 * time.Second),
		Timing:   core.Timing{Lease: 5 * time.Second},
		Handler: tel.Handler(func(ctx context.Context, run core.Run) error {
			fmt.Println("run of", run.ScheduledAt.Format(time.TimeOnly))
			return nil
		}),
	})
	if err != nil {
		return err
	}

	// What the store remembers of the jobs, so that the first scrape after a start is no
	// gap: alerts look at it.
	if err := tel.Seed(ctx, plugin, "hello"); err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	server := &http.Server{Addr: "localhost:9464", Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		err := server.ListenAndServe()
		if !errors.Is(err, http.ErrServerClosed) {
			cancel(err) // nobody would see the metrics: stop, rather than run unseen
		}
		failed <- err
	}()
	err = s.Run(ctx) // until Ctrl-C
	err = errors.Join(err, server.Close())
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
