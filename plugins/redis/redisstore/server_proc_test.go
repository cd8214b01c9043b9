package redisstore

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// envURL names a server for the tests. Without it they start a redis-server of
// their own.
const envURL = "ANARCHON_TEST_REDIS_URL"

// binary is the server's program. Without it, tests that need a server of their
// own are skipped, but never in CI.
func binary(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed, and tests are not skipped in CI; install it (Debian: redis-server)", name)
	}
	t.Skipf("%s is not installed (Debian: redis-server)", name)
	return ""
}

var shared struct {
	once sync.Once
	srv  *proc
	err  error
}

// sharedURL is the server that tests share; each has a namespace of its own.
func sharedURL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(envURL); url != "" {
		return url
	}
	path := binary(t, "redis-server")
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "redisstore")
		if err == nil {
			shared.srv, shared.err = startProc(path, dir, "--save", "", "--appendonly", "no")
		} else {
			shared.err = err
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.srv.url()
}

func stopShared() {
	if shared.srv != nil {
		shared.srv.kill()
		os.RemoveAll(shared.srv.dir)
	}
}

// proc is a server's process.
type proc struct {
	path, dir string
	args      []string
	port      int
	cmd       *exec.Cmd
	exited    chan struct{}
}

// startServer starts a server of the test's own.
func startServer(t testing.TB, args ...string) *proc {
	t.Helper()
	p, err := startProc(binary(t, "redis-server"), t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func startProc(path, dir string, args ...string) (*proc, error) {
	// A port is free until somebody else takes it, so try again.
	var err error
	for range 5 {
		p := &proc{path: path, dir: dir, args: args}
		if p.port, err = freePort(); err != nil {
			return nil, err
		}
		if err = p.start(); err == nil {
			return p, nil
		}
	}
	return nil, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (p *proc) addr() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }
func (p *proc) url() string  { return "redis://" + p.addr() }

// start starts the process and waits until it answers.
func (p *proc) start() error {
	var args []string
	own := p.args
	if len(own) > 0 && !strings.HasPrefix(own[0], "--") {
		args, own = own[:1:1], own[1:] // its file of settings comes first
	}
	args = append(args, "--port", fmt.Sprint(p.port), "--bind", "127.0.0.1", "--dir", p.dir, "--logfile", filepath.Join(p.dir, "log"))
	args = append(args, own...)
	p.cmd = exec.Command(p.path, args...)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	exited, wait := make(chan struct{}), p.cmd.Wait
	p.exited = exited
	go func() {
		_ = wait()
		close(exited)
	}()
	c := redis.NewClient(&redis.Options{Addr: p.addr(), Protocol: 2, DialerRetries: 1})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		err := c.Ping(ctx).Err()
		if err == nil || isReply(err) && !redis.IsLoadingError(err) {
			return nil
		}
		select {
		case <-exited:
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
			continue
		}
		p.kill()
		said, _ := os.ReadFile(filepath.Join(p.dir, "log"))
		return fmt.Errorf("%s does not come up: %w\n%s", p.path, err, said)
	}
}

// kill ends the process as kill -9 does.
func (p *proc) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have exited
		<-p.exited
		p.cmd = nil
	}
}

// pause stops the process until resume.
func (p *proc) pause(t testing.TB)  { p.signal(t, syscall.SIGSTOP) }
func (p *proc) resume(t testing.TB) { p.signal(t, syscall.SIGCONT) }

func (p *proc) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
