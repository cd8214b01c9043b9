//go:build unix

// Package sigstop freezes processes, for tests of what happens when one does nothing for
// a while.
package sigstop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience bounds how long a process may take to stop. A thread that waits for a disk
// stops when that is over.
const patience = 10 * time.Second

// Freeze sends SIGSTOP to a process and waits until none of its threads runs any more:
// the signal alone returns before the process has stopped, which then may still
// answer. Where there is no /proc it does not wait. A process that has ended has
// stopped, but there must have been one.
func Freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	for deadline := time.Now().Add(patience); runs(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d still runs %v after SIGSTOP", pid, patience)
		}
	}
	return nil
}

// Thaw lets a stopped process go on.
func Thaw(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// runs reports whether a thread of the process is neither stopped nor ended.
func runs(pid int) bool {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name before the state may hold parentheses itself.
		_, state, _ := strings.Cut(string(stat)[strings.LastIndexByte(string(stat), ')')+1:], " ")
		if !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "t") && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			return true
		}
	}
	return false
}
