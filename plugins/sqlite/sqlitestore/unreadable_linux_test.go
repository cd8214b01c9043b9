//go:build cgo

package sqlitestore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() { roles["unreadable"] = unreadableRole }

// unreadableRole opens a file that it may not read, and prints the error.
func unreadableRole(me part, _ func()) error {
	err := tryOpenQuietly(me.path)
	if err == nil {
		return fmt.Errorf("%s was opened", me.path)
	}
	fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
	return nil
}

// TestUnreadable: mode bits don't stop root, so a child without rights tries.
func TestUnreadable(t *testing.T) {
	dir, err := os.MkdirTemp("", "unreadable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "test") // where anybody may execute it
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, closed := range map[string]string{"file": "jobs.db", "directory": ""} {
		t.Run(name, func(t *testing.T) {
			place := filepath.Join(dir, name)
			if err := os.Mkdir(place, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(place, "jobs.db")
			if err := tryOpen(t, settings{path: path, namespace: "n", busy: defaultBusy}); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(place, closed), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(place, 0o755) })
			cmd := exec.Command(binary, path, "x", "1")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), roleEnv+"=unreadable")
			if os.Getuid() == 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), path) || !strings.Contains(string(out), "permission denied") {
				t.Errorf("%v; it said %q; want an error that names the file and the permission", err, out)
			}
		})
	}
}
