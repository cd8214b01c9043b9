package storekit

import "fmt"

// State is where a plugin is in its life.
type State int

const (
	// StateIdle: it was not started yet.
	StateIdle State = iota
	// StateStarting: a process is launched, shaken hands with and configured. Calls
	// wait for it within their deadline.
	StateStarting
	// StateReady: it serves.
	StateReady
	// StateBackoff: it ended, or could not be started, and is started again after a
	// pause. Calls wait for it within their deadline.
	StateBackoff
	// StateBroken: it ended again and again. It is still started after each pause, up
	// to 30 s, but calls are refused at once in between, with [ErrCrashLoop].
	StateBroken
	// StateClosed: [Client.Close] was called, or [Open] failed.
	StateClosed
)

var stateNames = []string{"idle", "starting", "ready", "backoff", "broken", "closed"}

// String is the state's name in lower case.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("state(%d)", int(s))
	}
	return stateNames[s]
}
