package storekit

import (
	"context"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// glue is what go-plugin wants to know of our service, on both sides.
type glue struct {
	plugin.NetRPCUnsupportedPlugin
	server *server // nil on the host's side
}

var _ plugin.GRPCPlugin = glue{}

func (g glue) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pb.RegisterStoreServiceServer(s, g.server)
	return nil
}

func (g glue) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// versions is the offer of protocol versions, in the form that both sides of
// go-plugin take.
func versions(s *server) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {dispensed: glue{server: s}}}
}
