package conformance

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/subject"
)

// typed runs this test binary with flags, as go test does, and returns what it
// printed and its exit status.
func typed(t *testing.T, args ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func lacks(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("the output lacks %q:\n%s", p, out)
		}
	}
}

// Errors call a plugin by the name that it gives itself, whatever its file is called.
func TestPluginsOwnName(t *testing.T) {
	kitTest(t)
	t.Parallel()
	plugin, err := islands()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	other := filepath.Join(dir, "anarchon-plugin-other")
	if err := os.Symlink(filepath.Join(filepath.Dir(plugin), subject.SettingsFile), filepath.Join(dir, subject.SettingsFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plugin, other); err != nil {
		t.Fatal(err)
	}
	out, _ := typed(t, "-plugin", other, "-variant", "panic", "-test.run", "TestConformance/claim/running$")
	lacks(t, out, "plugin islands: claim: ")
	if strings.Contains(out, "plugin other: ") {
		t.Errorf("it is called by its file's name:\n%s", out)
	}
}

func TestDoor(t *testing.T) {
	kitTest(t)
	t.Parallel()
	plugin, err := islands()
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report")
	for _, tc := range []struct {
		name string
		args []string
		exit int
		says []string
	}{
		{
			"what one process can keep passes, and is no verdict",
			[]string{"-plugin", plugin, "-variant", "good", "-test.run", "TestConformance/describe/complete$", "-seed", "5", "-report", report}, 0,
			[]string{"1/", "pass     describe/complete", "PARTIAL: plugin islands 0.0.1 on the model, in memory, lease, variant good, seed 5: 1 of ", "no verdict"},
		}, {
			"processes without a common store are caught",
			[]string{"-plugin", plugin, "-variant", "good", "-test.run", "TestConformance/claim/one-winner$", "-seed", "5"}, 1,
			[]string{
				"fail     claim/one-winner", "rule:   R-CLAIM-1: Of all claims", "claims at once were granted; want exactly one", "usual causes: reading and writing in two steps",
				"again:  go test ./conformance -plugin=" + plugin + " -run 'TestConformance/claim/one-winner$' -seed 5 -variant good",
				"FAIL: plugin islands", "claim/one-winner: fail",
				"conformance: FAILED " + filepath.Base(plugin) + "/good: claim/one-winner: fail: ",
			},
		}, {
			"a plugin that hangs is an error, in time",
			[]string{"-plugin", plugin, "-variant", "hang", "-test.run", "TestConformance/claim/running$"}, 1,
			[]string{"error    claim/running", "was not answered in 10", "FAIL: plugin islands", "/hang: claim/running: error: "},
		}, {
			"a plugin that panics fails",
			[]string{"-plugin", plugin, "-variant", "panic", "-test.run", "TestConformance/claim/running$"}, 1,
			[]string{"fail     claim/running", "in a bad mood", "the last warnings of plugins and host"},
		}, {
			"a plugin that dies fails",
			[]string{"-plugin", plugin, "-variant", "exit", "-test.run", "TestConformance/claim/running$"}, 1,
			[]string{"fail     claim/running", "an error where an answer is due"},
		}, {
			"a plugin of another kind than its settings say fails",
			[]string{"-plugin", plugin, "-variant", "wrong-kind", "-test.run", "TestConformance/describe/tokens$"}, 1,
			[]string{"of kind claim-only; it declares lease"},
		}, {
			"an option given by hand replaces the variant's",
			[]string{"-plugin", plugin, "-variant", "panic", "-config", "mood=good", "-test.run", "TestConformance/claim/superseded$"}, 1,
			[]string{"fail     claim/superseded", "-config mood=…"}, // of the islands, not of the mood
		}, {
			"an unknown option is refused by the plugin's schema",
			[]string{"-plugin", plugin, "-variant", "good", "-config", "moood=good", "-test.run", "TestConformance"}, 1,
			[]string{`unknown option "moood"`, "mood"},
		}, {
			"an unknown variant is refused",
			[]string{"-plugin", plugin, "-variant", "none", "-test.run", "TestConformance"}, 1,
			[]string{`there is no variant "none"; known are`, "/none: no check: error: "},
		}, {
			"a plugin that is not there: every place tried",
			[]string{"-plugin", "no/such", "-test.run", "TestConformance"}, 1,
			[]string{"plugin no/such not found; tried", "conformance/no/such", "give a directory"},
		}, {
			"too little time is said before anything runs",
			[]string{"-plugin", plugin, "-variant", "good", "-test.run", "TestConformance", "-test.timeout", "1m"}, 1,
			[]string{"error: go test ends this run in", "pass -timeout 8m0s"},
		}, {
			"no plugin: the reason, and what to do",
			[]string{"-test.run", "TestConformance$", "-test.v"}, 0,
			[]string{"SKIP: TestConformance", "-plugin=DIR_OR_BINARY"},
		}, {
			"flags that would do nothing",
			[]string{"-variant", "x"}, 2, []string{"need -plugin=DIR_OR_BINARY"},
		}, {
			"arguments that are no flags",
			[]string{"plugin=x"}, 2, []string{`unexpected arguments ["plugin=x"]`},
		}, {
			"an option without a value",
			[]string{"-config", "x"}, 2, []string{`"x" is not of the form key=value`},
		}, {
			"an option given twice",
			[]string{"-config", "x=1", "-config", "x=2"}, 2, []string{`option "x" is given twice`},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out, exit := typed(t, tc.args...)
			if exit != tc.exit {
				t.Errorf("exit status %d; want %d", exit, tc.exit)
			}
			lacks(t, out, tc.says...)
		})
	}
	t.Cleanup(func() {
		for _, name := range []string{"conformance.json", "junit.xml"} {
			if b, err := os.ReadFile(filepath.Join(report, name)); err != nil || !bytes.Contains(b, []byte("describe/complete")) {
				t.Errorf("the report's %s: %d bytes, error %v", name, len(b), err)
			}
		}
	})
}
