// Command webserver serves HTTP and runs jobs in one process, and stops both in the
// right order: first no new requests and no new runs, then what is under way gets its
// time, then the store's plugin is closed. It works the same under systemd and
// Kubernetes; deploy.yaml has the times that must fit together.
//
// With DATABASE_URL it uses PostgreSQL, as replicas on several machines must; without,
// a SQLite file in the working directory.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/plugins/postgres/postgresstore"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

const (
	grace       = 10 * time.Second // runs and requests may end by themselves
	stopTimeout = 10 * time.Second // then they are cancelled, and have this long to return
)

func main() {
	storekit.Embed(sqlitestore.New) // this program is its own plugin, in a process of its own
	storekit.Embed(postgresstore.New)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	listener, err := net.Listen("tcp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, listener); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, listener net.Listener) error {
	where := storekit.Plugin{Name: "sqlite", Config: map[string]any{"path": "webserver.db"}}
	if url := os.Getenv("DATABASE_URL"); url != "" {
		where = storekit.Plugin{Name: "postgres", Config: map[string]any{"url": url}}
	}
	plugin, err := storekit.Open(ctx, where)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer plugin.Close() // after the scheduler has handed its runs over

	s, err := core.New(plugin, core.Options{
		Grace:  grace,
		Timing: core.Timing{StopTimeout: stopTimeout},
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	err = s.Add(core.Job{
		Name:     "cleanup",
		Schedule: core.Every(time.Minute),
		Timing:   core.Timing{Lease: 20 * time.Second},
		Handler: func(ctx context.Context, run core.Run) error {
			fmt.Println("cleaning up for", run.ScheduledAt.Format(time.TimeOnly))
			return nil
		},
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		// Ready or not is for the load balancer. A store that is away is no reason to
		// restart the process: its runs would only be handed over.
		if err := s.Healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}

	// Either one's end is the other's, too.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := make(chan error, 1)
	go func() {
		defer cancel()
		jobs <- s.Run(ctx) // returns when its runs have ended or are handed over
	}()
	web := make(chan error, 1)
	go func() {
		defer cancel()
		web <- server.Serve(listener)
	}()

	<-ctx.Done()
	unhurried, done := context.WithTimeout(context.Background(), grace+stopTimeout)
	defer done()
	err = server.Shutdown(unhurried)
	if served := <-web; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, <-jobs)
}
