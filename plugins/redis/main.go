// Command redis is the plugin that keeps a service's jobs in a Redis or Valkey.
// Run it by hand to learn its options.
package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/plugins/redis/redisstore"
	"github.com/anarchon-go/anarchon/storekit"
)

func main() {
	// The driver logs every failed dial beside returning it.
	redis.SetLogger(silent{})
	storekit.Serve(redisstore.New)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
