// Command nats is the plugin that keeps a service's jobs in NATS JetStream. Run
// it by hand to learn its options.
package main

import (
	"github.com/anarchon-go/anarchon/plugins/nats/natsstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() { storekit.Serve(natsstore.New) }
