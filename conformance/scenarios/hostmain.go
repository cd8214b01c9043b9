package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/storekit"
)

// hostConfig is what an instance's process is told, on its standard input: never
// by arguments or environment, since it may hold passwords.
type hostConfig struct {
	hostprog.Config
	Path    string         // of the plugin
	Options map[string]any // of the plugin
}

// HostMain is the program of an instance: it reads its configuration from the
// first line of its standard input, runs until SIGTERM or the input's end, and says
// on its standard output what happens. It returns the exit code.
func HostMain() int {
	if err := hostMain(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func hostMain() error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("an instance reads its configuration: %w", err)
	}
	var c hostConfig
	if err := json.Unmarshal(line, &c); err != nil {
		return fmt.Errorf("an instance's configuration: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	go func() { // whoever started this process is gone
		defer cancel()
		_, _ = io.Copy(io.Discard, in)
	}()
	c.Plugin = storekit.Plugin{Path: c.Path, Config: c.Options}
	c.Log = os.Stderr
	return hostprog.Run(ctx, os.Stdout, c.Config)
}
