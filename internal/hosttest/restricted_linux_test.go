package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// world is the surroundings in which a service opens its plugin.
type world struct {
	Mounts []mount  // made in a mount namespace of its own
	Env    []string // all of its environment
	UID    int
	Path   string // of the plugin; empty: the one that it carries
}

type mount struct {
	At, Type string
	Flags    uintptr
	Data     string
}

const volume = "/mnt" // where the database lies

var (
	private      = mount{At: "/", Flags: unix.MS_REC | unix.MS_PRIVATE}
	readOnlyRoot = mount{At: "/", Flags: unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY}
	data         = mount{volume, "tmpfs", unix.MS_NOEXEC | unix.MS_NOSUID, "mode=0777"}
	noTmp        = mount{"/tmp", "tmpfs", unix.MS_RDONLY, ""}
	noexecTmp    = mount{"/tmp", "tmpfs", unix.MS_NOEXEC, "mode=1777"}
	fullTmp      = mount{"/tmp", "tmpfs", 0, "mode=1777,nr_inodes=1"} // its own directory is the one
	almostFull   = mount{"/tmp", "tmpfs", 0, "mode=1777,nr_inodes=2"}
)

func init() {
	// The outer process makes the world, and the inner one lives in it.
	roles["make a world"] = func(args []string) int {
		var w world
		if err := json.Unmarshal([]byte(args[0]), &w); err != nil {
			return fail(err)
		}
		for _, m := range append([]mount{private}, w.Mounts...) {
			if err := unix.Mount("none", m.At, m.Type, m.Flags, m.Data); err != nil {
				return fail(fmt.Errorf("mount %+v: %w", m, err))
			}
		}
		inner := exec.Command("/proc/self/exe", args[0])
		inner.Env = append(w.Env, envRole+"=live in a world")
		inner.Stdout, inner.Stderr = os.Stdout, os.Stderr
		inner.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(w.UID), Gid: uint32(w.UID)}}
		return fail(inner.Run())
	}
	roles["live in a world"] = func(args []string) int {
		var w world
		if err := json.Unmarshal([]byte(args[0]), &w); err != nil {
			return fail(err)
		}
		return fail(w.live())
	}
}

func fail(err error) int {
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// live does what a service does: it opens its plugin, runs something, closes it.
func (w world) live() error {
	if w.Path != "" { // a copy of this program, where its file must be
		if err := copyFile("/proc/self/exe", w.Path); err != nil {
			return err
		}
	}
	if strings.HasPrefix(os.TempDir(), volume) {
		if err := os.MkdirAll(os.TempDir(), 0o755); err != nil {
			return err
		}
	}
	p := sqlite(filepath.Join(volume, "jobs.db"))
	p.Path = w.Path
	ctx := context.Background()
	c, err := storekit.Open(ctx, p)
	if err != nil {
		return err
	}
	a, err := c.Claim(ctx, store.ClaimRequest{
		Job: "a", Slot: time.Now().UnixMilli(), ID: store.NewClaimID(), Instance: "me", Reason: store.ReasonScheduled,
		Lease: time.Minute, MaxEarly: time.Minute, MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 1, HistorySize: 1,
	})
	if err == nil && a.Verdict != store.VerdictWon {
		err = fmt.Errorf("the claim was answered %v", a.Verdict)
	}
	return errors.Join(err, c.Close())
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// A service opens its plugin wherever there is one directory to write to, or says
// what is missing.
func TestRestrictedSurroundings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts and other users need root")
	}
	if _, err := os.Stat(volume); err != nil {
		t.Skip(err)
	}
	long := filepath.Join(volume, strings.Repeat("d", 100))
	for _, test := range []struct {
		name string
		world
		want []string // in the error; none: it works
	}{
		{"no environment at all", world{}, nil},
		{"no HOME", world{Env: []string{"PATH=/usr/bin:/bin"}}, nil},
		{"read-only root, systemd's directory", world{Mounts: []mount{readOnlyRoot, noTmp}, Env: []string{"RUNTIME_DIRECTORY=" + volume + ":/run/other"}}, nil},
		{"read-only root, the user's directory", world{Mounts: []mount{readOnlyRoot, noTmp}, Env: []string{"XDG_RUNTIME_DIR=" + volume}}, nil},
		{"read-only root, TMPDIR", world{Mounts: []mount{readOnlyRoot, noTmp}, Env: []string{"TMPDIR=" + volume}}, nil},
		{"read-only root, and nothing else", world{Mounts: []mount{readOnlyRoot, noTmp}},
			[]string{"no directory for the plugin's socket", "set TMPDIR", "/tmp/", "read-only file system"}},
		{"noexec /tmp", world{Mounts: []mount{noexecTmp}}, nil},
		{"the plugin's file on noexec", world{Path: volume + "/anarchon-plugin-sqlite"}, []string{"permission denied", "noexec"}},
		{"full /tmp, another directory", world{Mounts: []mount{fullTmp}, Env: []string{"XDG_RUNTIME_DIR=" + volume}}, nil},
		{"full /tmp", world{Mounts: []mount{fullTmp}}, []string{"no space left on device", "set TMPDIR"}},
		{"a /tmp that fills up in between", world{Mounts: []mount{almostFull}}, []string{"no space left on device"}},
		{"a directory that is not there", world{Env: []string{"RUNTIME_DIRECTORY=/run/not/there", "TMPDIR=/not/there/either"}}, nil},
		{"long TMPDIR", world{Env: []string{"TMPDIR=" + long}}, nil},
		{"long TMPDIR, and nothing else", world{Mounts: []mount{noTmp}, Env: []string{"TMPDIR=" + long}}, []string{"103 is the most", "set TMPDIR to a short one"}},
		{"another user", world{UID: 65534}, nil},
		{"another user, root's directory", world{UID: 65534, Env: []string{"XDG_RUNTIME_DIR=/root"}}, nil},
		{"all at once", world{UID: 65534, Mounts: []mount{readOnlyRoot, noexecTmp}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := test.world
			w.Mounts = append([]mount{data}, w.Mounts...)
			said, err := w.run(t)
			switch {
			case len(test.want) == 0 && err != nil:
				t.Errorf("%v: %s", err, said)
			case len(test.want) > 0 && err == nil:
				t.Errorf("it worked; want an error with %q", test.want)
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("it said %q; want %q in it", said, want)
				}
			}
		})
	}
}

func (w world) run(t *testing.T) (string, error) {
	t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	outer := exec.Command(self, string(text))
	outer.Env = []string{envRole + "=make a world"}
	outer.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	said, err := outer.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(said), "mount {") {
		t.Skipf("no mounts here: %v %s", err, said)
	}
	return string(said), err
}
