package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

var builtPlugin string // what sqlitePlugin built, if it did

// sqlitePlugin is the built plugin, once for all tests of this package.
var sqlitePlugin = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "anarchon-cmd-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "anarchon-plugin-sqlite")
	if out, err := exec.Command("go", "build", "-o", path, "../../plugins/sqlite").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	builtPlugin = path
	return path, nil
})

// filled is a database in which the job "n" has ran twice, once with a nasty error,
// and once more without an end; its lease is as long as said.
func filled(t *testing.T, lease time.Duration) (plugin, path string) {
	t.Helper()
	plugin, err := sqlitePlugin()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "jobs.db")
	c, err := storekit.Open(t.Context(), storekit.Plugin{Path: plugin, Config: map[string]any{"path": path}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first := time.Now().UnixMilli() - 5000
	for i := range int64(3) {
		slot := first + i*1000
		won, err := c.Claim(t.Context(), store.ClaimRequest{
			Job: "n", Slot: slot, ID: store.NewClaimID(), Instance: "host\x1b[31m", Reason: store.ReasonScheduled, Lease: lease,
			MaxEarly: time.Minute, MaxLate: time.Minute, Overlap: store.OverlapAllow, MaxAttempts: 3, HistorySize: 100,
		})
		if err != nil || won.Verdict != store.VerdictWon {
			t.Fatal(won, err)
		}
		if i == 2 {
			break
		}
		if _, err := c.Finish(t.Context(), store.FinishRequest{Job: "n", Slot: slot, Token: won.Token, Outcome: store.OutcomeFailed, Error: "first line\nsecond"}); err != nil {
			t.Fatal(err)
		}
	}
	return plugin, path
}

// said runs a command as main does, and returns its exit code and both outputs.
func said(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return saidUntil(t.Context(), t, args...)
}

func saidUntil(ctx context.Context, t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = runTo(ctx, args, &o, &e)
	return code, o.String(), e.String()
}

func TestRuns(t *testing.T) {
	plugin, path := filled(t, time.Minute)
	code, out, _ := said(t, "runs", "-plugin", plugin, "-config", "path="+path, "-tz", "UTC", "n", "none")
	if code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"Unfinished runs (times in UTC):", `"host\x1b[31m"`, "n, newest first (times in UTC):", `"first line\nsecond"`, "running", "failed",
		"none: no run of it is known in this store and namespace; is the name right?",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("an escape sequence came through")
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// TestRunsOfNothing: where nothing runs and no job is named, the next step is told, but
// not to a program.
func TestRunsOfNothing(t *testing.T) {
	plugin, err := sqlitePlugin()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"runs", "-plugin", plugin, "-config", "path=" + filepath.Join(t.TempDir(), "new.db"), "-config", "create=true"}
	const hint = "Name jobs to see their history: anarchon runs … JOB"
	for _, c := range []struct {
		more []string
		want bool
	}{{nil, true}, {[]string{"n"}, false}, {[]string{"-json"}, false}} {
		code, out, errs := said(t, append(slices.Clone(args), c.more...)...)
		if code != exitOK || strings.Contains(out, hint) != c.want {
			t.Errorf("%q: exit code %d, %s%s", c.more, code, out, errs)
		}
	}
}

// TestRunsJSON: each line is an object; paging goes on until the number is reached.
func TestRunsJSON(t *testing.T) {
	plugin, path := filled(t, time.Minute)
	code, out, _ := said(t, "runs", "-json", "-n2", "-plugin", plugin, "-config", "path="+path, "n")
	var kinds []string
	for line := range strings.Lines(out) {
		var o map[string]map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil || len(o) != 1 {
			t.Fatalf("%q: %v", line, err)
		}
		for kind, fields := range o {
			kinds = append(kinds, kind)
			if fields["job"] != "n" {
				t.Errorf("%q has the job %v", line, fields["job"])
			}
		}
	}
	if code != exitOK || strings.Join(kinds, " ") != "unfinished attempt attempt" {
		t.Errorf("exit code %d, lines %q", code, kinds)
	}
}

// TestRunsFollow: what is there is told oldest first; Ctrl-C ends it well.
func TestRunsFollow(t *testing.T) {
	plugin, path := filled(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out lineWriter
	out.each = func(line string, n int) {
		if n == 3 {
			cancel()
		}
	}
	var errs bytes.Buffer
	if code := runTo(ctx, []string{"runs", "-follow", "-every", "100ms", "-plugin", plugin, "-config", "path=" + path}, &out, &errs); code != exitOK {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if len(out.lines) != 3 || !strings.Contains(out.lines[0], "failed after") || !strings.Contains(out.lines[2], "running") {
		t.Errorf("followed %q", out.lines)
	}
}

// lineWriter keeps lines and tells of each.
type lineWriter struct {
	lines []string
	each  func(line string, n int)
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.lines = append(w.lines, string(b))
	w.each(string(b), len(w.lines))
	return len(b), nil
}

// TestLookingMakesNothing: a slip in a path makes no database, and whoever meant no slip
// is told that the command makes none, or how it does.
func TestLookingMakesNothing(t *testing.T) {
	plugin, err := sqlitePlugin()
	if err != nil {
		t.Fatal(err)
	}
	for command, remedy := range map[string]string{
		"runs -plugin": onlyLooks, "doctor -plugin": onlyLooks, "plugin info": onlyLooks, "certify -plugin": doesNotCreate,
	} {
		path := filepath.Join(t.TempDir(), "slip.db")
		args := append(strings.Fields(command), plugin, "-config", "path="+path)
		code, _, errs := said(t, args...)
		if code != exitFailed || !strings.Contains(errs, "there is no such file") || !strings.HasSuffix(errs, "\n"+remedy+"\n") {
			t.Errorf("%s: exit code %d, %s", command, code, errs)
		}
		if strings.Contains(errs, "all that is written") {
			t.Errorf("%s says where it writes, and writes nothing: %s", command, errs)
		}
		if code, _, errs = said(t, append(args, "-config", "create=false")...); code != exitFailed || strings.Contains(errs, remedy) {
			t.Errorf("%s, create=false by the user: exit code %d, %s", command, code, errs)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s made the file: %v", command, err)
		}
	}
}

// TestLackingOption: a required option that is not given is asked for as one types it.
func TestLackingOption(t *testing.T) {
	plugin, err := sqlitePlugin()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"runs -plugin", "doctor -plugin", "certify -plugin", "plugin info -config busyTimeout=1s"} {
		code, _, errs := said(t, append(strings.Fields(command), plugin)...)
		if code != exitFailed || !strings.Contains(errs, `option "path" is required`) || !strings.HasSuffix(errs, "\ngive -config path=FILE\n") {
			t.Errorf("%s: exit code %d, %s", command, code, errs)
		}
	}
}

func TestDoctor(t *testing.T) {
	plugin, path := filled(t, time.Millisecond)
	jobs := filepath.Join(t.TempDir(), "jobs.yaml")
	write := func(text string) {
		if err := os.WriteFile(jobs, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"doctor", "-plugin", plugin, "-config", "path=" + path, "-jobs", jobs}

	write("jobs:\n- {name: good, schedule: every 5m}\n- {name: bad, schedule: every 1s, jitter: 900ms, heartbeat: 20s}\n")
	code, out, errs := said(t, args...)
	for _, want := range []string{
		"SQLite", "for ever", "store's clock", "waits for a takeover", "good", "ok", "REFUSED",
		"jitter is 900ms, half the smallest gap is 500ms", "heartbeat is 20s, half the lease is 15s",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if code != exitFailed || !strings.Contains(errs, "1 of 2 jobs can't run on this store: bad") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}

	write("jobs:\n- {name: good, schedule: every 5m}\n")
	if code, out, errs := said(t, append(args, "-json")...); code != exitOK || !json.Valid([]byte(out)) {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	write("jobs:\n- {name: good, shedule: every 5m}\n")
	if code, _, errs := said(t, args...); code != exitUsage || !strings.Contains(errs, `did you mean "schedule"?`) {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestNext(t *testing.T) {
	const spring = `30 3 * * * Europe/Athens; smallest gap 24h0m0s; after Sat 2027-03-27 02:00:00 EET
  slot                          in UTC                after the one before
  Sat 2027-03-27 03:30:00 EET   2027-03-27 01:30:00Z  
  2027-03-28: the clock goes forward: 03:00:00 EET becomes 04:00:00 EEST, and the times in between don't exist
  Sun 2027-03-28 04:00:00 EEST  2027-03-28 01:00:00Z  23h30m0s
`
	code, out, errs := said(t, "next", "30 3 * * *", "-tz", "Europe/Athens", "-from", "2027-03-27T00:00:00Z", "-n2")
	if code != exitOK || out != spring {
		t.Errorf("exit code %d, %s, got\n%s\nwant\n%s", code, errs, out, spring)
	}
	code, out, _ = said(t, "next", "every 90s", "-from", "2027-03-27T00:00:01Z", "-n", "2", "-json")
	var slots []time.Time
	if err := json.Unmarshal([]byte(out), &slots); code != exitOK || err != nil || len(slots) != 2 || slots[1].Sub(slots[0]) != 90*time.Second {
		t.Errorf("exit code %d, %v, %s", code, err, out)
	}
	for _, bad := range [][]string{
		{"next"}, {"next", "30", "2", "*"}, {"next", "61 * * * *"}, {"next", "0 2 * * *", "-tz", "Mars"}, {"next", "0 2 * * *", "-tz", "Local"},
		{"next", "0 2 * * *", "-n0"}, {"next", "0 2 * * *", "-from", "yesterday"}, {"next", "0 2 30 2 *"},
	} {
		if code, _, errs := said(t, bad...); code != exitUsage || errs == "" {
			t.Errorf("%q: exit code %d, %q", bad, code, errs)
		}
	}
}

func TestCertify(t *testing.T) {
	if testing.Short() {
		t.Skip("waits 5 s for a store to forget")
	}
	plugin, err := sqlitePlugin()
	if err != nil {
		t.Fatal(err)
	}
	jobs := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(jobs, []byte("jobs:\n- {name: good, schedule: every 5m}\n- {name: bad, schedule: every 2s, jitter: 1s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := said(t, "certify", "-plugin", plugin, "-config", "create=true", "-config", "path="+filepath.Join(t.TempDir(), "new.db"), "-jobs", jobs)
	for _, want := range []string{"SQLite", "by age    for ever  5", "by count  any       201 runs", "safe", "REFUSED", "jitter is 1s, half the smallest gap is 1s"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if code != exitFailed || !strings.Contains(errs, "not certified: 1 of 2 jobs") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
	if code, _, errs := said(t, "certify", "-plugin", plugin, "-scaled", "1s"); code != exitUsage || !strings.Contains(errs, "at least 2s") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
