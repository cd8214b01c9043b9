package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/storekit"
)

// hostConfig says what an instance runs. It is the first line on its standard input;
// each later line asks for a report, and the end of the input ends the instance.
type hostConfig struct {
	Name   string
	Plugin pluginConfig

	Jobs   int             // so many jobs; burstJob names them
	Slots  hostprog.Series // when they are due
	Takes  time.Duration   // a run of them
	Timing core.Timing

	Held       int // so many jobs "held/n", due at HeldSlot, whose runs last to the end
	HeldSlots  hostprog.Series
	HeldTiming core.Timing
}

// pluginConfig is what of a storekit.Plugin differs between stores.
type pluginConfig struct {
	Name   string
	Config map[string]any
	Env    []string
}

// hostReport is the answer to each line.
type hostReport struct {
	PluginPID int
	Counts    counts
	Starts    map[int64][]int32 // where the slots are counted: of each, milliseconds from it to the handlers' starts
}

// hostMain is an instance.
func hostMain(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return fmt.Errorf("load: an instance got no configuration: %w", errors.Join(lines.Err(), io.EOF))
	}
	var cfg hostConfig
	if err := json.Unmarshal(lines.Bytes(), &cfg); err != nil {
		return fmt.Errorf("load: configuration of an instance: %w", err)
	}
	quiet := slog.New(slog.DiscardHandler)
	client, err := storekit.Open(context.Background(), storekit.Plugin{Name: cfg.Plugin.Name, Config: cfg.Plugin.Config, Env: cfg.Plugin.Env, Logger: quiet})
	if err != nil {
		return err
	}
	defer client.Close()
	st := newCountingStore(client)
	s, err := core.New(st, core.Options{Instance: cfg.Name, Logger: quiet, OnEvent: st.told})
	if err != nil {
		return err
	}
	if err := cfg.add(s, st); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	enc := json.NewEncoder(out)
	for lines.Scan() {
		if err := enc.Encode(st.report()); err != nil {
			return err
		}
	}
	stop()
	return <-ended
}

func burstJob(i int) string { return fmt.Sprintf("burst/%06d", i) }

func (cfg *hostConfig) add(s *core.Scheduler, st *countingStore) error {
	for i := range cfg.Jobs {
		err := s.Add(core.Job{Name: burstJob(i), Schedule: cfg.Slots, Timing: cfg.Timing, Handler: func(ctx context.Context, run core.Run) error {
			st.started(run, cfg.Slots.Count > 0)
			if cfg.Takes > 0 {
				time.Sleep(cfg.Takes)
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	for i := range cfg.Held {
		err := s.Add(core.Job{Name: fmt.Sprintf("held/%06d", i), Schedule: cfg.HeldSlots, Timing: cfg.HeldTiming, Handler: func(ctx context.Context, run core.Run) error {
			st.holding(run)
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, core.ErrStopped) {
				st.cancelled(cause)
			}
			return nil
		}})
		if err != nil {
			return err
		}
	}
	return nil
}
