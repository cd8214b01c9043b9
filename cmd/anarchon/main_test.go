package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/internal/hostprog"
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
		{"demo -for 9.9s", exitUsage},
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

// TestVersionIsAFlag: who types the command that other programs have is told.
func TestVersionIsAFlag(t *testing.T) {
	if code, _, errs := said(t, "version"); code != exitUsage || !strings.Contains(errs, "anarchon --version") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestDemo plays the demo until it has shown what it promises to show; on a machine
// that does nothing else that takes 10 s.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: without -short only")
	}
	shown := []string{
		"kill -9", "TAKES OVER", "takeover", "RUNS", "waits as backup", "skips", "after the kill; the lease is",
	}
	out := playDemo(t, func(seen string) bool {
		return !slices.ContainsFunc(shown, func(want string) bool { return !strings.Contains(seen, want) })
	})
	for _, want := range append(shown, "stops all instances gracefully", "newest first", "a backup took the run over") {
		if !strings.Contains(out, want) {
			t.Errorf("the demo's output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// The demo shows a takeover whenever it is started: the victim's job is not due again
// before its run is taken over.
func TestDemoPlot(t *testing.T) {
	minute := time.Date(2026, 1, 2, 15, 4, 0, 0, time.UTC)
	for second := range 60 {
		now := minute.Add(time.Duration(second)*time.Second + 400*time.Millisecond)
		jobs := plot(now)
		i := slices.IndexFunc(jobs, func(j hostprog.Job) bool { return j.Name == victimJob })
		first := time.UnixMilli(jobs[i].First)
		if until := first.Sub(now); until < time.Second || until > demoFirst {
			t.Errorf("at second %d the first slot is %v away", second, until)
		}
		if left := jobs[i].Every - killAfter - demoLease; left < 30*time.Second {
			t.Errorf("the next slot comes %v after the takeover", left)
		}
	}
	if shown := demoFirst + killAfter + demoLease + 2*demoHeartbeat; demoLeast < shown {
		t.Errorf("a demo of %v is accepted, and a takeover takes until %v", demoLeast, shown)
	}
	if i := slices.IndexFunc(demoJobs, func(j hostprog.Job) bool { return j.First != 0 }); i >= 0 {
		t.Errorf("a plot has changed the jobs of all: %v", demoJobs[i])
	}
}

// TestDemoStopsOnInterrupt: Ctrl-C ends the demo cleanly and leaves no instance.
func TestDemoStopsOnInterrupt(t *testing.T) {
	out := playDemo(t, func(seen string) bool {
		return strings.Contains(seen, "RUNS") && strings.Count(seen, "is up and waits") == 3
	})
	if got := strings.Count(out, "has stopped"); got != 3 {
		t.Errorf("%d instances said that they stopped, want 3:\n%s", got, out)
	}
}

// playDemo runs the demo as a newcomer does, interrupts it as soon as enough was seen,
// and returns what it wrote.
func playDemo(t *testing.T, enough func(seen string) bool) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "anarchon")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(binary, "demo", "-for", "90s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	var seen strings.Builder
	buf := make([]byte, 4096)
	for interrupted := false; ; {
		n, err := out.Read(buf)
		seen.Write(buf[:n])
		if !interrupted && enough(seen.String()) {
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
		t.Fatalf("%v\n%s%s", err, &seen, &stderr)
	}
	return seen.String()
}
