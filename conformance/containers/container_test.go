package containers

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// start starts a Redis, as the smallest of our servers. The real servers are
// part of the tests: without an engine they fail, and say what to do.
func start(t *testing.T) *Container {
	t.Helper()
	c, err := Start(t.Context(), Spec{
		Image:   "redis-8.6",
		Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--appendonly", "yes", "--appendfsync", "always"},
		Port:    6379,
		Ready:   "Ready to accept connections",
	})
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

// say sends a command and returns the first line of the answer.
func say(c *Container, command string, patience time.Duration) (string, error) {
	conn, err := net.DialTimeout("tcp", c.Addr(), patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func TestServerKeepsItsAddressAndData(t *testing.T) {
	c := start(t)
	if got, err := say(c, "SET k v", 5*time.Second); err != nil || got != "+OK" {
		t.Fatalf("SET answered %q, %v", got, err)
	}
	addr := c.Addr()
	if err := c.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := say(c, "PING", time.Second); err == nil {
		t.Errorf("a killed server answered %q", got)
	}
	if err := c.Again(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Addr() != addr {
		t.Errorf("the address was %s and is %s", addr, c.Addr())
	}
	if got, err := say(c, "EXISTS k", 5*time.Second); err != nil || got != ":1" {
		t.Errorf("after the restart EXISTS answered %q, %v", got, err)
	}
}

func TestExec(t *testing.T) {
	c := start(t)
	if got, err := c.Exec(t.Context(), "echo", "as it is"); err != nil || got != "as it is\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := c.Exec(t.Context(), "sh", "-c", "echo out; echo err >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit code 3: out\nerr") {
		t.Errorf("%q, %v; want the exit code and what it printed", got, err)
	}
}

func TestPausedServerDoesNotAnswer(t *testing.T) {
	c := start(t)
	if err := c.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := say(c, "PING", 300*time.Millisecond); err == nil {
		t.Errorf("a paused server answered %q", got)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := say(c, "PING", 5*time.Second); err != nil || got != "+PONG" {
		t.Errorf("a resumed server answered %q, %v", got, err)
	}
}

// TestSweepRemovesWhatDeadOwnersLeft: nobody removes a container whose owner was
// killed, but the next run does; those of the living stay.
func TestSweepRemovesWhatDeadOwnersLeft(t *testing.T) {
	c := start(t)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	e, err := testcontainers.NewDockerClientWithOpts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ref, err := reference("redis-8.6")
	if err != nil {
		t.Fatal(err)
	}
	labels := ownLabels()
	labels[ownerLabel] = strconv.Itoa(dead.Process.Pid)
	orphan, err := testcontainers.GenericContainer(t.Context(), testcontainers.GenericContainerRequest{
		ContainerRequest: testcontainers.ContainerRequest{Image: ref, Labels: labels},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.ContainerInspect(context.WithoutCancel(t.Context()), orphan.GetContainerID(), client.ContainerInspectOptions{}); err == nil {
		t.Error("the container of a dead owner is still there")
	}
	if got, err := say(c, "PING", 5*time.Second); err != nil || got != "+PONG" {
		t.Errorf("the container of a living owner answered %q, %v", got, err)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	if _, err := Start(t.Context(), Spec{}); err == nil {
		t.Error("a container without an image was started")
	}
	_, err := Start(t.Context(), Spec{Image: "no-such-server-1.0", Port: 1})
	if err == nil || !strings.Contains(err.Error(), "make images") {
		t.Errorf("an image that is not there: %v", err)
	}
}

func TestReference(t *testing.T) {
	t.Setenv("ANARCHON_IMAGE_REDIS_8_6", "mine/redis:8.6.1")
	os.Unsetenv("ANARCHON_IMAGE_REDIS_7_0")
	for image, want := range map[string]string{
		"redis-8.6": "mine/redis:8.6.1",
		"redis-7.0": "anarchon/redis-7.0:local",
		"redis:8":   "redis:8",
		"a.b/c":     "a.b/c",
	} {
		if got, err := reference(image); err != nil || got != want {
			t.Errorf("%s is %q (%v), want %q", image, got, err, want)
		}
	}
}
