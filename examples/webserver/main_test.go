package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestMain: the test's program carries the plugins, as the real one does.
func TestMain(m *testing.M) {
	storekit.Embed(sqlitestore.New)
	os.Exit(m.Run())
}

// TestServeAndStop: it answers while it runs, and stops by itself when it is told to.
func TestServeAndStop(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DATABASE_URL", "")
	t.Chdir(dir) // the database is made here
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listener) }()
	client := &http.Client{Timeout: 30 * time.Second} // the listener is there: a request waits until it is served
	res, err := client.Get("http://" + listener.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %s, %v", res.Status, err)
	}
	client.CloseIdleConnections()
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not stop")
	}
}

// TestDeployment: Kubernetes waits longer than the program may take to stop.
func TestDeployment(t *testing.T) {
	b, err := os.ReadFile("deploy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Spec struct {
			Template struct {
				Spec struct {
					TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	const closing = 5 * time.Second // storekit.Plugin.CloseTimeout
	if got := time.Duration(d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; got <= grace+stopTimeout+closing {
		t.Errorf("the grace period is %v; the program may take %v", got, grace+stopTimeout+closing)
	}
}
