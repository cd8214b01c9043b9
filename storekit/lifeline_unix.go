//go:build unix

package storekit

import (
	"log/slog"
	"os"
	"strconv"
	"syscall"
)

var ignoredSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}

// watchLifeline ends this process when its host is gone. The host holds the
// other end of a pipe and never writes to it: the kernel closes it when the host
// ends, however it ends. It reports whether there is a lifeline.
func watchLifeline(s *server, logger *slog.Logger) bool {
	fd, err := strconv.Atoi(os.Getenv(envLifeline))
	if err != nil || fd < 3 {
		logger.Warn("the host gave no lifeline: this plugin will not notice if it dies", "variable", envLifeline)
		return false
	}
	syscall.CloseOnExec(fd) // not for children of the plugin
	pipe := os.NewFile(uintptr(fd), "lifeline")
	if _, err := pipe.Stat(); err != nil {
		logger.Warn("the lifeline is no open descriptor", "variable", envLifeline, "error", err)
		return false
	}
	go func() {
		for buf := make([]byte, 64); ; {
			if _, err := pipe.Read(buf); err != nil {
				break
			}
		}
		s.stopBounded()
		removeSocketDir()
		os.Exit(0)
	}()
	return true
}
