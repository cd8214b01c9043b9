package postgresstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/core/store"
)

// good are the facts of a server without fault.
func good(change func(*facts)) facts {
	f := facts{
		versionNumber: 180006, version: "18.6", readOnly: "off", isolation: "read committed",
		synchronousCommit: "on", fsync: "on", fullPageWrites: "on", statementTimeout: "0", lockTimeout: "0",
		backend: 7, pid: 7, role: "app", database: "db", address: "127.0.0.1:5432",
	}
	change(&f)
	return f
}

func TestCheckServer(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*facts)
		want   string // of the error, empty if it will do
	}{
		"good":         {func(*facts) {}, ""},
		"14":           {func(f *facts) { f.versionNumber, f.version = 140000, "14.0" }, ""},
		"too old":      {func(f *facts) { f.versionNumber, f.version = 130022, "13.22" }, "PostgreSQL 13.22; it must be 14 or newer"},
		"standby":      {func(f *facts) { f.inRecovery = true }, "standby"},
		"read-only":    {func(f *facts) { f.readOnly = "on" }, `role "app" are read-only`},
		"serializable": {func(f *facts) { f.isolation = "serializable" }, ""},
	} {
		f := good(test.change)
		err := f.checkServer()
		if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v; want %q", name, err, test.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*facts)
		want   []string // a piece of each warning
	}{
		"good":                  {func(*facts) {}, nil},
		"fsync":                 {func(f *facts) { f.fsync = "off" }, []string{"set fsync = on"}},
		"torn pages":            {func(f *facts) { f.fullPageWrites = "off" }, []string{"set full_page_writes = on"}},
		"both":                  {func(f *facts) { f.fsync, f.fullPageWrites = "off", "off" }, []string{"fsync", "full_page_writes"}},
		"asynchronous standby":  {func(f *facts) { f.standbys = 1 }, []string{"set synchronous_standby_names"}},
		"synchronous standby":   {func(f *facts) { f.standbys, f.standbyNames = 1, "*" }, nil},
		"only local":            {func(f *facts) { f.standbys, f.standbyNames, f.synchronousCommit = 1, "*", "local" }, []string{"set synchronous_commit = on"}},
		"asynchronous commit":   {func(f *facts) { f.synchronousCommit = "off" }, nil}, // the functions set it
		"local without standby": {func(f *facts) { f.synchronousCommit = "local" }, nil},
	} {
		f := good(test.change)
		got := f.warnings()
		if len(got) != len(test.want) {
			t.Errorf("%s: warnings %q; want %q", name, got, test.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], test.want[i]) {
				t.Errorf("%s: warning %q; want %q in it", name, got[i], test.want[i])
			}
		}
	}
}

func TestDescribeSettings(t *testing.T) {
	f := good(func(f *facts) { f.synchronousCommit, f.pid, f.tls = "off", 8, true })
	d := f.describe(settings{schema: "s"})
	if got := setting(d, "synchronous_commit"); got != "off (on for the plugin's own transactions)" {
		t.Errorf("synchronous_commit: %q", got)
	}
	if got := setting(d, "connection"); got != "through a pooler, TLS" {
		t.Errorf("connection: %q", got)
	}
}
