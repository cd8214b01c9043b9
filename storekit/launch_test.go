package storekit

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// failing opens a plugin that must not come up, and checks what the error says.
func failing(t *testing.T, p Plugin, want ...string) error {
	t.Helper()
	c, err := Open(t.Context(), p)
	if err == nil {
		c.Close()
		t.Fatal("Open succeeded")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q:\n%v", w, err)
		}
	}
	return err
}

func TestNoPlugin(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"exits", "#!/bin/sh\nexit 0\n", []string{"ended before the handshake", "exit status 0", "is it an anarchon plugin"}},
		{"fails", "#!/bin/sh\necho no database >&2\nexit 7\n", []string{"exit status 7", "no database"}},
		{"noise", "#!/bin/sh\necho hello\nsleep 60\n", []string{`printed "hello" to stdout`, "storekit.Serve"}},
		{"bars", "#!/bin/sh\necho 'a|b|c|d|e'\nsleep 60\n", []string{`printed "a|b|c|d|e"`}},
		{"rpc", "#!/bin/sh\necho '1|1|unix|/tmp/x|netrpc|'\nsleep 60\n", []string{"netrpc"}},
		{"empty", "", []string{"no program for this system"}},
		{"no interpreter", "#!/no/such/interpreter\n", []string{"interpreter", "missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Plugin{Path: script(t, filepath.Join(dir, c.name), c.text), Logger: testLogger(t)}
			failing(t, p, append(c.want, "plugin "+c.name)...)
		})
	}
}

func TestBadHandshake(t *testing.T) {
	for as, want := range map[string][]string{
		"noise first":     {`printed "Welcome to my plugin!" to stdout`, "before it calls storekit.Serve"},
		"huge first line": {`printed "xxxx`, "before it calls storekit.Serve"},
		"exit":            {"exit status 4", "libfoo.so.3: not today"},
		"runtime panic":   {"exit status 2", "panic: boom at start"},
		"version 2":       {"serves version 2", "speaks version 1"},
		"other cookie":    {"ended before the handshake", "This binary is a plugin"},
		"tcp":             {`listens on "tcp"`, "Unix socket"},
		"no socket":       {"info", "/nonexistent/plugin.sock"},
	} {
		t.Run(as, func(t *testing.T) { failing(t, testPlugin(t, as, nil), want...) })
	}
}

func TestHangInTheHandshake(t *testing.T) {
	p := testPlugin(t, "hang", nil)
	p.StartTimeout = 2 * time.Second // until then a busy machine has started it, and it has said its words
	begin := time.Now()
	failing(t, p, "no handshake in time", "may take 2s", "printed nothing to stdout", "looking for my keys")
	if took := time.Since(begin); took < p.StartTimeout || took > p.StartTimeout+patience {
		t.Errorf("took %v", took)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the user went home")
	time.AfterFunc(200*time.Millisecond, func() { cancel(reason) })
	p.StartTimeout = time.Minute
	if _, err := Open(ctx, p); !errors.Is(err, reason) {
		t.Errorf("Open with a context that was cancelled: %v", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := Open(ctx, p); !errors.Is(err, reason) {
		t.Errorf("Open with a context that was over before: %v", err)
	}
}

func TestConfigureRefused(t *testing.T) {
	with := func(kv ...any) Plugin {
		config := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			config[kv[i].(string)] = kv[i+1]
		}
		return testPlugin(t, "plugin", config)
	}
	err := failing(t, with("passwort", "hunter2-secret", "poolSize", 11, "timeout", 5),
		`unknown option "passwort"; did you mean "password"?`, `option "poolSize" is 11; it must be 1 to 10`, `option "timeout" is 5; it must be a duration`)
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("%v; want invalid", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a value of an unknown option: %v", err)
	}
	err = failing(t, with("do", "newer format"), "format 7", "format 3", "plugin fake")
	if !errors.Is(err, store.ErrStoreFormat) {
		t.Errorf("%v; want the class store format", err)
	}
	err = failing(t, with("do", "panic in configure"), "no store today")
	if !errors.Is(err, store.ErrNotApplied) {
		t.Errorf("%v; want not applied", err)
	}
	p := with("do", "hang in configure")
	p.StartTimeout = 500 * time.Millisecond
	failing(t, p, "configure: no answer in time", "may take 500ms")
}

func TestInfoPanics(t *testing.T) {
	p := testPlugin(t, "plugin", nil)
	p.Env = append(p.Env, "STOREKIT_TEST_INFO_PANICS=1")
	failing(t, p, "info is broken")
}
