package containers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// startTimeout bounds how long a server may need until it serves.
const startTimeout = 90 * time.Second

// awaitReady waits until the server serves: a connection to its port stays open,
// and its log since the given time says Ready, if the spec names it.
func (c *Container) awaitReady(ctx context.Context, since time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := c.serves(ctx, since)
		if err == nil {
			return nil
		}
		if state, stateErr := c.c.State(ctx); stateErr == nil && !state.Running {
			return fmt.Errorf("container of %s ended: exit code %d%s", c.spec.Image, state.ExitCode, lastWords(c.c))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("container of %s does not serve: %w%s", c.spec.Image, err, lastWords(c.c))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *Container) serves(ctx context.Context, since time.Time) error {
	if err := staysOpen(ctx, c.addr); err != nil || c.spec.Ready == "" {
		return err
	}
	e, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	options := client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true}
	if !since.IsZero() {
		options.Since = strconv.FormatFloat(float64(since.UnixMilli())/1000, 'f', 3, 64)
	}
	logs, err := e.ContainerLogs(ctx, c.c.GetContainerID(), options)
	if err != nil {
		return err
	}
	defer logs.Close()
	b, err := io.ReadAll(logs)
	if err != nil {
		return err
	}
	if !bytes.Contains(b, []byte(c.spec.Ready)) {
		return fmt.Errorf("its log does not say %q", c.spec.Ready)
	}
	return nil
}

// staysOpen connects and sees that the connection is kept: the engine itself
// accepts connections to a published port before the server listens, and closes
// them at once.
func staysOpen(ctx context.Context, addr string) error {
	const patience = 100 * time.Millisecond
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return fmt.Errorf("the connection was closed: %w", err)
}
