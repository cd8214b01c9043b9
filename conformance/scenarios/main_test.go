package scenarios

import (
	"os"
	"os/exec"
	"testing"
)

// envHost makes this test binary an instance.
const envHost = "ANARCHON_SCENARIOS_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(envHost) != "" {
		os.Exit(HostMain())
	}
	os.Exit(m.Run())
}

// instance is the command of an instance: this test binary.
func instance() *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	if self, err := os.Executable(); err == nil {
		cmd.Path = self
	}
	cmd.Env = append(os.Environ(), envHost+"=1")
	return cmd
}
