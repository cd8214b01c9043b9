package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/conformance/subject"
)

// beside puts a settings file beside a link to the plugin, and returns the link.
func beside(t *testing.T, settings string) string {
	t.Helper()
	plugin, err := islands()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "anarchon-plugin-islands")
	if err := os.Symlink(plugin, binary); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, subject.SettingsFile), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return binary
}

// What is wrong before anything is judged is an error that names its cause, and no
// check runs.
func TestBadSurroundings(t *testing.T) {
	kitTest(t)
	for _, tc := range []struct {
		name, settings string
		env            map[string]string
		engine         bool // needs one
		says           string
	}{
		{"a key with a slip", "variants: {default: {konfig: {}}}", nil, false, `unknown key "konfig"`},
		{"a fault with a slip", "variants: {default: {faults: {lnik: no server}}}", nil, false, `unknown key "lnik"`},
		{"no YAML", "variants: {default", nil, false, "yaml"},
		{"a placeholder with a slip", "variants: {default: {config: {namespace: \"${tpm}\"}}}", nil, false, `unknown placeholder "${tpm}"`},
		{
			"no Docker engine", "containers: {db: {image: no/such/image:1, port: 1}}\nvariants: {default: {config: {namespace: \"${db}\"}}}",
			map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:1"}, false, "no Docker engine answers",
		},
		{
			"an image that can't be had", "containers: {db: {image: \"localhost:1/no/such/image:1\", port: 1}}\nvariants: {default: {config: {namespace: \"${db}\"}}}",
			nil, true, "localhost:1/no/such/image:1",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			out, exit := typed(t, "-plugin", beside(t, tc.settings), "-test.run", "TestConformance")
			if tc.engine && strings.Contains(out, "no Docker engine answers") {
				t.Skip("there is no Docker engine here")
			}
			if exit != 1 {
				t.Errorf("exit status %d; want 1", exit)
			}
			lacks(t, out, "error: ", tc.says, "conformance: FAILED anarchon-plugin-islands/default: no check: error: ")
		})
	}
}
