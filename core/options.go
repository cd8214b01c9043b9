package core

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Options configure a [Scheduler]. The zero value works.
type Options struct {
	// Instance names this process start, 1 to 200 bytes; it must differ from
	// every other instance and from this process's earlier starts. Default:
	// host name, process id and random digits.
	Instance string
	// Timing holds the defaults of all jobs.
	Timing Timing
	// MaxRuns bounds the handlers that run at once; it is looked at before a
	// claim, so that another instance can have the run. 0 means no bound.
	MaxRuns int
	// Grace is how long running handlers are left alone after Run's context is
	// done, before theirs are cancelled with [ErrStopped]. Default 0: at once.
	Grace time.Duration
	// Logger gets a line when Run begins and one for each event. Default slog.Default().
	Logger *slog.Logger
	// OnEvent is called for each event, one at a time and in order, on a
	// goroutine of its own: a callback that blocks delays later events, but no
	// claim and no renewal.
	OnEvent func(Event)
	// Now is the wall clock that slots are compared with. Default time.Now. It
	// is for tests of jobs under another clock; timers run on real time.
	Now func() time.Time
}

func (o Options) check() (Options, error) {
	if o.Instance == "" {
		o.Instance = newInstance()
	}
	if err := store.CheckName("instance", o.Instance); err != nil {
		return o, fmt.Errorf("core: options: %w", err)
	}
	if o.MaxRuns < 0 {
		return o, fmt.Errorf("core: options: max runs is %d; it must be positive, or 0 for no bound", o.MaxRuns)
	}
	if o.Grace < 0 {
		return o, fmt.Errorf("core: options: grace is %v; it must be positive, or 0 to cancel handlers at once", o.Grace)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

func newInstance() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "host"
	}
	var b [4]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%s-%d-%s", cut(host, 150), os.Getpid(), hex.EncodeToString(b[:]))
}
