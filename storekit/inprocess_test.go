package storekit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// inProcess is a client of a service in this process, over real gRPC: for what a
// plugin may answer. There is no process to restart.
func inProcess(t testing.TB, service pb.StoreServiceServer) *Client {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(serverOptions()...)
	pb.RegisterStoreServiceServer(server, service)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:inprocess", append(dialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	c := newClient("inprocess", Plugin{Logger: testLogger(t)}, launcher{name: "inprocess"})
	log := &hostLog{queue: c.launch.log}
	c.gen = &generation{proc: newProcess("/nowhere", "nothing", log), log: log, svc: pb.NewStoreServiceClient(conn), born: time.Now()}
	c.state = StateReady
	return c
}

// serving is a client of a backend in this process, configured.
func serving(t testing.TB, backend Backend) *Client {
	t.Helper()
	s := newServer(backend, slog.New(slog.DiscardHandler))
	if err := s.configure(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return inProcess(t, s)
}
