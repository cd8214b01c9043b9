package storekit

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// However a host ends, nothing of it is left: no process, no socket, no directory.
func TestPluginDiesWithItsHost(t *testing.T) {
	for _, ends := range []string{"kill", "panic", "exit", "return", "abort"} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			host := exec.Command(selfPath(t))
			host.Env = append(os.Environ(), envActAs+"=host, ends by "+ends)
			stdin, err := host.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			defer host.Wait()
			defer host.Process.Kill()
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pidText, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
			pid, err := strconv.Atoi(pidText)
			if err != nil || syscall.Kill(pid, 0) != nil {
				t.Fatalf("no plugin runs: %q", line)
			}
			stdin.Close()
			host.Wait()
			ended := time.Now()
			awaitGone(t, pid)
			// It takes milliseconds; the rest is for a machine that is busy otherwise.
			if took := time.Since(ended); took > 10*time.Second {
				t.Errorf("the plugin was there for %v after its host; 10 s are allowed", took)
			}
			// The plugin removes it before it exits.
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket's directory %s is still there: %v", dir, err)
			}
		})
	}
}

func TestSignalsDoNotReachThePlugin(t *testing.T) {
	c := open(t, testPlugin(t, "plugin", nil))
	pid := c.PID()
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("process group %d, %v; want its own, %d", group, err, pid)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Claim(t.Context(), claim("after "+sig.String())); err != nil {
			t.Errorf("claim after %v: %v", sig, err)
		}
	}
	if c.PID() != pid {
		t.Error("the plugin was started again")
	}
}

func TestGrandchildWithThePipesDoesNotKeepThePluginAlive(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		c := open(t, testPlugin(t, "plugin", nil))
		job := "child"
		if leaves { // the group: it can't be killed with it
			job = "child in its own session"
		}
		if _, err := c.Claim(t.Context(), claim(job)); err != nil {
			t.Fatal(err)
		}
		pid, gen := c.PID(), c.current()
		child := childOf(t, pid)
		defer syscall.Kill(child, syscall.SIGKILL)
		syscall.Kill(pid, syscall.SIGKILL)
		begin := time.Now()
		<-gen.proc.done
		if took := time.Since(begin); took > 10*time.Second { // the grandchild lives for 60 s
			t.Errorf("%s: the death was seen after %v", job, took)
		}
		if _, err := c.Claim(t.Context(), claim("a")); err != nil && !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: %v", job, err)
		}
		if !leaves {
			awaitGone(t, child)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: Close: %v", job, err)
		}
	}
}

// childOf returns the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	paths, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if len(paths) == 0 {
		t.Skip("no /proc with children")
	}
	var children []string
	for _, p := range paths {
		b, _ := os.ReadFile(p)
		children = append(children, strings.Fields(string(b))...)
	}
	if len(children) != 1 {
		t.Fatalf("children: %q", children)
	}
	child, _ := strconv.Atoi(children[0])
	return child
}

func TestEnvironment(t *testing.T) {
	t.Setenv("DATABASE_PASSWORD", "hunter2-of-the-host")
	t.Setenv("HANDED_ON", "yes")
	t.Setenv("LC_TIME", "C")
	p := testPlugin(t, "plugin", map[string]any{"password": "hunter2-of-the-plugin"})
	p.Env = append(p.Env, "EXTRA=more", "HANDED_ON", "NOT_SET")
	c := open(t, p)
	b, err := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/environ")
	if err != nil {
		t.Skip(err)
	}
	env := strings.Split(string(b), "\x00")
	for _, want := range []string{"EXTRA=more", "HANDED_ON=yes", "LC_TIME=C", "ANARCHON_LIFELINE_FD=3", "ANARCHON_LOG_LEVEL=debug"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in %q", want, env)
		}
	}
	args, _ := os.ReadFile("/proc/" + strconv.Itoa(c.PID()) + "/cmdline")
	for _, text := range []string{string(b), string(args)} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "NOT_SET") {
			t.Errorf("%q holds what it must not", text)
		}
	}
}
