// Command rabbitmq is the plugin that keeps a service's jobs in a RabbitMQ
// stream. Run it by hand to learn its options.
package main

import (
	"github.com/anarchon-go/anarchon/plugins/rabbitmq/rabbitmqstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() { storekit.Serve(rabbitmqstore.New) }
