package subject

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/core/store"
)

func TestParseSettings(t *testing.T) {
	s, err := ParseSettings([]byte(`
# a comment
variants:
  default:
    kind: lease
    config:
      path: ${tmp}/a/${tmp}
      size: 3
      fast: true
      hosts: ["${tmp}x", b]
  bare:
`))
	if err != nil {
		t.Fatal(err)
	}
	name, v, err := s.Pick("")
	if err != nil || name != "default" || v.Kind != store.KindLease {
		t.Errorf("%s, %+v, %v", name, v, err)
	}
	want := map[string]any{"path": "/t/a//t", "size": 3, "fast": true, "hosts": []any{"/tx", "b"}}
	if got := expandAll(v.Config, map[string]string{tmpName: "/t"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v; want %v", got, want)
	}
	if name, v, err = s.Pick("bare"); err != nil || name != "bare" || v.Kind != 0 || len(v.Config) != 0 {
		t.Errorf("%s, %+v, %v", name, v, err)
	}
	if _, _, err := s.Pick("other"); err == nil || !strings.Contains(err.Error(), `"other"; known are ["bare" "default"]`) {
		t.Errorf("error %v", err)
	}
}

func TestSettingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"variants:\n  default:\n---\nvariants:\n": "a second document begins",
		"":                                       "the file is empty",
		"variants:":                              "there is no variant",
		"- a":                                    "line 1: there must be keys",
		"varaints: {a: {}}":                      `line 1: unknown key "varaints"; did you mean "variants"?`,
		"variants: {a: {confg: {}}}":             `unknown key "confg"; did you mean "config"?`,
		"variants:\n  a: {kind: leas}":           `line 2: store: unknown kind "leas"; known are ["lease" "claim-only"]`,
		"variants: {a: {}, a: {}}":               `"a"`,
		"variants: {a: {config: {p: '${tpm}'}}}": `unknown placeholder "${tpm}"`,
		"variants: {a: {config: {p: ['${x}']}}}": `unknown placeholder "${x}"`,
		"variants: {a: 3}":                       "there must be keys",
		"program: ../x":                          `line 1: program is "../x"; it must be the name of a file`,
		"program: ''":                            `line 1: program is ""`,
		"\tx":                                    "yaml",
		"variants: {a: {config: {u: '${s}'}}}\ncontainers: {r: {image: i, port: 1}}": `unknown placeholder "${s}"; known are ["r" "tmp"]`,
		"containers: {r: {image: i}}":                                                  "line 1: a container needs an image and a port",
		"containers: {r: {imgae: i, port: 1}}":                                         `unknown key "imgae"; did you mean "image"?`,
		"containers: {r: {image: i, port: x}}":                                         "port",
		"containers: {r: {image: i, port: 1, space: {take: [a]}}}":                     "a shortage needs the commands take and give",
		"containers: {r: {image: i, port: 1, space: {idle: 3, give: [a], take: [b]}}}": "a shortage needs",
		"containers: {r: {image: i, port: 1, connections: {idel: 3}}}":                 `unknown key "idel"; did you mean "idle"?`,
		"variants: {a: {small: {p: '${smal}'}}}":                                       `unknown placeholder "${smal}"`,
		"containers: {tmp: {image: i, port: 1}}":                                       `can't be called "tmp"`,
		"containers: {r: {image: i, port: 1, env: {A: '${q.ip}'}}}":                    `unknown placeholder in "${q.ip}"`,
		"containers: {r: {image: i, port: 1, env: {A: '${r.ip}'}}}":                    `unknown placeholder in "${r.ip}"`,
	} {
		if _, err := ParseSettings([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", text, err, want)
		}
	}
}

func TestContainersOfSettings(t *testing.T) {
	s, err := ParseSettings([]byte(`
variants:
  default:
    config: {url: "redis://${cache}/0", hosts: ["${cache}", "${tmp}"]}
containers:
  cache: {image: redis-8.6, port: 6379, command: [a, b], ready: yes indeed}
  pool: {image: pgbouncer, port: 6432, env: {SERVER_HOST: "${cache.ip}"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := containers.Spec{Image: "redis-8.6", Port: 6379, Command: []string{"a", "b"}, Ready: "yes indeed"}
	if got := s.Containers["cache"]; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got := expandAll(s.Variants["default"].Config, map[string]string{"cache": "127.0.0.1:1", tmpName: "/t"})
	if want := map[string]any{"url": "redis://127.0.0.1:1/0", "hosts": []any{"127.0.0.1:1", "/t"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestServersThatNeedEachOther end in an error, not in a hang.
func TestServersThatNeedEachOther(t *testing.T) {
	s := servers{running: map[string]*containers.Container{}, specs: map[string]containers.Spec{
		"a": {Image: "x", Port: 1, Env: map[string]string{"H": "${b.ip}"}},
		"b": {Image: "x", Port: 1, Env: map[string]string{"H": "${a.ip}"}},
	}}
	if _, err := s.start(t.Context(), map[string]any{"url": "${a}"}); err == nil || !strings.Contains(err.Error(), "need each other") {
		t.Errorf("error %v", err)
	}
}

func TestReadSettings(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, SettingsFile)
	s, err := ReadSettings(file)
	if name, v, err2 := s.Pick(""); err != nil || err2 != nil || name != "default" || v.Config != nil {
		t.Errorf("without a file: %s, %+v, %v, %v", name, v, err, err2)
	}
	if err := os.WriteFile(file, []byte("variants: {only: {config: {a: 1}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = ReadSettings(file)
	if name, v, err2 := s.Pick(""); err != nil || err2 != nil || name != "only" || v.Config["a"] != 1 {
		t.Errorf("with one variant: %s, %+v, %v, %v", name, v, err, err2)
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = ReadSettings(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the error must name the file: %v", err)
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte("variants:\n  default:\n    kind: lease\n    config:\n      path: ${tmp}/store.db\n"))
	f.Add([]byte("variants: {a: {config: {p: ['${x}', 3, {b: c}]}}}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSettings(b)
		if err != nil {
			return
		}
		for name := range s.Variants {
			if _, v, err := s.Pick(name); err != nil {
				t.Errorf("variant %q is there and not found: %v", name, err)
			} else {
				expandAll(v.Config, map[string]string{tmpName: "/tmp"})
			}
		}
	})
}
