package kit

import (
	"context"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// What can be done to a subject besides calling it. Each is optional: a subject
// that has [Lacker] says why it does not have what it does not have, and the
// checks that need it are skipped for that reason.

// Lacker is a [Subject] that knows what can't be done to it.
type Lacker interface {
	// Lacks says why the subject does not have what a check needs (one need, not
	// several); it returns "" if the subject has it.
	Lacks(need Needs) string
}

// Linker is a [Subject] that can put a [Link] between one process and the store.
type Linker interface {
	OpenLinked(ctx context.Context, namespace string) (Process, Link, error)
}

// Link is the way between one process and the store, whole at first. One fault
// holds at a time: each method but the last two replaces the one before. Its
// methods are safe for concurrent use and take effect at once.
type Link interface {
	// Swallow lets requests through and throws the store's answers away.
	Swallow()
	// Hold keeps requests back. Mend and Cut deliver them, even if whoever sent them
	// has gone; the answers to them reach nobody.
	Hold()
	// Delay lets everything take that much longer, on each way.
	Delay(d time.Duration)
	// Cut ends all connections and refuses new ones.
	Cut()
	// Mend makes the link whole. Connections of which something was swallowed or held
	// end: a stream with a hole is none.
	Mend()
	// Traffic says what went over the link so far.
	Traffic() Traffic
	// Connections is how many connections there are now.
	Connections() int
}

// Traffic counts what went over a [Link], in bytes; a link inside one process
// counts messages. Counts never go down.
type Traffic struct {
	Delivered int64 // to the store, in all; held ones once they are delivered
	Swallowed int64 // answers of the store that were thrown away
	Held      int64 // kept back, in all
}

// Freezer is a [Process] that can be stopped as SIGSTOP does, and let go on.
// After Freeze it may be closed, with or without Thaw.
type Freezer interface {
	Freeze() error
	Thaw() error
}

// Hoster is a [Subject] that can start a process that is a plugin's host, as a
// service is: with one plugin, which it opens itself.
type Hoster interface {
	// StartHost starts a host that makes one claim, which it must win, and then does
	// nothing.
	StartHost(ctx context.Context, namespace string, req store.ClaimRequest) (Host, error)
}

// Host is a process that holds the run that it claimed.
type Host interface {
	Claimed() store.ClaimAnswer
	// Kill ends the host as kill -9 does, and not its plugin.
	Kill() error
	// PluginLives reports whether the host's plugin still runs.
	PluginLives() bool
	// Close ends what is left of host and plugin.
	Close() error
}

// Server is a [Subject]'s store, as a process that its operator can stop. While
// a check does it no other check runs.
type Server interface {
	// Pause freezes the store: connections stay open and nothing answers.
	Pause(ctx context.Context) error
	// Resume lets a paused store go on.
	Resume(ctx context.Context) error
	// Crash ends the store as kill -9 does.
	Crash(ctx context.Context) error
	// Again starts it again, with its data, and waits until it serves.
	Again(ctx context.Context) error
}

// Served is a [Subject] whose store is a [Server].
type Served interface{ Server() Server }

// Scarce is a [Subject] whose store can run out of something: of space
// ([NeedSpace]) or of connections ([NeedConnections]). While a check does it no
// other check runs.
type Scarce interface {
	// OpenSmall opens the store that Exhaust fills.
	OpenSmall(ctx context.Context) (Process, error)
	// Exhaust uses up what is left. Connections that are there stay, and new ones are
	// refused. The function returned gives everything back.
	Exhaust(ctx context.Context, what Needs) (giveBack func(context.Context) error, err error)
}

// Tamperer is a [Subject] into whose store a later version can be made to have
// written. It works on stores that nobody else uses; see [Run.Fresh].
type Tamperer interface {
	// OpenFresh opens a store that is set up anew the first time that its name, of
	// lower case letters, digits and underscores, is used.
	OpenFresh(ctx context.Context, name string) (Process, error)
	// Tamper does something to that store, past the plugin.
	Tamper(ctx context.Context, name string, what Tampering) ([]string, error)
}

// Tampering is what a [Tamperer] does. Each returns lines of text.
type Tampering string

const (
	// Dump lists all that the store holds, line by line, in an order of its own.
	Dump Tampering = "dump"
	// Unknown puts fields that no version knows into everything that the store holds
	// (columns, hash fields, headers), and returns the lines of Dump that say so, or
	// parts of them.
	Unknown Tampering = "unknown"
	// Newer makes the store say that it has the format after the plugin's, and returns
	// nothing.
	Newer Tampering = "newer"
	// Damage puts what a stranger might write in the place of everything that is known
	// of jobs and runs, and says what it changed.
	Damage Tampering = "damage"
	// Clear removes what the store holds of a namespace. There may be nothing.
	Clear Tampering = "clear"
	// Drop removes the whole store, as if nobody had ever opened it. It is asked for only
	// if a dump listed nothing before: one of a store that is there must list something,
	// also if nothing in it is the plugin's.
	Drop Tampering = "drop"
)
