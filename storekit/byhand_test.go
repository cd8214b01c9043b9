package storekit

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
	}{
		{"describe", []string{"describe"}, 0},
		{"version", []string{"--version"}, 0},
		{"help", []string{"--help"}, 0},
		{"nothing", nil, 2},
		{"unknown", []string{"serve", "-v"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := byHand(newFake, append([]string{"/usr/lib/anarchon-plugin-fake"}, c.args...), &out, &errOut)
			if code != c.code {
				t.Errorf("exit code %d; want %d", code, c.code)
			}
			if (code == 0) != (errOut.Len() == 0) || (code == 0) == (out.Len() == 0) {
				t.Errorf("stdout %q, stderr %q", &out, &errOut)
			}
			got := append(out.Bytes(), errOut.Bytes()...)
			golden := filepath.Join("testdata", "byhand_"+c.name+".txt")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestStartedInAShell runs a plugin's process as a user would.
func TestStartedInAShell(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "describe")
	cmd.Env = append(os.Environ(), envActAs+"=plugin")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var info Info
	if err := json.Unmarshal(out, &info); err != nil || info.Name != "fake" || len(info.Options) != 4 || info.Protocols[0] != ProtocolVersion {
		t.Errorf("%s: %v", out, err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), envActAs+"=plugin")
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 {
		t.Errorf("without arguments: %v; want exit code 2", err)
	}
}
