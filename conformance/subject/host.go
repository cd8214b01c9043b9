package subject

import (
	"bufio"
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// hostVariable makes a program that has this package a host for one plugin: to be
// killed, a host must be a process of its own, and the program that runs the suite
// is the only one that is surely there.
const hostVariable = "ANARCHON_CONFORMANCE_HOST"

func init() {
	if os.Getenv(hostVariable) == "1" {
		os.Exit(hostMain(os.Stdin, os.Stdout))
	}
}

// hostTask is what a host is told on its standard input.
type hostTask struct {
	Path   string
	Config map[string]any
	Claim  store.ClaimRequest
}

// hostWord is what it says when it has claimed. It travels as gob: in JSON a status
// or a verdict that is not set has no spelling.
type hostWord struct {
	Answer store.ClaimAnswer
	PID    int // of the plugin
	Error  string
}

// hostMain opens the plugin, claims, says so, and waits for its input to end.
func hostMain(in io.Reader, out io.Writer) int {
	var task hostTask
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &task)
	}
	word, c := hostWord{}, (*storekit.Client)(nil)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err == nil {
		c, err = storekit.Open(ctx, storekit.Plugin{Path: task.Path, Config: task.Config})
	}
	if err == nil {
		defer c.Close()
		word.PID = c.PID()
		word.Answer, err = c.Claim(ctx, task.Claim)
	}
	if err != nil {
		word.Error = err.Error()
	}
	if err := gob.NewEncoder(out).Encode(word); err != nil || word.Error != "" {
		return 1
	}
	_, _ = io.Copy(io.Discard, lines)
	return 0
}

// StartHost starts a process that opens the plugin and claims.
func (p *Plugin) StartHost(ctx context.Context, namespace string, req store.ClaimRequest) (kit.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	task, err := json.Marshal(hostTask{p.binary, p.Launch(namespace, nil).Config, req})
	if err != nil {
		return nil, err
	}
	h := &hostProcess{cmd: exec.CommandContext(ctx, self)}
	if h.plugin, err = filepath.EvalSymlinks(p.binary); err != nil {
		return nil, err
	}
	h.cmd.Env = append(os.Environ(), hostVariable+"=1")
	h.cmd.Stderr = &h.words
	if h.input, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = h.input.Write(append(task, '\n'))
	if err == nil {
		err = gob.NewDecoder(out).Decode(&h.word)
	}
	if err == nil && h.word.Error != "" {
		err = errors.New(h.word.Error)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the host: %w", err), h.Close(), errors.New(strings.TrimSpace(h.words.String())))
	}
	return h, nil
}

type hostProcess struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	words bytes.Buffer
	word  hostWord

	plugin string // its binary, with all links followed
}

func (h *hostProcess) Claimed() store.ClaimAnswer { return h.word.Answer }

// Kill ends the host as kill -9 does, and waits until it has ended.
func (h *hostProcess) Kill() error {
	if err := h.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = h.cmd.Wait()
	return nil
}

// PluginLives reports whether the plugin's process is there and no zombie.
func (h *hostProcess) PluginLives() bool { return alive(h.word.PID) }

func alive(pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // no such file system
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// Close ends the host and waits. Its plugin ends with it, or is an orphan, and
// killed: a suite leaves nothing behind.
func (h *hostProcess) Close() error {
	defer h.killOrphan()
	if h.cmd.ProcessState != nil {
		return nil // killed before
	}
	_ = h.input.Close()
	timer := time.AfterFunc(15*time.Second, func() { _ = h.cmd.Process.Kill() })
	defer timer.Stop()
	return h.cmd.Wait()
}

// killOrphan kills the plugin if it still runs. Where the system does not tell what a
// process runs, none is killed: its number may be another's by now.
func (h *hostProcess) killOrphan() {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.word.PID))
	if err != nil || exe != h.plugin || h.word.PID <= 0 {
		return
	}
	_ = syscall.Kill(h.word.PID, syscall.SIGKILL)
}
