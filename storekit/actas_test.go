package storekit

import (
	"fmt"
	"os"
)

// actAs makes this process a plugin, or what pretends to be one.
func actAs(as string) {
	switch as {
	case "plugin":
		Serve(newFake)
	default:
		fmt.Fprintf(os.Stderr, "unknown role %q\n", as)
		os.Exit(9)
	}
}
