package storekit

import "time"

// Event is something that happened to a plugin. The concrete types are those of
// this file; use a type switch. Later versions may add types.
type Event interface{ event() }

// Starting: a process is being started. The state is [StateStarting].
type Starting struct {
	At       time.Time
	Failures int // in a row before it: early deaths and starts that failed
}

// Ready: the plugin serves. The state is [StateReady].
type Ready struct {
	At      time.Time
	PID     int
	Version string        // of the plugin
	Took    time.Duration // launch, handshake and configuration
}

// Hung: the plugin left a health check without an answer and is killed. [Down]
// follows.
type Hung struct {
	At     time.Time
	PID    int
	Silent time.Duration // how long the check was waited for
}

// Down: the plugin ended, or could not be started. It is started again after a
// pause. The state is [StateBackoff] or [StateBroken].
type Down struct {
	At       time.Time
	PID      int           // 0 if it could not be started
	Ran      time.Duration // how long it was ready
	Err      error         // how it ended, with its last words
	Failures int           // in a row, this one included
	Pause    time.Duration // until it is started again
	Broken   bool          // the row is so long that calls are refused: [StateBroken]
}

// LinesDropped: the plugin wrote more to its output than the log takes.
type LinesDropped struct {
	At    time.Time
	Lines int
}

// Closed: the plugin is stopped, for good. It is the last event.
type Closed struct {
	At  time.Time
	Err error // what did not end well; of an [Open] that failed, why
}

// EventsDropped: [Plugin.OnEvent] was so slow that events were dropped.
type EventsDropped struct {
	At    time.Time
	Count int
}

func (Starting) event()      {}
func (Ready) event()         {}
func (Hung) event()          {}
func (Down) event()          {}
func (LinesDropped) event()  {}
func (Closed) event()        {}
func (EventsDropped) event() {}
