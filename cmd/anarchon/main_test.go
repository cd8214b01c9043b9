package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLongFlagsMayHaveOneDash(t *testing.T) {
	got := longFlags([]string{"demo", "-for", "30s", "--plain", "-n", "5", "-config", "path=-x", "--", "-for"})
	want := []string{"demo", "--for", "30s", "--plain", "-n", "5", "--config", "path=-x", "--", "-for"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"--help", exitOK},
		{"demo -for 1s", exitUsage},
		{"demo -nonsense", exitUsage},
		{"nonsense", exitUsage},
		{"plugin nfo", exitUsage},
		{"store stup", exitUsage},
		{"help nosuch", exitUsage},
		{"help plugin nfo", exitUsage},
		{"help plugin info", exitOK},
		{"completion basch", exitUsage},
		{"completion bash", exitOK},
		{"plugin", exitOK},
		{"--version", exitOK},
		{"next @daily -n=2", exitOK},
		{"runs -n 0", exitUsage},
		{"runs -config nonsense", exitUsage},
		{"demo instance -job tick,evry=2s", exitUsage},
		{"runs -plugin ./no/such/plugin", exitFailed},
	} {
		if got := run(t.Context(), strings.Fields(c.args)); got != c.want {
			t.Errorf("anarchon %s: exit code %d, want %d", c.args, got, c.want)
		}
	}
}

// TestDemo runs the demo as a newcomer does and looks for what it promises to
// show.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: without -short only")
	}
	binary := filepath.Join(t.TempDir(), "anarchon")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "demo", "-for", "14s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"kill -9", "TAKES OVER", "takeover", "RUNS", "waits as backup", "skips",
		"stops all instances gracefully", "newest first", "a backup took the run over",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demo's output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// TestDemoStopsOnInterrupt: Ctrl-C ends the demo cleanly and leaves no instance.
func TestDemoStopsOnInterrupt(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "anarchon")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "demo", "-for", "60s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var seen strings.Builder
	buf := make([]byte, 4096)
	interrupted := false
	for {
		n, err := out.Read(buf)
		seen.Write(buf[:n])
		if !interrupted && strings.Contains(seen.String(), "RUNS") && strings.Count(seen.String(), "is up and waits") == 3 {
			interrupted = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &seen)
	}
	if got := strings.Count(seen.String(), "has stopped"); got != 3 {
		t.Errorf("%d instances said that they stopped, want 3:\n%s", got, &seen)
	}
}
