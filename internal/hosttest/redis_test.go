package hosttest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// redis is the Redis plugin with a namespace of the test's own: on the server that
// the variable names, or on one that is started.
func redis(t *testing.T) storekit.Plugin {
	t.Helper()
	url := os.Getenv("ANARCHON_TEST_REDIS_URL")
	if url == "" {
		url = startRedis(t)
	}
	return storekit.Plugin{
		Name:   "redis",
		Config: map[string]any{"url": url, "namespace": "hosttest-" + store.NewClaimID().String()},
		Env:    []string{"GORACE=atexit_sleep_ms=0"},
	}
}

func startRedis(t *testing.T) (url string) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed (Debian: redis-server), and ANARCHON_TEST_REDIS_URL is not set")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().(*net.TCPAddr)
	l.Close()
	server := exec.Command(path, "--port", fmt.Sprint(address.Port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		server.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address.String()); err == nil {
			conn.Close()
			return fmt.Sprintf("redis://%s", address)
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer on %s", address)
		}
	}
}
