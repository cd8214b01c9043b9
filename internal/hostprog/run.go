package hostprog

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/storekit"
)

// Config says what an instance is.
type Config struct {
	Name      string          // of the instance
	Plugin    storekit.Plugin `json:"-"`
	Jobs      []Job
	Lease     time.Duration // 0: core's default, as of the next three
	Heartbeat time.Duration
	Jitter    time.Duration
	Stop      time.Duration // stop timeout
	Grace     time.Duration
	History   int           // runs that the store keeps of each job; 0: core's default
	Ahead     time.Duration // how far this instance's clock is ahead, or behind if negative
	Log       io.Writer     `json:"-"` // where the logs of host and plugin go
}

// Run runs an instance until ctx is done and it has stopped gracefully. It
// writes [Line]s to out.
func Run(ctx context.Context, out io.Writer, c Config) error {
	w := &writer{out: out, instance: c.Name}
	log := slog.New(slog.NewTextHandler(c.Log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c.Plugin.Logger = log
	c.Plugin.OnEvent = w.plugin
	plugin, err := storekit.Open(ctx, c.Plugin)
	if err != nil {
		return err
	}
	defer plugin.Close()
	s, err := core.New(traced{plugin, w}, core.Options{
		// The name must be another for each process start, so that two starts of
		// "A" are told apart.
		Instance: fmt.Sprintf("%s-%d", c.Name, time.Now().UnixMilli()),
		Timing:   core.Timing{Lease: c.Lease, Heartbeat: c.Heartbeat, Jitter: c.Jitter, StopTimeout: c.Stop, HistorySize: c.History},
		Grace:    c.Grace,
		Logger:   log,
		OnEvent:  w.event,
		Now:      func() time.Time { return time.Now().Add(c.Ahead) },
	})
	if err != nil {
		return err
	}
	for _, j := range c.Jobs {
		if err := s.Add(j.core(w)); err != nil {
			return err
		}
	}
	w.write(Line{What: "ready"})
	defer w.write(Line{What: "stopped"})
	return s.Run(ctx)
}
