// Command orphan is a plugin that keeps every rule, on a SQLite file, but outlives
// its host: the kit's tests judge it, and it must never pass.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

// lifeline is the variable that names the descriptor whose end means that the host
// is gone; see docs/protocol.md.
const lifeline = "ANARCHON_LIFELINE_FD"

// orphan ends when its host asks it to, and not when its host is gone.
type orphan struct {
	storekit.Backend
	end *os.File // of a lifeline of its own
}

func (o orphan) Close(ctx context.Context) error {
	// The answer goes out before the process ends.
	time.AfterFunc(100*time.Millisecond, func() { o.end.Close() })
	return o.Backend.Close(ctx)
}

func main() {
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "orphan:", err)
		os.Exit(1)
	}
	if os.Getenv(lifeline) != "" {
		os.Setenv(lifeline, strconv.Itoa(int(r.Fd())))
	}
	storekit.Serve(func(env storekit.Env) storekit.Backend { return orphan{sqlitestore.New(env), w} })
	r.Close() // it was kept until here: a file that nobody refers to is closed
}
