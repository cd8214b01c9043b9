package storekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

// ask asks what the plugin is, and if it is what was asked for.
func (g *generation) ask(ctx context.Context, l *launcher) error {
	resp, err := g.svc.Info(ctx, &pb.InfoRequest{})
	if err != nil {
		return g.callError(ctx, "info", err)
	}
	if g.info, err = infoFromProto(resp); err != nil {
		return err
	}
	if p := g.info.Protocols; len(p) > 0 && !slices.Contains(p, ProtocolVersion) {
		return fmt.Errorf("it serves versions %v of the plugin protocol, and this program speaks version %d", p, ProtocolVersion)
	}
	if l.minVersion != "" {
		return checkVersion(g.info.Version, l.minVersion)
	}
	return nil
}

// configure gives the plugin its configuration.
func (g *generation) configure(ctx context.Context, l *launcher) error {
	g.log.secrets.Store(newScrubber(g.info.Options, l.config))
	// Checked here too: a plugin in another language may be less strict.
	if _, err := parseConfig(g.info.Options, l.config); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	configured, err := g.svc.Configure(ctx, &pb.ConfigureRequest{Config: l.config})
	if err != nil {
		return g.callError(ctx, "configure", err)
	}
	if configured.GetError() != nil {
		return fmt.Errorf("configure: %w", wire.ToError(configured.GetError(), g.log.scrub))
	}
	return nil
}

// callError explains a failed call of a launch.
func (g *generation) callError(ctx context.Context, what string, err error) error {
	if expired(ctx, err) {
		return g.withWords(fmt.Errorf("%s: no answer in time: %w", what, context.Cause(ctx)))
	}
	if g.waitEnded() {
		return fmt.Errorf("%s: %s", what, g.proc.obituary())
	}
	return fmt.Errorf("%s: %s", what, wire.CutMessage(g.log.scrub(err.Error())))
}

// deathGrace is how long the news of a process's end may lag behind the end of
// its connection. 3 ms are usual; 94 ms were seen on a busy machine.
const deathGrace = 300 * time.Millisecond

// waitEnded reports whether the process has ended, or does so presently.
func (g *generation) waitEnded() bool {
	select {
	case <-g.proc.done:
		return true
	case <-time.After(deathGrace):
		return false
	}
}

// destroy kills the process and gives everything back, within a bound.
func (g *generation) destroy() {
	g.proc.kill()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		g.client.Kill() // closes the connection; bounded, now that the process dies
		g.dir.remove()
	}()
	select {
	case <-gone:
	case <-time.After(2 * time.Second):
		// A process that even SIGKILL does not end (it hangs in the kernel) is left to
		// its fate; the goroutine cleans up when it goes.
		g.log.queue.say(slog.LevelError, "the plugin's process does not end", "pid", g.proc.pid())
	}
}

// exitGrace is how long a plugin may take to exit once its store is closed.
const exitGrace = time.Second

// close ends the process in good order within the time until deadline: the
// plugin closes its store, then exits; what is left at the deadline is killed.
func (g *generation) close(deadline time.Time) error {
	defer g.destroy()
	if g.proc.ended() {
		return nil
	}
	budget := time.Until(deadline)
	ctx, cancel := context.WithTimeout(context.Background(), budget*3/4)
	defer cancel()
	ctx, sent := watchSent(ctx)
	resp, err := g.svc.Stop(ctx, &pb.StopRequest{TimeoutMs: (budget * 2 / 3).Milliseconds()})
	switch {
	case err != nil && g.waitEnded():
		if !sent.Load() {
			return nil // it had ended before
		}
		return errors.New(g.proc.obituary())
	case err != nil:
		return fmt.Errorf("it did not stop (%s) and was killed", g.log.scrub(err.Error()))
	case resp.GetError() != nil:
		err = fmt.Errorf("stop: %w", wire.ToError(resp.GetError(), g.log.scrub))
	}
	g.proc.letGo()
	select {
	case <-g.proc.done:
	case <-time.After(min(exitGrace, time.Until(deadline))):
		err = errors.Join(err, errors.New("it did not exit and was killed"))
	}
	return err
}
