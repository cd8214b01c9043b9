package storekit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestSecretsStayInside(t *testing.T) {
	const secret = `hunter2"<&>ü`
	log := new(logBuffer)
	p := testPlugin(t, "plugin", map[string]any{"password": secret})
	p.Logger = log.logger()
	c := open(t, p)
	_, err := c.Claim(t.Context(), claim("error:no"))
	if err == nil || !strings.Contains(err.Error(), "the store said no and [secret]") {
		t.Errorf("claim: %v", err)
	}
	if !store.IsUnknown(err) {
		t.Errorf("%v; an error without a class is unknown", err)
	}
	c.Close()
	if !strings.Contains(log.String(), "password=[secret]") {
		t.Errorf("the log shows no trace of the scrubbed line:\n%s", log)
	}

	p = testPlugin(t, "plugin", map[string]any{"password": secret, "do": "refuse"})
	p.Logger = log.logger()
	_, refused := Open(t.Context(), p)
	if refused == nil || !strings.Contains(refused.Error(), "cannot log in with") {
		t.Errorf("Open: %v", refused)
	}
	for _, text := range []string{err.Error(), refused.Error(), log.String()} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the secret is in %s", text)
		}
	}
	if !errors.Is(refused, store.ErrNotApplied) {
		t.Errorf("%v; want not applied", refused)
	}
}

func TestScrubber(t *testing.T) {
	schema := []Option{
		{Name: "dsn", Type: TypeString, Secret: true},
		{Name: "keys", Type: TypeStrings, Secret: true},
		{Name: "user", Type: TypeString},
		{Name: "pin", Type: TypeInt, Secret: true},
	}
	for _, c := range []struct{ config, text, want string }{
		{`{"dsn":"postgres://bob:pa%40ss/w@db/x"}`, "dial postgres://bob:pa%40ss/w@db/x: no", "dial [secret]: no"},
		{`{"dsn":"a\"b<c"}`, `said "a\"b<c", {"a":"a\"b\u003cc"}`, `said "[secret]", {"a":"[secret]"}`},
		{`{"dsn":"postgres://bob:pa%40ssw@db/x"}`, `password "pa@ssw" is wrong`, `password "[secret]" is wrong`},
		{`{"dsn":"host=db password='it is long' user=bob"}`, "tried it is long as bob", "tried [secret] as bob"},
		{`{"dsn":"host=db password=short1 user=bob"}`, "short1, short2", "[secret], short2"},
		{`{"keys":["alpha","beta"]}`, "alpha beta gamma", "[secret] [secret] gamma"},
		{`{"keys":"alpha, beta"}`, "alpha beta gamma", "[secret] [secret] gamma"},
		{`{"user":"visible"}`, "visible", "visible"},
		{`{"dsn":"abc"}`, "abc", "abc"}, // too short to be told from other text
		{`{"dsn":""}`, "nothing", "nothing"},
		{`{"dsn":7777}`, "7777", "[secret]"}, // refused elsewhere, and still not shown
		{`not json`, "x", "x"},
	} {
		if got := newScrubber(schema, json.RawMessage(c.config)).scrub(c.text); got != c.want {
			t.Errorf("config %s: %q became %q; want %q", c.config, c.text, got, c.want)
		}
	}
}

// A line that is too long is cut, perhaps in the middle of a secret: its beginning
// is one too.
func TestSecretAtTheCut(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	s := scrubberOf([]string{secret})
	for n := range secret {
		got := s.scrubCut("the end: " + secret[:n])
		if hidden := got == "the end: [secret]"; hidden != (n >= minSecret) {
			t.Errorf("%d characters of it: %q", n, got)
		}
	}
	out := new(logBuffer)
	h := &hostLog{queue: newLogQueue(out.logger(), func(int) {})}
	h.secrets.Store(s)
	for begin := range 30 {
		line := strings.Repeat("x", maxLine-begin) + secret
		readLines(strings.NewReader(line), h.stderr)
		readLines(strings.NewReader(line), h.output("stdout"))
	}
	h.queue.box.flush(time.Now().Add(time.Minute))
	if strings.Contains(out.String(), secret[:minSecret+1]) || strings.Contains(h.lastWords(), secret[:minSecret+1]) {
		t.Error("a part of the secret came through")
	}
}
