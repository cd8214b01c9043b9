//go:build !unix

package storekit

import (
	"log/slog"
	"os"
)

var ignoredSignals = []os.Signal{os.Interrupt}

// watchLifeline reports that there is no lifeline: [Open] does not run on this
// system.
func watchLifeline(*server, *slog.Logger) bool { return false }
