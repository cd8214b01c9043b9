package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/plugins/sqlite/sqlitestore"
	"github.com/anarchon-go/anarchon/storekit"
)

// The plugin of these tests is this binary: nothing needs to be built.
func TestMain(m *testing.M) {
	storekit.Embed(sqlitestore.New)
	code := m.Run()
	if builtPlugin != "" {
		_ = os.RemoveAll(filepath.Dir(builtPlugin))
	}
	os.Exit(code)
}

func testPlugin(config map[string]any) storekit.Plugin {
	return storekit.Plugin{Name: "sqlite", Config: config, Logger: slog.New(slog.DiscardHandler)}
}

func TestPluginInfo(t *testing.T) {
	r, err := inspect(t.Context(), testPlugin(nil))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "sqlite" || r.Version != sqlitestore.Version || len(r.SHA256) != 64 || r.Size < 1e6 || r.Store != nil {
		t.Errorf("%+v", r)
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sqlite " + sqlitestore.Version, "plugin protocol 1", r.SHA256, "namespace", "(required)", "give -config"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}

func TestPluginInfoOfAStore(t *testing.T) {
	r, err := inspect(t.Context(), testPlugin(map[string]any{"path": filepath.Join(t.TempDir(), "jobs.db"), "create": "true"}))
	if err != nil {
		if strings.Contains(err.Error(), "CGO_ENABLED=1") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	var text, raw bytes.Buffer
	if err := r.print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"SQLite 3.", "lease", "for ever", "synchronous", "unfinished runs"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &text)
		}
	}
	if err := printJSON(&raw, r); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Name, SHA256 string
		Options      []struct{ Name string }
		Store        struct {
			Kind       string
			Fenced     bool
			Unfinished *int
			Settings   []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(raw.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Name != "sqlite" || back.SHA256 != r.SHA256 || len(back.Options) != len(r.Options) || back.Store.Kind != "lease" ||
		!back.Store.Fenced || back.Store.Unfinished == nil || *back.Store.Unfinished != 0 || len(back.Store.Settings) == 0 {
		t.Errorf("%s", &raw)
	}
}

func TestPluginBench(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs.db")
	r, err := benchPlugin(t.Context(), testPlugin(map[string]any{"path": file, "create": "true"}), time.Second, 8)
	if err != nil {
		if strings.Contains(err.Error(), "CGO_ENABLED=1") {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	if r.Plugin != "sqlite" || r.Start <= 0 || len(r.Parts) != 2 || r.Parts[0].Callers != 1 || r.Parts[1].Callers != 8 {
		t.Fatalf("%+v", r)
	}
	for _, p := range r.Parts {
		if len(p.Verbs) != 3 {
			t.Errorf("%d callers: %+v", p.Callers, p.Verbs)
		}
		for _, v := range p.Verbs {
			if v.Calls == 0 || v.PerSecond <= 0 || v.Median <= 0 || v.Median > v.P99 || v.P99 > v.Worst {
				t.Errorf("%d callers: %+v", p.Callers, v)
			}
		}
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil || strings.Count(out.String(), "heartbeat") != 2 {
		t.Errorf("%v\n%s", err, &out)
	}
	// The service's own namespace is as it was; the other one has the records.
	for namespace, want := range map[string]bool{"default": false, benchNamespace: true} {
		c, err := storekit.Open(t.Context(), testPlugin(map[string]any{"path": file, "namespace": namespace, "create": "true"}))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		h, err := c.History(t.Context(), store.HistoryRequest{Job: r.Parts[0].Job, Limit: 10})
		if err != nil || len(h.Attempts) > 0 != want {
			t.Errorf("namespace %s: %d attempts, %v; want some: %v", namespace, len(h.Attempts), err, want)
		}
	}
}

func TestPluginUsage(t *testing.T) {
	for args, want := range map[string]int{
		"plugin info":                         exitUsage,
		"plugin info a b":                     exitUsage,
		"plugin info ./no/such/plugin":        exitFailed,
		"plugin info sqlite -config nonsense": exitUsage,
		"plugin bench":                        exitUsage,
		"plugin bench sqlite -for 1ms":        exitUsage,
		"plugin bench sqlite -callers 0":      exitUsage,
		"plugin bench ./no/such/plugin -json": exitFailed,
		"plugin --help":                       exitOK,
	} {
		if got := run(t.Context(), strings.Fields(args)); got != want {
			t.Errorf("anarchon %s: exit code %d, want %d", args, got, want)
		}
	}
}
