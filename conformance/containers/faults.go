package containers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Pause freezes the server: connections stay open and nothing answers. An engine on a
// busy machine may fail to freeze a server that starts processes just then, and says
// so; it is asked again.
func (c *Container) Pause(ctx context.Context) error {
	return c.engine(ctx, func(e *testcontainers.DockerClient) error {
		for tries := 1; ; tries++ {
			_, err := e.ContainerPause(ctx, c.c.GetContainerID(), client.ContainerPauseOptions{})
			if err == nil || tries == 10 || !strings.Contains(err.Error(), "unable to freeze") {
				return err
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// Resume lets a paused server go on.
func (c *Container) Resume(ctx context.Context) error {
	return c.engine(ctx, func(e *testcontainers.DockerClient) error {
		_, err := e.ContainerUnpause(ctx, c.c.GetContainerID(), client.ContainerUnpauseOptions{})
		return err
	})
}

// Kill ends the server at once, as kill -9 does; its data stay. [Container.Again]
// starts it again.
func (c *Container) Kill(ctx context.Context) error {
	return c.engine(ctx, func(e *testcontainers.DockerClient) error {
		_, err := e.ContainerKill(ctx, c.c.GetContainerID(), client.ContainerKillOptions{Signal: "KILL"})
		return err
	})
}

// Stop ends the server as its operator would, and waits until it has ended.
func (c *Container) Stop(ctx context.Context) error {
	within := 30 * time.Second
	return c.c.Stop(ctx, &within)
}

// Again starts a server that was stopped or killed, with its data and at the same
// address, and waits until it serves.
func (c *Container) Again(ctx context.Context) error {
	since := time.Now()
	if err := c.c.Start(ctx); err != nil {
		return fmt.Errorf("container of %s does not start again: %w", c.spec.Image, err)
	}
	return c.awaitReady(ctx, since)
}

func (c *Container) engine(ctx context.Context, do func(*testcontainers.DockerClient) error) error {
	e, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	return do(e)
}
