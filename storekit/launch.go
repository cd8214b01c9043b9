package storekit

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// launcher starts processes of one plugin, each configured alike.
type launcher struct {
	name, path string
	shown      string // for path, in messages
	embedded   bool   // path is this program's own file
	env        []string
	config     json.RawMessage
	sum        string // SHA-256 of the file; "" for any
	minVersion string // "" for any
	mutualTLS  bool
	log        *logQueue
}

// generation is one process of a plugin, configured and ready.
type generation struct {
	proc   *process
	log    *hostLog
	client *plugin.Client
	svc    pb.StoreServiceClient
	info   Info
	dir    *socketDir
	born   time.Time // when it was ready

	embedded bool // it is this program's own file

	probing atomic.Bool // its health is being asked
}

// launch starts a process, shakes hands and configures it, until ctx is done. It
// leaves nothing behind when it fails.
func (l *launcher) launch(ctx context.Context) (*generation, error) {
	g, err := l.meet(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.configure(ctx, l); err != nil {
		g.destroy()
		return nil, err
	}
	g.born = time.Now()
	return g, nil
}

// meet starts a process, shakes hands and asks what it is. It leaves nothing
// behind when it fails.
func (l *launcher) meet(ctx context.Context) (*generation, error) {
	if !supported {
		return nil, errors.New("plugins can be run on Unix systems only")
	}
	if l.sum != "" {
		if err := checkSum(l.path, l.sum); err != nil {
			return nil, err
		}
	}
	dir, err := makeSocketDir()
	if err != nil {
		return nil, err
	}
	log := &hostLog{queue: l.log}
	proc := newProcess(l.path, BinaryPrefix+l.name, log)
	g := &generation{embedded: l.embedded, proc: proc, log: log, dir: dir, client: l.newPluginClient(ctx, proc, dir.path)}
	conn, err := g.connect(ctx)
	if err == nil && l.mutualTLS && !offersTLS(proc.firstLine()) {
		err = errors.New("it offers no TLS, which MutualTLS asks for")
	}
	if err == nil {
		g.svc = pb.NewStoreServiceClient(conn)
		err = g.ask(ctx, l)
	}
	if err != nil {
		g.destroy()
		return nil, err
	}
	return g, nil
}

func (l *launcher) newPluginClient(ctx context.Context, proc *process, dir string) *plugin.Client {
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
		AutoMTLS:         l.mutualTLS,
		StartTimeout:     timeout,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		// Off, so that go-plugin never parses what the plugin prints: an odd JSON line
		// makes it panic.
		Logger:     hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		SyncStdout: &lineWriter{emit: proc.log.output("stdout")},
		SyncStderr: &lineWriter{emit: proc.log.output("stderr")},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			proc.cmd.Env = slices.Concat(l.env, cmd.Env, []string{envSocket + "=" + dir})
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
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
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
