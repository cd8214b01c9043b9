//go:build unix

package storekit

import (
	"os"
	"os/exec"
	"syscall"
)

// supported says that plugins can be run on this system.
const supported = true

// setProcessGroup puts the plugin into a group of its own: Ctrl-C in a terminal
// then reaches the host only, and the whole group can be killed.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }
