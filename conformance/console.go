package conformance

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// consoleWriter shows the progress of a run. It is safe for concurrent use.
type consoleWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (c *consoleWriter) printf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(c.w, strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
}

// openConsole returns where a person looks while the run goes on. go test keeps
// the output of a test back until it ends, and drops it if the test passes and
// -v is not given; so the lines then go to where the go command itself writes,
// if the system tells where that is and it is a terminal or a pipe.
func openConsole(t *testing.T) *consoleWriter {
	if !testing.Verbose() {
		if f := goCommandOutput(); f != nil {
			t.Cleanup(func() { f.Close() })
			return &consoleWriter{w: f}
		}
	}
	return &consoleWriter{w: os.Stdout}
}

// goCommandOutput opens the standard error of the go command that started this
// test, or returns nil. A regular file is left alone: two writers with a place
// each would write over one another.
func goCommandOutput() *os.File {
	proc := fmt.Sprintf("/proc/%d", os.Getppid())
	exe, err := os.Readlink(proc + "/exe")
	if err != nil || filepath.Base(exe) != "go" {
		return nil
	}
	path := proc + "/fd/2"
	st, err := os.Stat(path)
	if err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	return f
}
