//go:build !cgo

package main

import (
	"fmt"
	"os"

	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
)

// main ends before the handshake: the service shows these words as the reason
// why the plugin did not start.
func main() {
	fmt.Fprintln(os.Stderr, sqlitestore.ErrNoCgo)
	os.Exit(1)
}
