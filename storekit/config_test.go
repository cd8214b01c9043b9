package storekit

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func ptr(n int64) *int64 { return &n }

var testSchema = []Option{
	{Name: "path", Type: TypeString, Required: true, Help: "where the file is"},
	{Name: "mode", Type: TypeString, Default: "fast", Enum: []string{"fast", "safe"}},
	{Name: "token", Type: TypeString, Secret: true, Enum: []string{"open-sesame"}},
	{Name: "pool", Type: TypeInt, Default: "4", Min: ptr(1), Max: ptr(64)},
	{Name: "sync", Type: TypeBool},
	{Name: "timeout", Type: TypeDuration, Default: "5s", Min: ptr(100)},
	{Name: "hosts", Type: TypeStrings, Default: "a, b"},
	{Name: "most", Type: TypeInt, Max: ptr(9)},
}

func TestParseConfig(t *testing.T) {
	defaults := map[string]any{
		"path": "x", "mode": "fast", "token": "", "pool": int64(4), "sync": false,
		"timeout": 5 * time.Second, "hosts": []string{"a", "b"}, "most": int64(0),
	}
	for _, c := range []struct {
		raw  string
		want map[string]any // what differs from the defaults
	}{
		{`{"path":"x"}`, nil},
		{`{"path":"x","mode":"safe","pool":64,"sync":true,"timeout":"1.5m","hosts":["c"]}`,
			map[string]any{"mode": "safe", "pool": int64(64), "sync": true, "timeout": 90 * time.Second, "hosts": []string{"c"}}},
		// As from a command line: everything a string.
		{`{"path":"x","pool":"7","sync":"true","timeout":"200ms","hosts":"c,, d "}`,
			map[string]any{"pool": int64(7), "sync": true, "timeout": 200 * time.Millisecond, "hosts": []string{"c", "d"}}},
		{`{"path":"x","hosts":[],"sync":false,"most":-3}`, map[string]any{"hosts": []string{}, "most": int64(-3)}},
		{` { "path" : "x" , "pool" : 2 } `, map[string]any{"pool": int64(2)}},
	} {
		cfg, err := ParseConfig(testSchema, json.RawMessage(c.raw))
		if err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		for name, byDefault := range defaults {
			want, ok := c.want[name]
			if !ok {
				want = byDefault
			}
			if got := cfg.values[name]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s is %#v; want %#v", c.raw, name, got, want)
			}
		}
	}
}

func TestParseConfigRefuses(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want []string
	}{
		{``, []string{`option "path" is required: where the file is`}},
		{`[]`, []string{"not a JSON object"}},
		{`{"path":`, []string{"not a JSON object"}},
		{`{"path":""}`, []string{`option "path" is ""; it must be not empty`}},
		{`{"path":7}`, []string{`option "path" is 7; it must be a string`}},
		{`{"path":null}`, []string{`option "path" is null; it must be a string`}},
		{`{"path":"x","mode":"fats"}`, []string{`option "mode" is "fats"; it must be one of ["fast" "safe"] (did you mean "fast"?)`}},
		{`{"path":"x","token":"secret-value"}`, []string{`option "token" is a secret value; it must be one of`}},
		{`{"path":"x","pool":0}`, []string{`option "pool" is 0; it must be 1 to 64`}},
		{`{"path":"x","pool":1.5}`, []string{`option "pool" is 1.5; it must be a whole number`}},
		{`{"path":"x","pool":1e3}`, []string{`it must be a whole number`}},
		{`{"path":"x","pool":99999999999999999999}`, []string{`it must be a whole number`}},
		{`{"path":"x","most":10}`, []string{`it must be at most 9`}},
		{`{"path":"x","sync":1}`, []string{`option "sync" is 1; it must be true or false`}},
		{`{"path":"x","sync":"yes"}`, []string{`option "sync" is "yes"; it must be true or false`}},
		{`{"path":"x","timeout":5}`, []string{`option "timeout" is 5; it must be a duration with its unit, as "5m"`}},
		{`{"path":"x","timeout":"5ms"}`, []string{`option "timeout" is "5ms"; it must be at least 100ms`}},
		{`{"path":"x","hosts":[1]}`, []string{`it must be a list of strings`}},
		{`{"path":"x","hosts":["a",null]}`, []string{`it must be a list of strings`}},
		{`{"path":"x","hosts":{}}`, []string{`it must be a list of strings`}},
		{`{"path":"x","tiemout":"5s"}`, []string{`unknown option "tiemout"; did you mean "timeout"?`}},
		{`{"path":"x","Pool":2}`, []string{`unknown option "Pool"; did you mean "pool"?`}},
		{`{"path":"x","nothing like it":2}`, []string{`unknown option "nothing like it"; known are ["hosts" "mode"`}},
		// All faults at once.
		{`{"pool":0,"sync":1,"zzz":1}`, []string{`"path" is required`, `"pool" is 0`, `"sync" is 1`, `unknown option "zzz"`}},
	} {
		_, err := ParseConfig(testSchema, json.RawMessage(c.raw))
		if err == nil {
			t.Errorf("%s was taken", c.raw)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error does not say %q:\n%v", c.raw, w, err)
			}
		}
		if strings.Contains(err.Error(), "secret-value") {
			t.Errorf("%s: the error shows a secret:\n%v", c.raw, err)
		}
	}
	_, err := ParseConfig(nil, json.RawMessage(`{"a":1}`))
	if err == nil || !strings.Contains(err.Error(), "no options") {
		t.Errorf("a plugin without options: %v", err)
	}
}

func TestCheckSchema(t *testing.T) {
	if err := checkSchema(testSchema); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		option Option
		want   string
	}{
		{Option{Type: TypeInt}, "no name"},
		{Option{Name: "a", Type: "float"}, `unknown type "float"`},
		{Option{Name: "a", Type: TypeInt, Default: "x"}, "whole number"},
		{Option{Name: "a", Type: TypeInt, Default: "5", Max: ptr(4)}, "at most 4"},
		{Option{Name: "a", Type: TypeInt, Default: "5", Required: true}, "one of both"},
	} {
		err := checkSchema([]Option{c.option})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %q", c.option, err, c.want)
		}
	}
	if err := checkSchema([]Option{{Name: "a", Type: TypeBool}, {Name: "a", Type: TypeBool}}); err == nil {
		t.Error("an option that is there twice was taken")
	}
}

func TestConfigGettersPanicOnAnAuthorsMistake(t *testing.T) {
	cfg, err := ParseConfig(testSchema, json.RawMessage(`{"path":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if cfg.String("path") != "x" || cfg.Int("pool") != 4 || cfg.Bool("sync") || cfg.Duration("timeout") != 5*time.Second || len(cfg.Strings("hosts")) != 2 {
		t.Errorf("%+v", cfg)
	}
	for _, f := range []func(){func() { cfg.Int("path") }, func() { cfg.String("missing") }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{`{"path":"x"}`, `{"pool":"7","hosts":[null]}`, `{"token":"hunter2-secret"}`, `null`, `{"path":null}`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		cfg, err := ParseConfig(testSchema, raw)
		if err != nil {
			return
		}
		if cfg.String("path") == "" {
			t.Error("a required option is empty")
		}
		if n := cfg.Int("pool"); n < 1 || n > 64 {
			t.Errorf("pool %d", n)
		}
		if d := cfg.Duration("timeout"); d < 100*time.Millisecond {
			t.Errorf("timeout %v", d)
		}
		if m := cfg.String("mode"); m != "fast" && m != "safe" {
			t.Errorf("mode %q", m)
		}
		cfg.Bool("sync")
		cfg.Strings("hosts")
	})
}
