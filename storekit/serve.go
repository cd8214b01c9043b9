package storekit

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Serve is the whole main function of a plugin:
//
//	func main() { storekit.Serve(newBackend) }
//
// Started by a host it serves the backend that the factory makes, until the host
// stops it or is gone, and then returns. Started by hand it explains itself and
// exits: "describe" prints the plugin's [Info] as JSON, "--version" its version,
// anything else a text that says what this is.
//
// The program must print nothing to stdout before it calls Serve: the first line
// there is the handshake. Afterwards stdout and stderr, slog's default logger
// and the log package all end up in the host's log.
//
// SIGINT, SIGTERM and SIGHUP are ignored: Ctrl-C and a service manager send them
// to the whole group, and the host still needs the plugin to hand its runs over.
// The plugin ends with its host instead, even if that is killed: see
// docs/protocol.md, lifeline.
func Serve(factory Factory) {
	if os.Getenv(cookieKey) != cookieValue {
		os.Exit(byHand(factory, os.Args, os.Stdout, os.Stderr))
	}
	stdout, stderr := os.Stdout, os.Stderr
	logger := pluginLogger(stderr, os.Getenv(envLogLevel))
	slog.SetDefault(logger)

	s := newServer(factory(Env{Logger: logger}), logger)
	// go-plugin puts pipes in the place of stdout and stderr and streams them through
	// gRPC: the last words before an exit get lost there. The real ones are read by
	// the host as well. The first call comes after go-plugin's swap.
	s.atFirstCall = func() { os.Stdout, os.Stderr = stdout, stderr }
	if watchLifeline(s, logger) {
		// Registered and not read, rather than ignored: children of the plugin would
		// inherit that. Registering SIGPIPE turns it into an error of the write, so
		// that a log line after the host's death does not cut Close short.
		signal.Notify(make(chan os.Signal, 1), ignoredSignals...)
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: versions(s),
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, JSONFormat: true}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, serverOptions()...)...)
		},
	})
	s.stopBounded() // no-op after an orderly Stop
}

// streamWorkers is how many calls are served by goroutines that stay, whose stacks
// have grown already; more at once get new ones. Two verbs of a lane each are
// usual.
const streamWorkers = 2 * laneCalls

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
		grpc.NumStreamWorkers(streamWorkers),
	}
}

// stopBounded closes the backend within the grace that a plugin has without its
// host.
func (s *server) stopBounded() {
	ctx, cancel := context.WithTimeout(context.Background(), lifelineGrace)
	defer cancel()
	if err := s.stop(ctx); err != nil {
		s.logger.Error("the store was not closed cleanly", "error", err)
	}
}

// removeSocketDir removes what the host can no longer remove: its directory for
// the plugin's socket.
func removeSocketDir() {
	if dir := os.Getenv(envSocket); socketDirName.MatchString(filepath.Base(dir)) { // one of ours
		clearSocketDir(dir)
	}
}
