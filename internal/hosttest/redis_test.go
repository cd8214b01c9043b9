package hosttest

import (
	"os"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/containers"
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

// startRedis starts a server in a container that is removed with the test.
func startRedis(t *testing.T) (url string) {
	t.Helper()
	c, err := containers.Start(t.Context(), containers.Spec{
		Image:   "redis-8.6",
		Command: []string{"redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--appendonly", "no"},
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
	return "redis://" + c.Addr()
}
