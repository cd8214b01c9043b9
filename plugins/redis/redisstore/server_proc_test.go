package redisstore

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/conformance/containers"
)

// envURL names a running server for the tests that need none of their own.
const envURL = "ANARCHON_TEST_REDIS_URL"

// house is the container in which all servers of the tests run: processes side by
// side, so that a test may have several that reach each other, and kill or stop
// one. They are called by the container's own address, which works on Linux and
// spares the engine's proxy. Port 6379 is the server that tests share.
var house struct {
	once  sync.Once
	c     *containers.Container
	ip    string
	err   error
	ports atomic.Int64 // used by processes beside the shared one
}

func openHouse(t testing.TB) {
	t.Helper()
	house.once.Do(func() {
		house.c, house.err = containers.Start(bg, containers.Spec{
			Image:   "redis-8.6",
			Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--appendonly", "no"},
			Port:    6379,
			Ready:   "Ready to accept connections",
		})
		if house.err == nil {
			house.ip, house.err = house.c.IP(bg)
		}
	})
	if house.err != nil {
		t.Fatal(house.err)
	}
}

// closeHouse ends all servers.
func closeHouse() error {
	if house.c == nil {
		return nil
	}
	return house.c.Remove()
}

// inHouse runs a line of shell in the container; its arguments are $1 and so on.
func inHouse(line string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(bg, patience)
	defer cancel()
	return house.c.Exec(ctx, append([]string{"sh", "-ec", line, "sh"}, args...)...)
}

// housed keeps a text in a file of the container and returns its path.
func housed(t testing.TB, text string) string {
	t.Helper()
	openHouse(t)
	path := fmt.Sprintf("/tmp/file-%d", housePort())
	if _, err := inHouse(`printf %s "$2" >"$1"`, path, text); err != nil {
		t.Fatal(err)
	}
	return path
}

// housePort is a port of the container that nobody uses.
func housePort() int { return 7000 + int(house.ports.Add(1)) }

// sharedURL is the server that tests share; each has a namespace of its own.
func sharedURL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(envURL); url != "" {
		return url
	}
	openHouse(t)
	return "redis://" + net.JoinHostPort(house.ip, "6379")
}

// proc is the process of a server of a test's own.
type proc struct {
	args []string
	port int
}

// startServer starts a server that ends with the test. Arguments are options of
// redis-server, or its file of settings and options.
func startServer(t testing.TB, args ...string) *proc {
	t.Helper()
	openHouse(t)
	p := &proc{args: args, port: housePort()}
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.signal("KILL"); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *proc) host() string { return house.ip }
func (p *proc) addr() string { return net.JoinHostPort(house.ip, fmt.Sprint(p.port)) }
func (p *proc) url() string  { return "redis://" + p.addr() }
func (p *proc) dir() string  { return fmt.Sprintf("/tmp/server-%d", p.port) }

// start starts the process and waits until it answers.
func (p *proc) start() error {
	const line = `
		mkdir -p "$1"; cd "$1"; port=$2; shift 2
		settings=; case "$1" in /*) settings=$1; shift;; esac
		exec redis-server $settings --port $port --bind 0.0.0.0 --protected-mode no --dir . --logfile log --pidfile pid --daemonize yes "$@"`
	if _, err := inHouse(line, append([]string{p.dir(), fmt.Sprint(p.port)}, p.args...)...); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: p.addr(), Protocol: 2, DialerRetries: 1})
	defer c.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := c.Ping(bg).Err()
		if err == nil || isReply(err) && !redis.IsLoadingError(err) {
			return nil
		}
		if time.Now().After(deadline) {
			said, _ := inHouse(`cat "$1/log"`, p.dir())
			return fmt.Errorf("a server does not come up: %w\n%s", err, said)
		}
	}
}

// kill ends the process as kill -9 does.
func (p *proc) kill(t testing.TB) { p.must(t, "KILL") }

// pause stops the process until resume.
func (p *proc) pause(t testing.TB)  { p.must(t, "STOP") }
func (p *proc) resume(t testing.TB) { p.must(t, "CONT") }

func (p *proc) must(t testing.TB, signal string) {
	t.Helper()
	if err := p.signal(signal); err != nil {
		t.Fatal(err)
	}
}

// signal sends a signal to the process, if it is not gone.
func (p *proc) signal(name string) error {
	_, err := inHouse(`pid=$(cat "$1/pid"); if kill -0 $pid; then kill -$2 $pid; fi 2>/dev/null`, p.dir(), name)
	return err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
