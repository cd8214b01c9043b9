package storekit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

// launcher starts processes of one plugin, each configured alike.
type launcher struct {
	name, path string
	env        []string
	config     json.RawMessage
	logger     *slog.Logger
}

// generation is one process of a plugin, configured and ready.
type generation struct {
	proc   *process
	log    *hostLog
	client *plugin.Client
	svc    pb.StoreServiceClient
	info   Info
	dir    string // of its socket
	born   time.Time

	probing atomic.Bool // its health is being asked
}

// launch starts a process, shakes hands and configures it, until ctx is done. It
// leaves nothing behind when it fails.
func (l *launcher) launch(ctx context.Context) (*generation, error) {
	if !supported {
		return nil, errors.New("plugins can be run on Unix systems only")
	}
	dir, err := makeSocketDir()
	if err != nil {
		return nil, err
	}
	log := &hostLog{logger: l.logger.With("plugin", l.name)}
	proc := newProcess(l.path, log)
	g := &generation{proc: proc, log: log, dir: dir, client: newPluginClient(ctx, proc, l.env, dir)}

	conn, err := g.connect(ctx)
	if err == nil {
		g.svc = pb.NewStoreServiceClient(conn)
		err = g.configure(ctx, l)
	}
	if err != nil {
		g.destroy()
		return nil, err
	}
	g.born = time.Now()
	return g, nil
}

func newPluginClient(ctx context.Context, proc *process, env []string, dir string) *plugin.Client {
	// ctx bounds the launch; go-plugin's own bound comes after it.
	timeout := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(0, time.Until(deadline)) + 10*time.Second
	}
	return plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: versions(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true,
		StartTimeout:     timeout,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		// Off, so that go-plugin never parses what the plugin prints: an odd JSON line
		// makes it panic.
		Logger:     hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		SyncStdout: &lineWriter{emit: proc.log.output("stdout")},
		SyncStderr: &lineWriter{emit: proc.log.output("stderr")},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			proc.cmd.Env = slices.Concat(env, cmd.Env, []string{socketDir + "=" + dir})
			return proc, nil
		},
		GRPCDialOptions: dialOptions(),
	})
}

func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithStatsHandler(sentWatcher{}),
		grpc.WithIdleTimeout(0), // never redial: the socket may be gone
		grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}
}

// connect starts the process and waits for the handshake.
func (g *generation) connect(ctx context.Context) (*grpc.ClientConn, error) {
	type result struct {
		conn *grpc.ClientConn
		err  error
	}
	connected := make(chan result, 1)
	go func() {
		protocol, err := g.client.Client()
		if err != nil {
			connected <- result{err: err}
			return
		}
		raw, err := protocol.Dispense(dispensed)
		conn, _ := raw.(*grpc.ClientConn)
		connected <- result{conn, err}
	}()
	select {
	case r := <-connected:
		if r.err != nil {
			return nil, g.handshakeError(ctx, r.err)
		}
		return r.conn, nil
	case <-ctx.Done():
		return nil, g.handshakeError(ctx, context.Cause(ctx))
	}
}

// handshakeError says what was seen of a plugin that did not come up.
func (g *generation) handshakeError(ctx context.Context, err error) error {
	var failed *os.PathError
	if errors.As(err, &failed) {
		return execError(failed)
	}
	line := g.proc.firstLine()
	if served, ok := servedVersion(line); ok && served != ProtocolVersion {
		return fmt.Errorf("it serves version %d of the plugin protocol, and this program speaks version %d: use a plugin and a program of the same anarchon major version", served, ProtocolVersion)
	}
	if err := ctx.Err(); err != nil {
		text := "printed nothing to stdout"
		if line != "" {
			text = fmt.Sprintf("printed %q to stdout", clip(line))
		}
		return g.withWords(fmt.Errorf("no handshake in time (%w); it runs and %s: is it an anarchon plugin, built for this system?", context.Cause(ctx), text))
	}
	if strings.Contains(err.Error(), "it listens on") { // from PluginToHost
		return err
	}
	if line != "" {
		return g.withWords(fmt.Errorf("it printed %q to stdout where the handshake must be: it is not an anarchon plugin, or it prints before it calls storekit.Serve", clip(line)))
	}
	select {
	case <-g.proc.done:
		return g.withWords(fmt.Errorf("it ended before the handshake (%s): is it an anarchon plugin?", g.proc.exitText))
	case <-time.After(outputGrace):
		return g.withWords(err)
	}
}

func (g *generation) withWords(err error) error {
	if words := g.log.lastWords(); words != "" {
		return fmt.Errorf("%w; it said:\n\t%s", err, words)
	}
	return err
}

func execError(err *os.PathError) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: the file is no program for this system, or a script without a \"#!\" line", err)
	case errors.Is(err, os.ErrNotExist): // the file was there a moment ago
		return fmt.Errorf("%w: the interpreter or the dynamic loader that the file names is missing", err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: the file, or one of its directories, can't be executed by this user, or the file system is mounted noexec", err)
	}
	return err
}

// servedVersion reads the plugin's protocol version from a handshake line.
func servedVersion(line string) (int, bool) {
	parts := strings.Split(line, "|")
	if len(parts) < 4 {
		return 0, false
	}
	v, err := strconv.Atoi(parts[1])
	return v, err == nil
}

// configure asks what the plugin is and gives it its configuration.
func (g *generation) configure(ctx context.Context, l *launcher) error {
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
	if ctx.Err() != nil {
		return g.withWords(fmt.Errorf("%s: no answer in time: %w", what, context.Cause(ctx)))
	}
	if g.waitEnded() {
		return fmt.Errorf("%s: %s", what, g.proc.obituary())
	}
	return fmt.Errorf("%s: %s", what, g.log.scrub(err.Error()))
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
		os.RemoveAll(g.dir)
	}()
	select {
	case <-gone:
	case <-time.After(2 * time.Second):
		// A process that even SIGKILL does not end (it hangs in the kernel) is left to
		// its fate; the goroutine cleans up when it goes.
		g.log.logger.Error("the plugin's process does not end", "pid", g.proc.pid())
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
	resp, err := g.svc.Stop(ctx, &pb.StopRequest{TimeoutMs: (budget * 2 / 3).Milliseconds()})
	switch {
	case err != nil && g.waitEnded():
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
