package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/containers"
)

// TestOneFileIsEnough: the built file alone, in an empty directory, serves jobs on a
// real Redis, and ends well when it is stopped.
func TestOneFileIsEnough(t *testing.T) {
	c, err := containers.Start(t.Context(), containers.Spec{Image: "redis-8.6", Port: 6379, Command: []string{"redis-server", "--protected-mode", "no", "--appendonly", "yes"}, Ready: "Ready to accept connections"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Remove() })
	dir := t.TempDir()
	binary := filepath.Join(dir, "service")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var log bytes.Buffer // read after the end only
	cmd := exec.Command(binary)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	cmd.Env = append(os.Environ(), "REDIS_URL=redis://"+c.Addr())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	// The plugin has come up when Redis has a client besides the one that asks.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		clients, err := c.Exec(t.Context(), "redis-cli", "client", "list")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(clients, "addr=") > 1 {
			break
		}
		if len(done) > 0 || time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("no plugin came up: %v\n%s", <-done, log.String())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%v\n%s", err, log.String())
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Fatalf("it does not stop: %v\n%s", <-done, log.String())
	}
}
