package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConform: a good plugin passes what is asked of it, and its certificate is verified
// and laid beside another.
func TestConform(t *testing.T) {
	plugin, err := sqlitePlugin()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := "path=" + filepath.Join(dir, "jobs.db")
	code, out, errs := said(t, "conform", plugin, "-config", config, "-report", dir, "-seed", "7", "-run", "^(claim/one-winner|linear/shared)$")
	if code != exitOK || !strings.Contains(out, "PARTIAL: plugin sqlite") || !strings.Contains(errs, "linear/shared") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	certificate := filepath.Join(dir, "conformance.json")
	for _, name := range []string{"conformance.html", "junit.xml", "linear.shared.history.jsonl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if code, out, errs := said(t, "conform", "verify", certificate); code != exitOK || !strings.Contains(out, "legal") {
		t.Errorf("verify: exit code %d\n%s%s", code, out, errs)
	}
	if code, out, errs := said(t, "conform", "compare", certificate, certificate); code != exitOK || strings.Count(out, "| sqlite ") != 2 {
		t.Errorf("compare: exit code %d\n%s%s", code, out, errs)
	}

	// Somebody who edits the history is found out.
	history := filepath.Join(dir, "linear.shared.history.jsonl")
	b, err := os.ReadFile(history)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(b), `"verdict":"won","attempt":1,`, `"verdict":"won","attempt":2,`, 1)
	if forged == string(b) {
		t.Fatal("the history has no first attempt: what else can be forged?")
	}
	if err := os.WriteFile(history, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := said(t, "conform", "verify", certificate); code != exitFailed || !strings.Contains(errs, "linear/shared passed, and its history breaks the rules") {
		t.Errorf("verify of a forged history: exit code %d\n%.2000s\n%s", code, out, errs)
	}
}

// TestConformSelectsNothing: a slip in -run is no verdict. The plugin is named as in the
// module.
func TestConformSelectsNothing(t *testing.T) {
	config := "path=" + filepath.Join(t.TempDir(), "jobs.db")
	code, out, errs := said(t, "conform", "sqlite", "-config", config, "-run", "^clame/")
	if code != exitUsage || out != "" || !strings.Contains(errs, "finds no check") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// TestConformFindsFaults: a plugin whose processes know nothing of each other does not
// conform.
func TestConformFindsFaults(t *testing.T) {
	code, out, errs := said(t, "conform", "../../conformance/testdata/islands", "-variant", "good", "-run", "^claim/one-winner$")
	if code != exitFailed || !strings.Contains(out, "FAIL") || !strings.Contains(errs, "R-CLAIM-1") || !strings.Contains(errs, "again:  anarchon conform") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestConformBadInput(t *testing.T) {
	for want, args := range map[string][]string{
		"name one plugin":                      {"conform"},
		"missing closing":                      {"conform", "x", "-run", "("},
		"neither a promise":                    {"conform", "-explain", "R-NONE-1"},
		"no file":                              {"conform", "verify"},
		"name certificates (conformance.json)": {"conform", "compare"},
		`-config "x" is not key=value`:         {"conform", "x", "-config", "x"},
		"-config gives the option \"a\" twice": {"conform", "x", "-config", "a=1", "-config", "a=2"},
	} {
		if code, _, errs := said(t, args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
	for want, args := range map[string][]string{
		"no such file": {"conform", "verify", "none.json"},
		"tried":        {"conform", "./no/such/plugin"},
	} {
		if code, _, errs := said(t, args...); code != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
	if code, out, _ := said(t, "conform", "-explain", "claim/follows"); code != exitOK || !strings.Contains(out, "R-CLAIM-7") {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// TestBackendsPageIsCurrent: docs/backends.md and README.md show what the certificates
// say that are checked in.
func TestBackendsPageIsCurrent(t *testing.T) {
	certificates, err := filepath.Glob("../../docs/certificates/*.json")
	if err != nil || len(certificates) == 0 {
		t.Fatalf("no certificates: %v", err)
	}
	for file, args := range map[string][]string{"../../docs/backends.md": nil, "../../README.md": {"-summary"}} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := said(t, append(append([]string{"conform", "compare"}, args...), certificates...)...)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		for line := range strings.Lines(out) {
			if !strings.Contains(string(page), strings.TrimRight(line, "\n")) && !strings.HasPrefix(line, "| check |") && !strings.HasPrefix(line, "| `") {
				t.Errorf("%s lacks a line of the certificates (scripts/backends.sh makes it): %s", file, line)
			}
		}
	}
}
