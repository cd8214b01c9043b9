package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/conformance/containers"
)

// serverEnv names a running server for the tests, as a superuser's URL, instead
// of a container. Tests that restart or reconfigure a server always start their
// own.
const serverEnv = "ANARCHON_TEST_POSTGRES_URL"

// testPassword must never be seen in an error or a log.
const testPassword = "tOp-s3cret/?#"

var removals struct {
	sync.Mutex
	all []func() error
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, remove := range removals.all {
		if err := remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// shared is the server of most tests; each has a schema of its own in it.
var shared = sync.OnceValues(func() (string, error) {
	if given := os.Getenv(serverEnv); given != "" {
		return given, nil
	}
	// Tests that look at space and statistics vacuum themselves: autovacuum would
	// come when it likes, and keep old rows alive meanwhile.
	c, err := startServer(context.Background(), "postgres-18", nil, "-c", "max_connections=300", "-c", "autovacuum=off")
	if err != nil {
		return "", err
	}
	removals.Lock()
	defer removals.Unlock()
	removals.all = append(removals.all, c.Remove)
	return serverURL(c), nil
})

func startServer(ctx context.Context, image string, env map[string]string, args ...string) (*containers.Container, error) {
	all := map[string]string{"POSTGRES_PASSWORD": testPassword}
	for k, v := range env {
		all[k] = v
	}
	c, err := containers.Start(ctx, containers.Spec{
		Image: image, Env: all, Port: 5432, Command: append([]string{"postgres"}, args...),
		Ready: "database system is ready to accept",
	})
	if err != nil {
		return nil, err
	}
	return c, awaitServer(ctx, serverURL(c))
}

// privateServer is a server that the test may break.
func privateServer(t testing.TB, image string, args ...string) *containers.Container {
	t.Helper()
	c, err := startServer(t.Context(), image, nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func serverURL(c *containers.Container) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", testPassword), Host: c.Addr(), Path: "/postgres"}
	return u.String()
}

// awaitServer waits until the server lets somebody in: the port is open before.
func awaitServer(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var last error
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, server)
		if err == nil {
			return conn.Close(ctx)
		}
		last = err
		time.Sleep(50 * time.Millisecond)
	}
	return errors.Join(ctx.Err(), last)
}
