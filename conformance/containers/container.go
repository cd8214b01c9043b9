package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
)

// Container is a server that runs. Its methods are safe for concurrent use, as
// far as what they do to the server makes sense at the same time.
type Container struct {
	spec Spec
	c    testcontainers.Container
	addr string
}

// Start starts a server on a port of the loopback interface and waits until it
// serves. Remove it with [Container.Remove].
func Start(ctx context.Context, spec Spec) (*Container, error) {
	ref, err := reference(spec.Image)
	if err != nil {
		return nil, err
	}
	prepareEnvironment()
	if err := engineAnswers(ctx); err != nil {
		return nil, err
	}
	sweepOnce(ctx)
	// The engine would choose another port at each restart; clients keep theirs.
	host, err := freePort()
	if err != nil {
		return nil, err
	}
	port := fmt.Sprintf("%d/tcp", spec.Port)
	req := testcontainers.ContainerRequest{
		Image:        ref,
		Cmd:          spec.Command,
		Env:          spec.Env,
		Files:        files(spec.Files),
		Tmpfs:        spec.Tmpfs,
		ExposedPorts: []string{port},
		Labels:       ownLabels(),
		HostConfigModifier: func(hc *container.HostConfig) {
			hc.PortBindings = network.PortMap{network.MustParsePort(port): {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(host)}}}
		},
	}
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: req,
		Started:          true,
		Logger:           quiet{},
	})
	if err != nil {
		err = fmt.Errorf("container of %s: %w%s%s", ref, err, hint(spec.Image, ref), lastWords(c))
		if c != nil {
			err = errors.Join(err, remove(c))
		}
		return nil, err
	}
	started := &Container{spec: spec, c: c, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(host))}
	if err := started.awaitReady(ctx, time.Time{}); err != nil {
		return nil, errors.Join(err, started.Remove())
	}
	return started, nil
}

// files are the contents as the engine wants them.
func files(contents map[string]string) []testcontainers.ContainerFile {
	var all []testcontainers.ContainerFile
	for path, text := range contents {
		all = append(all, testcontainers.ContainerFile{ContainerFilePath: path, Reader: strings.NewReader(text), FileMode: 0o644})
	}
	return all
}

// Addr returns host:port of the server, as seen from this machine. It stays the
// same through restarts.
func (c *Container) Addr() string { return c.addr }

// Spec is what the server was started from.
func (c *Container) Spec() Spec { return c.spec }

// IP returns the server's address as other containers see it.
func (c *Container) IP(ctx context.Context) (string, error) { return c.c.ContainerIP(ctx) }

// Remove ends the server and removes its data. It has its own deadline.
func (c *Container) Remove() error { return remove(c.c) }

func remove(c testcontainers.Container) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return c.Terminate(ctx, testcontainers.StopTimeout(0))
}

// Exec runs a command in the container and returns what it printed.
func (c *Container) Exec(ctx context.Context, command ...string) (string, error) {
	code, out, err := c.c.Exec(ctx, command, tcexec.Multiplexed()) // without the engine's frames
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(out)
	if err != nil {
		return "", err
	}
	if code != 0 {
		return string(b), fmt.Errorf("%q in the container: exit code %d: %s", command, code, b)
	}
	return string(b), nil
}

// hint says how to get an image of ours.
func hint(image, ref string) string {
	if ref == "anarchon/"+image+":local" {
		return "; if there is no such image, make it with: make images"
	}
	return ""
}

func lastWords(c testcontainers.Container) string {
	if c == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	logs, err := c.Logs(ctx)
	if err != nil {
		return ""
	}
	defer logs.Close()
	b, err := io.ReadAll(io.LimitReader(logs, 64<<10))
	if err != nil || len(b) == 0 {
		return ""
	}
	return "\nits last words:\n" + string(b[max(0, len(b)-2000):])
}

// quiet drops what testcontainers says on the way; its errors say enough.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// prepareEnvironment sets what testcontainers needs to be told, unless the user
// has: its own reaper is not used (its image may not be had, and leftovers are
// swept here), and in a container it would look for the servers at the gateway.
func prepareEnvironment() {
	set := func(name, value string) {
		if _, ok := os.LookupEnv(name); !ok {
			os.Setenv(name, value)
		}
	}
	set("TESTCONTAINERS_RYUK_DISABLED", "true")
	if _, err := os.Stat("/.dockerenv"); err == nil {
		set("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
}
