//go:build !unix

package storekit

import (
	"os"
	"os/exec"
)

// supported says that plugins can't be run on this system: there is no lifeline
// and no process group that would end a plugin with its host.
const supported = false

func setProcessGroup(*exec.Cmd)    {}
func killGroup(leader *os.Process) { leader.Kill() }
