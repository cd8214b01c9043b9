package redisstore

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/storekit"
)

// envActAs makes this test binary the plugin's process, or another child.
const envActAs = "REDISSTORE_TEST_ACT_AS"

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	if as := os.Getenv(envActAs); as == "plugin" {
		storekit.Serve(New)
		return
	}
	flag.Parse()
	code := m.Run()
	if err := closeHouse(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
