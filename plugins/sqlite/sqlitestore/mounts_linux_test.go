//go:build cgo

package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestMounts fills a real file system and makes one read-only: tiny ones, in
// the memory of a child with its own mount table. Mode bits alone would not stop
// root.
func TestMounts(t *testing.T) {
	c := spawn(t, "mounts", t.TempDir(), "m", func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Getuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
	})
	for _, line := range c.rest() {
		if why, skip := strings.CutPrefix(line, "skip: "); skip {
			t.Skip(why)
		}
		t.Log(line)
	}
}

func mountsRole(me part, _ func()) error {
	// Keep the mounts to this process.
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println("skip: no mounts of our own here:", err)
		return nil
	}
	if err := syscall.Mount("tmpfs", me.path, "tmpfs", 0, "size=1m"); err != nil {
		fmt.Println("skip: no tmpfs of our own here:", err)
		return nil
	}
	return errors.Join(wrap("full disk", fullDisk(me)), wrap("read-only", readOnly(me)))
}

// fullDisk claims until the disk is full, makes room, and goes on.
func fullDisk(me part) error {
	b, err := openAs(filepath.Join(me.path, "jobs.db"))
	if err != nil {
		return err
	}
	defer b.Close(context.Background())
	ballast := filepath.Join(me.path, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 600<<10), 0o600); err != nil {
		return err
	}
	ctx := context.Background()
	claim := func(i int) store.ClaimRequest {
		q := raceClaim(fmt.Sprint("j", i), me.slot, "a")
		q.Fingerprint = strings.Repeat("f", store.MaxFingerprint)
		return q
	}
	var refused store.ClaimRequest
	granted := map[string]store.Token{}
	for i := 0; refused.Job == ""; i++ {
		q := claim(i)
		switch a, err := b.Claim(ctx, q); {
		case err == nil && a.Verdict == store.VerdictWon:
			granted[q.Job] = a.Token
		case err == nil:
			return fmt.Errorf("claim %d: %v", i, a.Verdict)
		case !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrNotApplied):
			return fmt.Errorf("claim %d: %w: of no right class", i, err)
		case !strings.Contains(err.Error(), "free space"):
			return fmt.Errorf("claim %d: %w: names no remedy", i, err)
		default:
			fmt.Println("full after", i, "claims:", err)
			refused = q
		}
	}
	for i, r := range b.ClaimBatch(ctx, []store.ClaimRequest{claim(90_001), claim(90_002)}) {
		if r.Err == nil || r.Answer.Verdict != 0 {
			return fmt.Errorf("on a full disk batch item %d answers %+v", i, r)
		}
	}
	u, err := b.Unfinished(ctx, store.UnfinishedRequest{})
	if err != nil || len(u.Runs) != len(granted) {
		return fmt.Errorf("on a full disk %d unfinished runs, %w; want %d", len(u.Runs), err, len(granted))
	}
	if err := tryOpenQuietly(filepath.Join(me.path, "other.db")); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "free space") {
		return fmt.Errorf("open on a full disk: %w; want a remedy", err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if a, err := b.Claim(ctx, refused); err != nil || a.Verdict != store.VerdictWon {
		return fmt.Errorf("with room again: %+v, %w", a, err)
	}
	for job, token := range granted {
		f, err := b.Finish(ctx, store.FinishRequest{Job: job, Slot: me.slot, Token: token, Outcome: store.OutcomeSuccess})
		if err != nil || !f.Recorded {
			return fmt.Errorf("finish %s: %+v, %w", job, f, err)
		}
	}
	return nil
}

// readOnly opens a whole database, and none, on a file system that can't be
// written.
func readOnly(me part) error {
	if err := syscall.Mount("", me.path, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		return err
	}
	for _, name := range []string{"jobs.db", "none.db"} {
		begin := time.Now()
		err := tryOpenQuietly(filepath.Join(me.path, name))
		if !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), "able to write the file") {
			return fmt.Errorf("%s: %w; want a read-only file system", name, err)
		}
		if took := time.Since(begin); took > margin {
			return fmt.Errorf("%s: took %v", name, took)
		}
		fmt.Println(name+":", err)
	}
	return nil
}

func tryOpenQuietly(path string) error {
	b := newBackend(storekit.Env{Logger: slog.New(slog.DiscardHandler)})
	err := b.open(context.Background(), settings{path: path, namespace: "n", busy: time.Second})
	if err == nil {
		err = b.Close(context.Background())
	}
	return err
}

// TestNoPermission is for those whom mode bits stop.
func TestNoPermission(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("mode bits don't stop root; TestMounts has a read-only file system")
	}
	tests := map[string]struct {
		path func(settings) string // whose write permission is taken
		want string
	}{
		"file":      {func(set settings) string { return set.path }, "able to write the file"},
		"directory": {func(set settings) string { return filepath.Dir(set.path) }, "make files beside it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := testSettings(t)
			if err := tryOpen(t, set); err != nil {
				t.Fatal(err)
			}
			path := test.path(set)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, info.Mode()&^0o222); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(path, info.Mode()) })
			if err := tryOpen(t, set); !errors.Is(err, store.ErrNotApplied) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %q", err, test.want)
			}
		})
	}
}

func init() { roles["mounts"] = mountsRole }
