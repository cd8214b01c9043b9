package containers

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Labels of our containers.
const (
	label      = "com.github.anarchon-go.anarchon.conformance"
	ownerLabel = label + ".owner" // the process id of who started it
)

func ownLabels() map[string]string {
	return map[string]string{label: "true", ownerLabel: strconv.Itoa(os.Getpid())}
}

var swept sync.Once

// sweepOnce removes the containers that dead owners left behind. It does what it
// can: what is left is found again by the next run.
func sweepOnce(ctx context.Context) {
	swept.Do(func() { _ = Sweep(ctx) })
}

// Sweep removes the containers whose owners are gone.
func Sweep(ctx context.Context) error {
	prepareEnvironment()
	e, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	found, err := e.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", label+"=true")})
	if err != nil {
		return err
	}
	for _, c := range found.Items {
		if owner, err := strconv.Atoi(c.Labels[ownerLabel]); err == nil && alive(owner) {
			continue
		}
		if _, err := e.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			return err
		}
	}
	return nil
}

func alive(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

func engineAnswers(ctx context.Context) error {
	if host := os.Getenv("DOCKER_HOST"); host != "" { // else testcontainers would look elsewhere, too
		if err := namedEngineAnswers(ctx); err != nil {
			return fmt.Errorf("no Docker engine answers at DOCKER_HOST=%s: %w", host, err)
		}
	}
	e, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err == nil {
		_, err = e.Info(ctx, client.InfoOptions{})
		e.Close()
	}
	if err != nil {
		return fmt.Errorf("no Docker engine answers, and this server runs in a container: start Docker, or run make images, which does it as root on Debian; or name a running server with -config: %w", err)
	}
	return nil
}

func namedEngineAnswers(ctx context.Context) error {
	e, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = e.Info(ctx, client.InfoOptions{})
	return err
}
